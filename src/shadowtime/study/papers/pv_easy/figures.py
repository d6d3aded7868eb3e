"""The data of Figures 2 to 6."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shadowtime.study.papers import Panel, PaperFigure, Series, Subject
from shadowtime.study.papers.pv_easy import policies as p
from shadowtime.study.papers.pv_easy.runs import ERRORS, LABELS

if TYPE_CHECKING:
    from shadowtime.study.papers.pv_easy.runs import Findings

METRICS = {"mbs": "MBS", "mwbs": "MWBS"}

BLOCKED = {"EASY": p.easy(), "EASY, loose and fixed": p.easy(p.NEAREST), "PV-EASY": p.PV}
"""Whose blocked jobs Figures 2 and 3 show."""


def paper_figures(found: Findings) -> tuple[PaperFigure, ...]:
    """All five."""
    return (
        _blocked(found, "Figure 2", "mbs"),
        _blocked(found, "Figure 3", "mwbs"),
        _figure4(found),
        _overall(found, "Figure 5", "mbs"),
        _overall(found, "Figure 6", "mwbs"),
    )


def _blocked(found: Findings, name: str, metric: str) -> PaperFigure:
    def panel(subject: Subject) -> Panel:
        series = []
        for label, policy in BLOCKED.items():
            sizes = found.of(subject, policy).sizes
            assert sizes is not None
            series.append(
                Series(name=label, y=tuple(getattr(group, metric) for group in sizes.groups))
            )
        return Panel(
            title=subject.label,
            kind="bars",
            x_label="share of the processors",
            y_label=METRICS[metric],
            x=LABELS,
            series=tuple(series),
        )

    return PaperFigure(
        name=name,
        title=f"{METRICS[metric]} of the blocked jobs by size",
        panels=tuple(panel(subject) for subject in found.subjects),
        says="Big blocked jobs (more than 1/4 of the processors) mostly fare better in PV-EASY "
        "than in EASY, small ones do not (section 5.2.1).",
        note="Each scheduler's own blocked jobs. The paper's groups are not given: these are ours.",
    )


def _figure4(found: Findings) -> PaperFigure:
    def panel(subject: Subject, at: int, metric: str) -> Panel:
        def columns(line: str) -> list[list[float]]:
            return [[pair[at] for pair in found.sweep[subject.label, line, x]] for x in ERRORS]

        return Panel(
            title=f"{subject.label}, {METRICS[metric]}",
            kind="line",
            x_label="largest error, %",
            y_label=METRICS[metric],
            x=tuple(round(100 * x, 6) for x in ERRORS),
            series=tuple(Series.over(line, columns(line)) for line in p.FIGURE_4),
        )

    return PaperFigure(
        name="Figure 4",
        title="A virtual predictor with a bounded error in PV-EASY, FCFS-EASY and SJF-EASY",
        panels=tuple(
            panel(subject, at, metric)
            for subject in found.subjects
            for at, metric in enumerate(METRICS)
        ),
        says="PV-EASY outperforms FCFS-EASY and SJF-EASY on MBS and MWBS: when the error is "
        "bounded within 10 % (section 5.2.2), or as long as it is not smaller than 10 % "
        "(section 7).",
        note=f"Means over {len(found.seeds)} seeds (one where the error is 0); the grid of errors "
        "is ours.",
    )


def _overall(found: Findings, name: str, metric: str) -> PaperFigure:
    def panel(subject: Subject) -> Panel:
        series = tuple(
            Series(
                name=reading,
                y=(
                    found.metric(subject, p.PV, metric) if reading == p.DEFINED else None,
                    found.metric(subject, p.easy(reading), metric),
                    found.metric(subject, p.easy_last(reading), metric),
                ),
            )
            for reading in p.READINGS
        )
        return Panel(
            title=subject.label,
            kind="bars",
            x_label="scheduler",
            y_label=METRICS[metric],
            x=("PV-EASY", "EASY", "EASY-Last"),
            series=series,
        )

    worst = "; EASY-Last performs worst in the three workloads" if metric == "mwbs" else ""
    return PaperFigure(
        name=name,
        title=f"{METRICS[metric]} of PV-EASY, EASY and EASY-Last",
        panels=tuple(panel(subject) for subject in found.subjects),
        says="PV-EASY achieves smaller (SDSC-BLUE) or similar (CTC, SDSC-DS) values as EASY "
        f"(section 5.2.3){worst}.",
        note="EASY and EASY-Last in every reading; PV-EASY has but one.",
    )
