"""What a policy made of a workload, and the proof of it."""

from shadowtime.schedule.schedule import Attempts, Schedule

__all__ = ["Attempts", "Schedule"]
