"""What is to be scheduled: the Workload value, cleaning, generators, scaling, mixing."""

from shadowtime.workload.demand import draw_bandwidth
from shadowtime.workload.embedded import demo_workload
from shadowtime.workload.lublin import LublinModel, lublin_workload
from shadowtime.workload.mix import merge
from shadowtime.workload.resample import resample_users
from shadowtime.workload.scale import offered_load, scale_load, to_load
from shadowtime.workload.shake import leave_out, shaken
from shadowtime.workload.slicing import first_jobs, job_range, time_window
from shadowtime.workload.tsafrir import tsafrir_estimates
from shadowtime.workload.workload import Workload, unlimited

__all__ = [
    "LublinModel",
    "Workload",
    "demo_workload",
    "draw_bandwidth",
    "first_jobs",
    "job_range",
    "leave_out",
    "lublin_workload",
    "merge",
    "offered_load",
    "resample_users",
    "scale_load",
    "shaken",
    "time_window",
    "to_load",
    "tsafrir_estimates",
    "unlimited",
]
