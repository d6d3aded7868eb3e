"""What is to be scheduled: the Workload value, cleaning, generators, scaling, mixing."""

from shadowtime.workload.workload import Workload, unlimited

__all__ = ["Workload", "unlimited"]
