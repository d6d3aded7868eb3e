"""The names that policy files import from here; they live in :mod:`shadowtime.policy.snapshot`."""

from shadowtime.policy.snapshot import Promise, RunningJob, Start, Stop, WaitingJob, Wake

__all__ = ["Promise", "RunningJob", "Start", "Stop", "WaitingJob", "Wake"]
