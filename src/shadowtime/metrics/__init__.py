"""From a schedule, simulated or recorded, to numbers."""

from shadowtime.metrics.accuracy import accuracy, accuracy_by
from shadowtime.metrics.by_class import ClassRow, by_class, by_classes
from shadowtime.metrics.classes import KINDS, Classes, classify, times_up_to
from shadowtime.metrics.fair_start import (
    Delays,
    FairStarts,
    Violations,
    delayed_by,
    fair_starts,
    fairness,
    reservation_violations,
)
from shadowtime.metrics.jobs import Jobs, pyss_filter
from shadowtime.metrics.load import loss_of_capacity, utilisation
from shadowtime.metrics.measure import measure
from shadowtime.metrics.preemption import lost_work
from shadowtime.metrics.registry import REGISTRY, Metric
from shadowtime.metrics.resources import Shares, resource_metrics, shares_over_time
from shadowtime.metrics.window import Window

__all__ = [
    "KINDS",
    "REGISTRY",
    "ClassRow",
    "Classes",
    "Delays",
    "FairStarts",
    "Jobs",
    "Metric",
    "Shares",
    "Violations",
    "Window",
    "accuracy",
    "accuracy_by",
    "by_class",
    "by_classes",
    "classify",
    "delayed_by",
    "fair_starts",
    "fairness",
    "loss_of_capacity",
    "lost_work",
    "measure",
    "pyss_filter",
    "reservation_violations",
    "resource_metrics",
    "shares_over_time",
    "times_up_to",
    "utilisation",
]
