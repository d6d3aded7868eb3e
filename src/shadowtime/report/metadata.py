"""What a metric's name means: its label, its unit and which way is better.

The metrics room knows its own metrics; this is the thin door to it. A name it does not know is
still shown, described by the rules of the names (``_s`` are seconds, ``_mean`` a mean, ...).
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import Any, Literal

Better = Literal["lower", "higher", "neither"]


@dataclass(frozen=True)
class MetricInfo:
    """How a metric is shown."""

    name: str
    label: str
    unit: str
    better: Better
    group: str = ""
    definition: str = ""

    @property
    def heading(self) -> str:
        """Label and unit, for a table's row."""
        unit = {"share": "%"}.get(self.unit, self.unit)
        return f"{self.label}, {unit}" if unit and unit not in self.label.split() else self.label


HEADLINE = (
    "bsld_mean",
    "bsld_p95",
    "mwbs",
    "wait_mean_s",
    "wait_p95_s",
    "wait_max_s",
    "awrt_s",
    "utilisation",
    "loss_of_capacity",
    "wasted_load",
    "killed",
)
"""The order in which metrics are looked at; the first of them a run has is the one classes show."""

_QUANTITIES = {
    "bsld": "bounded slowdown",
    "wait": "wait",
    "response": "response time",
    "slowdown": "slowdown",
    "mwbs": "work-weighted bounded slowdown",
    "utilisation": "utilisation",
    "loss_of_capacity": "loss of capacity",
    "wasted_load": "wasted load",
    "total_load": "total load",
    "preempted_jobs": "preempted jobs",
    "killed": "killed at the limit",
}
_STATISTICS = {"mean": "Mean", "median": "Median", "max": "Longest", "min": "Shortest"}
_HIGHER = {"utilisation", "throughput"}
_SHARES = {"utilisation", "loss_of_capacity", "wasted_load", "total_load"}
_NEITHER = {"jobs", "backfilled", "blocked", "total_load", "offered_load", "finished"}
_GROUPS = {
    "fairness": ("fst", "unfair", "delayed", "jain", "gini", "violat", "promise"),
    "preemption": ("preempt", "wasted", "rtw", "mkt", "lost", "kills"),
    "bandwidth": ("bandwidth", "penalis", "penalty"),
}


def describe(name: str) -> MetricInfo:
    """The metric of this name.

    Examples
    --------
    >>> describe("wait_p95_s").heading, describe("wait_p95_s").better
    ('95th percentile wait, s', 'lower')
    >>> describe("utilisation").better
    'higher'
    """
    known = _registered(name)
    return known if known is not None else _by_name(name)


def _by_name(name: str) -> MetricInfo:
    stem = name.removesuffix("_s")
    unit = "s" if stem != name else ("share" if name in _SHARES else "")
    quantity, _, statistic = stem.rpartition("_")
    if statistic in _STATISTICS:
        label = f"{_STATISTICS[statistic]} {_quantity(quantity)}"
    elif statistic[:1] == "p" and statistic[1:].isdigit():
        label = f"{statistic[1:]}th percentile {_quantity(quantity)}"
    else:
        text = _quantity(stem)
        label = text[:1].upper() + text[1:]
    better: Better = "neither" if stem in _NEITHER else ("higher" if stem in _HIGHER else "lower")
    group = next((g for g, marks in _GROUPS.items() if any(m in name for m in marks)), "")
    return MetricInfo(name, label, unit, better, group)


def _quantity(stem: str) -> str:
    return _QUANTITIES.get(stem, stem.replace("_", " "))


def _registered(name: str) -> MetricInfo | None:
    """The metrics room's own description, where it has one."""
    registry: Any = getattr(import_module("shadowtime.metrics"), "REGISTRY", None)
    entry = registry.get(name) if registry is not None else None
    if entry is None:
        return None
    guess = _by_name(name)
    return MetricInfo(
        name,
        str(getattr(entry, "label", guess.label)),
        str(getattr(entry, "unit", guess.unit)),
        getattr(entry, "better", guess.better),
        str(getattr(entry, "group", guess.group)),
        str(getattr(entry, "definition", "")),
    )


def ordered(names: list[str]) -> list[str]:
    """Headline metrics first, the rest in the order given."""
    first = [name for name in HEADLINE if name in names]
    return first + [name for name in names if name not in first]
