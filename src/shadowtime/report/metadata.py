"""Which metrics a report looks at first, and the description of any metric by its name."""

from __future__ import annotations

from shadowtime.metrics import added, registry

HEADLINE = (
    "unstarted",
    "bsld_mean",
    "bsld_p95",
    "mwbs",
    "wait_mean_s",
    "wait_p95_s",
    "wait_max_s",
    "awrt_s",
    "goodput",
    "loss_of_capacity",
    "lost_work",
    "killed",
)
"""The order in which metrics are looked at."""

_STATISTICS = {"mean": "Mean", "median": "Median", "max": "Longest", "min": "Shortest"}


def describe(name: str) -> added.Metric:
    """The metric of this name; a metric that is not registered is shown by its name.

    Examples
    --------
    >>> describe("wait_p95_s").heading, describe("wait_p95_s").better
    ('95th percentile wait, s', 'lower')
    >>> describe("queue_mean_s").heading, describe("queue_mean_s").better
    ('Mean queue, s', 'neither')
    """
    return registry.REGISTRY.get(name) or _by_name(name)


def _by_name(name: str) -> added.Metric:
    """``_s`` are seconds, ``_mean`` is a mean; which way is better is unknown."""
    stem = name.removesuffix("_s")
    quantity, _, statistic = stem.rpartition("_")
    words = quantity.replace("_", " ")
    if statistic in _STATISTICS and quantity:
        label = f"{_STATISTICS[statistic]} {words}"
    elif statistic[:1] == "p" and statistic[1:].isdigit() and quantity:
        label = f"{statistic[1:]}th percentile {words}"
    else:
        text = stem.replace("_", " ")
        label = text[:1].upper() + text[1:]
    return added.Metric(name=name, label=label, unit="s" if stem != name else "", better="neither")


def ordered(names: list[str]) -> list[str]:
    """Headline metrics first, the rest in the order given."""
    first = [name for name in HEADLINE if name in names]
    return first + [name for name in names if name not in first]
