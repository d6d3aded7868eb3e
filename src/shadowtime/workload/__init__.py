"""What is to be scheduled: the Workload value, cleaning, generators, scaling, mixing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shadowtime.later import later
from shadowtime.workload.workload import Workload as Workload
from shadowtime.workload.workload import unlimited as unlimited

if TYPE_CHECKING:
    from shadowtime.workload.demand import draw_bandwidth as draw_bandwidth
    from shadowtime.workload.embedded import demo_workload as demo_workload
    from shadowtime.workload.lublin import LublinModel as LublinModel
    from shadowtime.workload.lublin import lublin_workload as lublin_workload
    from shadowtime.workload.resample import leave_out as leave_out
    from shadowtime.workload.resample import resample_users as resample_users
    from shadowtime.workload.resample import shaken as shaken
    from shadowtime.workload.scale import offered_load as offered_load
    from shadowtime.workload.scale import scale_load as scale_load
    from shadowtime.workload.scale import to_load as to_load
    from shadowtime.workload.slicing import first_jobs as first_jobs
    from shadowtime.workload.slicing import job_range as job_range
    from shadowtime.workload.slicing import merge as merge
    from shadowtime.workload.slicing import time_window as time_window
    from shadowtime.workload.tsafrir import tsafrir_estimates as tsafrir_estimates
else:
    __getattr__, __all__, __dir__ = later(__name__)
