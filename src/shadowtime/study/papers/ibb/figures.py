"""The data of Figures 1 to 3, and the like of CERIT-SC."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shadowtime.study.papers.figures import Panel, PaperFigure, Series
from shadowtime.study.papers.ibb.case import MIXED, PURE
from shadowtime.study.papers.ibb.condor import JOBS
from shadowtime.study.papers.ibb.policies import DRAWN, LEGEND, METRICS

if TYPE_CHECKING:
    from shadowtime.study.papers.ibb.case import Case
    from shadowtime.study.papers.ibb.runs import Findings

NAMES = {PURE: "Figure 1", MIXED: "Figure 2"}
SAYS = {
    PURE: "IBB is far better than BB; gains of up to 65 % in average wait and response, lower ones "
    "in average slowdown (section 4.1).",
    MIXED: "Gains of up to 60 % in the three metrics, better than on the pure workload "
    "(section 4.1).",
}


def paper_figures(found: Findings) -> tuple[PaperFigure, ...]:
    """A figure for each main case, and Figure 3."""
    return (*(_by_load(found, case) for case in found.main()), _condor(found))


def _by_load(found: Findings, case: Case) -> PaperFigure:
    def panel(metric: str, label: str) -> Panel:
        return Panel(
            title=label.partition(",")[0],
            kind="line",
            x_label="relative load",
            y_label=label,
            x=case.loads,
            series=tuple(
                Series(
                    name=name,
                    y=tuple(found.at(case, load).points[name].of(metric) for load in case.loads),
                )
                for name in DRAWN
            ),
        )

    return PaperFigure(
        name=NAMES.get(case.name, f"Figure {case.name}"),
        title=f"Averages by relative load: {case.says}",
        panels=tuple(panel(metric, label) for metric, label in METRICS.items()),
        says=SAYS.get(case.name, ""),
        note=f"{LEGEND} FCFS is off the scale: see Averages.",
    )


def _condor(found: Findings) -> PaperFigure:
    titles = {"wait": "wait, s", "response": "response, s", "slowdown": "slowdown"}
    panels = tuple(
        Panel(
            title=metric,
            kind="line",
            x_label="job",
            y_label=label,
            x=tuple(float(number) for number in range(1, JOBS + 1)),
            series=tuple(
                Series(name=name, y=tuple(getattr(jobs, metric).astype(float).tolist()))
                for name, jobs in found.condor.items()
            ),
        )
        for metric, label in titles.items()
    )
    return PaperFigure(
        name="Figure 3",
        title="Each job of 54 on four nodes, one submitted a second",
        panels=panels,
        says="FCFS packs far less than IBB; Best-fit packs almost like IBB but large jobs may "
        "starve; the slowdown of each job is almost the same under IBB, uneven under FCFS "
        "(section 4.3).",
        note="The paper's 54 NAS benchmarks are not published: these jobs are drawn, and the "
        "policies simulated.",
    )
