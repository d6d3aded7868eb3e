"""What is to be scheduled: the Workload value, cleaning, generators, scaling, mixing."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from shadowtime.workload.workload import Workload, unlimited

if TYPE_CHECKING:
    from shadowtime.workload.demand import draw_bandwidth
    from shadowtime.workload.embedded import demo_workload
    from shadowtime.workload.lublin import LublinModel, lublin_workload
    from shadowtime.workload.resample import leave_out, resample_users, shaken
    from shadowtime.workload.scale import offered_load, scale_load, to_load
    from shadowtime.workload.slicing import first_jobs, job_range, merge, time_window
    from shadowtime.workload.tsafrir import tsafrir_estimates

_LATER = {
    "draw_bandwidth": "demand",
    "demo_workload": "embedded",
    "LublinModel": "lublin",
    "lublin_workload": "lublin",
    "merge": "slicing",
    "resample_users": "resample",
    "offered_load": "scale",
    "scale_load": "scale",
    "to_load": "scale",
    "leave_out": "resample",
    "shaken": "resample",
    "first_jobs": "slicing",
    "job_range": "slicing",
    "time_window": "slicing",
    "tsafrir_estimates": "tsafrir",
}
"""Loaded on first use: most runs generate and scale nothing."""

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


def __getattr__(name: str) -> Any:
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_LATER[name]}"), name)
