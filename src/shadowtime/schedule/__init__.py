"""What a policy made of a workload, its files, and the proof of it."""

from shadowtime.schedule.files import attempts_path, read, write
from shadowtime.schedule.schedule import Attempts, Schedule

__all__ = ["Attempts", "Schedule", "attempts_path", "read", "write"]
