"""Figures 1 to 5 as data (means over the draws, standard errors), and the notes on the results."""

from __future__ import annotations

from shadowtime.study.papers.class_partitioning import runs as r
from shadowtime.study.papers.class_partitioning.runs import ALL, LARGE
from shadowtime.study.papers.values import Panel, PaperFigure, Series
from shadowtime.workload.o2k import MARGIN_DAYS, o2k_month


def paper_notes(found: r.Findings) -> tuple[str, ...]:
    """Sentences made from the numbers."""
    return (_workload(found), _spread(found), _winner(found))


def _workload(found: r.Findings) -> str:
    worst = {month: max(check.worst for check in found.checks(month)) for month in r.MONTH_NAMES}
    listed = ", ".join(f"{month} {gap:.1%}" for month, gap in worst.items())
    return (
        "The trace of the O2K was never published. Each draw of a month has the jobs and demands "
        f"of Tables 4 and 8; the largest deviation that the fit left: {listed}. Arrivals, memory "
        "and the shape of the run times inside a class are a recipe, so hours can be compared with "
        "the paper's in their order of magnitude only; the ranking of policies is what counts."
    )


def _spread(found: r.Findings) -> str:
    policy = r.with_depth("LXF&W", 1)
    parts = []
    for month in r.MONTH_NAMES:
        hours = [value / 3600 for value in found.values(month, policy, "wait_mean_s", LARGE)]
        parts.append(f"{month} {min(hours):.0f} to {max(hours):.0f} h")
    return (
        f"Draws differ much: the average wait of large jobs with one reservation over "
        f"{len(found.seeds)} draws is {', '.join(parts)}. Policies are compared on the same draws."
    )


def _winner(found: r.Findings) -> str:
    parts = []
    for month in r.MONTH_NAMES:
        named = (r.SINGLE, *r.PARTITIONED)
        for group in (ALL, LARGE):
            hours = {
                name: found.hours(month, r.policy_of(name, month), "wait_mean_s", group)
                for name in named
            }
            best = min(hours, key=lambda name: hours[name])
            parts.append(f"{month} {group} jobs {best} ({hours[best]:.2f} h)")
    return f"Least average wait of the five policies: {', '.join(parts)}."


def choices(found: r.Findings) -> tuple[str, ...]:
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


HOURS = 1 / 3600
STATISTICS = {"average": "wait_mean_s", "95th percentile": "wait_p95_s", "maximum": "wait_max_s"}
PEAKS = {"10m": 600, "1h": 3600, "5h": 18000, "50h": 180_000, "200h": 720_000, "400h": 1_440_000}


def paper_figures(found: r.Findings) -> tuple[PaperFigure, ...]:
    """All of them."""
    return (
        _figure_1(found),
        _figure_2(found),
        _figure_3(found),
        _figure_4(found),
        _figure_5(found),
    )


def _figure_1(found: r.Findings) -> PaperFigure:
    """Shares at the peaks and between them."""
    labels: list[str] = []
    for name in PEAKS:
        labels += [f"<{name}", name]
    columns: list[list[float]] = [[] for _ in labels]
    for seed in found.seeds:
        request = o2k_month(r.MONTH_NAMES["Feb03"], seed=seed).request
        low = 0
        for at, peak in enumerate(PEAKS.values()):
            columns[2 * at].append(100 * float(((request > low) & (request < peak)).mean()))
            columns[2 * at + 1].append(100 * float((request == peak).mean()))
            low = peak
    panel = Panel.of(
        "Feb03",
        "bars",
        "requested run time: up to and at a peak",
        "% of jobs",
        labels,
        (Series.over("jobs", columns),),
    )
    return PaperFigure.of(
        "Figure 1",
        "Distribution of requested run time",
        (panel,),
        says="about half of the jobs request 5, 50, 200 or 400 hours, and another significant "
        "fraction 10 minutes or 1 hour",
        note="drawn by a recipe that puts the peaks there: no finding of ours",
    )


def _months(
    found: r.Findings, title: str, metric: str, group: str, named: dict[str, dict[str, str]]
) -> Panel:
    """One metric in every month; ``named`` gives each line's policy by month."""
    scale, unit = (HOURS, "h") if metric.endswith("_s") else (1.0, "")
    return Panel.of(
        title,
        "bars",
        "month",
        unit,
        r.MONTH_NAMES,
        (
            Series.over(
                name,
                [found.values(month, of[month], metric, group) for month in r.MONTH_NAMES],
                scale=scale,
            )
            for name, of in named.items()
        ),
    )


def _named(*names: str) -> dict[str, dict[str, str]]:
    return {name: {month: r.policy_of(name, month) for month in r.MONTH_NAMES} for name in names}


def _figure_2(found: r.Findings) -> PaperFigure:
    depths = {
        f"K = {depth}": dict.fromkeys(r.MONTH_NAMES, r.with_depth("LXF&W", depth))
        for depth in found.depths
    }
    return PaperFigure.of(
        "Figure 2",
        "Average wait under LXF&W by the number of reservations",
        (
            _months(found, f"({letter}) {group} jobs", "wait_mean_s", group, depths)
            for letter, group in zip("abcd", r.GROUPS, strict=True)
        ),
        says="2 to 4 reservations improve on one; 10 are best in January and February; 25 in "
        "December",
    )


def _figure_3(found: r.Findings) -> PaperFigure:
    named = _named(r.SINGLE, r.L_SM_5, r.L_SM_50)
    panels = (
        ("(a) average wait, all jobs", "wait_mean_s", ALL),
        ("(b) average wait, small jobs", "wait_mean_s", r.SMALL),
        ("(c) average wait, medium jobs", "wait_mean_s", r.MEDIUM),
        ("(d) average wait, large jobs", "wait_mean_s", LARGE),
        ("(e) average slowdown", "slowdown_mean", ALL),
        ("(f) maximum wait, all jobs", "wait_max_s", ALL),
        ("(g) 95th percentile wait, all jobs", "wait_p95_s", ALL),
        ("(h) 95th percentile wait, large jobs", "wait_p95_s", LARGE),
        ("average slowdown, bounded at 60 s", "bsld60_mean", ALL),
    )
    return PaperFigure.of(
        "Figure 3",
        "Single class and class partitioning",
        (_months(found, *panel, named) for panel in panels),
        says="part-L/SM(3H,50h) is the same or better for all jobs each month and greatly better "
        "for large jobs in three months; part-L/SM(3H,5h) is worse for small and medium jobs",
        note="The last panel is ours: jobs of a second dominate the plain slowdown.",
    )


def _ranges(
    found: r.Findings, title: str, month: str, metric: str, kind: str, names: tuple[str, ...]
) -> Panel:
    labels = found.labels(kind)
    return Panel.of(
        title,
        "bars",
        kind,
        "h",
        (label.replace(" ", "") for label in labels),
        (
            Series.over(
                name,
                [
                    found.values(month, r.policy_of(name, month), metric, label, kind=kind)
                    for label in labels
                ],
                scale=HOURS,
            )
            for name in names
        ),
    )


def _figure_4(found: r.Findings) -> PaperFigure:
    asked = (
        ("(a)", "average", r.BY_RUN),
        ("(b)", "95th percentile", r.BY_RUN),
        ("(c)", "maximum", r.BY_RUN),
        ("(d)", "average", r.BY_SIZE),
        ("(e)", "maximum", r.BY_SIZE),
        ("(f)", "average", r.BY_REQUEST),
        ("(g)", "maximum", r.BY_REQUEST),
    )
    names = (r.SINGLE, r.L_SM_50)
    return PaperFigure.of(
        "Figure 4",
        "January 2003 by actual run time, processors and requested run time",
        (
            _ranges(found, f"{letter} {statistic} wait", "Jan03", STATISTICS[statistic], of, names)
            for letter, statistic, of in asked
        ),
        says="part-L/SM(3H,50h) improves average and maximum wait for most ranges of actual run "
        "time, the large jobs and the long jobs (R > 5 hours)",
        note="The ranges of run time are ours.",
    )


def _figure_5(found: r.Findings) -> PaperFigure:
    names = (r.L_SM_50, r.L_A_50, r.L_A_5)
    return PaperFigure.of(
        "Figure 5",
        "part-L/A",
        (
            *(
                _ranges(
                    found,
                    f"({letter}) maximum wait, {month}",
                    month,
                    "wait_max_s",
                    r.BY_SIZE,
                    names,
                )
                for letter, month in zip("ab", r.HEAVY, strict=True)
            ),
            _months(found, "(c) average wait, all jobs", "wait_mean_s", ALL, _named(*names)),
            _months(found, "(d) maximum wait, all jobs", "wait_max_s", ALL, _named(*names)),
        ),
        says="part-L/A(3H,50h) is very similar to part-L/SM(3H,50h); part-L/A(2H,5h) is poor in "
        "January and February",
    )
