"""What reproduces, what does not, and what the text left to choose."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shadowtime.study.papers.class_partitioning import policies as p
from shadowtime.study.papers.class_partitioning.outcome import ALL, LARGE
from shadowtime.workload.o2k import MARGIN_DAYS

if TYPE_CHECKING:
    from shadowtime.study.papers.class_partitioning.runs import Findings


def paper_notes(found: Findings) -> tuple[str, ...]:
    """Sentences made from the numbers."""
    return (_workload(found), _spread(found), _winner(found))


def _workload(found: Findings) -> str:
    worst = {month: max(check.worst for check in found.checks(month)) for month in p.MONTH_NAMES}
    told = ", ".join(f"{month} {gap:.1%}" for month, gap in worst.items())
    return (
        "The trace of the O2K was never published. Each draw of a month has the jobs and demands "
        f"of Tables 4 and 8; the largest deviation that the fit left: {told}. Arrivals, memory and "
        "the shape of the run times inside a class are a recipe, so hours can be compared with "
        "the paper's in their order of magnitude only; the ranking of policies is what counts."
    )


def _spread(found: Findings) -> str:
    policy = p.with_depth("LXF&W", 1)
    parts = []
    for month in p.MONTH_NAMES:
        hours = [value / 3600 for value in found.values(month, policy, "wait_mean_s", LARGE)]
        parts.append(f"{month} {min(hours):.0f} to {max(hours):.0f} h")
    return (
        f"Draws differ much: the average wait of large jobs with one reservation over "
        f"{len(found.seeds)} draws is {', '.join(parts)}. Policies are compared on the same draws."
    )


def _winner(found: Findings) -> str:
    parts = []
    for month in p.MONTH_NAMES:
        named = (p.SINGLE, *p.PARTITIONED)
        for group in (ALL, LARGE):
            hours = {
                name: found.hours(month, p.policy_of(name, month), "wait_mean_s", group)
                for name in named
            }
            best = min(hours, key=lambda name: hours[name])
            parts.append(f"{month} {group} jobs {best} ({hours[best]:.2f} h)")
    return f"Least average wait of the five policies: {', '.join(parts)}."


def choices(found: Findings) -> tuple[str, ...]:
    """What the text does not give and is chosen here."""
    return (
        "Memory of the hosts: 3 of 64 GB, 8 of 50 GB, the small one 8 GB; they add up to the "
        "paper's 600 GB.",
        "Dedicated means more than 64 processors or 25 GB. Such a job takes a whole host; the "
        "table Dedicated and the claims also have the other reading.",
        f"A month is simulated with {MARGIN_DAYS} days of its neighbours before and after; jobs "
        "submitted in the month are scored.",
        "A job goes to the host where it fits best: fewest processors left, then least memory, "
        "then the lowest number. Large jobs look at class one first, the others at class two.",
        "A large job under part-L/A takes one of class two's reservations only where class one "
        "has none left or class two is strictly earlier.",
        f"{len(found.seeds)} draws of each month, {', '.join(map(str, found.depths))} "
        "reservations.",
    )
