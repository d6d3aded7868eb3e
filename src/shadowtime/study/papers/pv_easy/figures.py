"""The data of Figures 2 to 6."""

from __future__ import annotations

from shadowtime.study.papers.pv_easy import runs as r
from shadowtime.study.papers.pv_easy.runs import ERRORS, LABELS, Findings
from shadowtime.study.papers.reproduction import Subject
from shadowtime.study.papers.values import Panel, PaperFigure, Series

METRICS = {"mbs": "MBS", "mwbs": "MWBS"}

BLOCKED = {"EASY": r.easy(), "EASY, loose and fixed": r.easy(r.NEAREST), "PV-EASY": r.PV}
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
        return Panel.of(
            subject.label, "bars", "share of the processors", METRICS[metric], LABELS, series
        )

    return PaperFigure.of(
        name,
        f"{METRICS[metric]} of the blocked jobs by size",
        (panel(subject) for subject in found.subjects),
        says="Big blocked jobs (more than 1/4 of the processors) mostly fare better in PV-EASY "
        "than in EASY, small ones do not (section 5.2.1).",
        note="Each scheduler's own blocked jobs. The paper's groups are not given: these are ours.",
    )


def _figure4(found: Findings) -> PaperFigure:
    def panel(subject: Subject, at: int, metric: str) -> Panel:
        def columns(line: str) -> list[list[float]]:
            return [[pair[at] for pair in found.sweep[subject.label, line, x]] for x in ERRORS]

        return Panel.of(
            f"{subject.label}, {METRICS[metric]}",
            "line",
            "largest error, %",
            METRICS[metric],
            (round(100 * x, 6) for x in ERRORS),
            (Series.over(line, columns(line)) for line in r.FIGURE_4),
        )

    return PaperFigure.of(
        "Figure 4",
        "A virtual predictor with a bounded error in PV-EASY, FCFS-EASY and SJF-EASY",
        (
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
                    found.metric(subject, r.PV, metric) if reading == r.DEFINED else None,
                    found.metric(subject, r.easy(reading), metric),
                    found.metric(subject, r.easy_last(reading), metric),
                ),
            )
            for reading in r.READINGS
        )
        return Panel.of(
            subject.label,
            "bars",
            "scheduler",
            METRICS[metric],
            ("PV-EASY", "EASY", "EASY-Last"),
            series,
        )

    worst = "; EASY-Last performs worst in the three workloads" if metric == "mwbs" else ""
    return PaperFigure.of(
        name,
        f"{METRICS[metric]} of PV-EASY, EASY and EASY-Last",
        (panel(subject) for subject in found.subjects),
        says="PV-EASY achieves smaller (SDSC-BLUE) or similar (CTC, SDSC-DS) values as EASY "
        f"(section 5.2.3){worst}.",
        note="EASY and EASY-Last in every reading; PV-EASY has but one.",
    )
