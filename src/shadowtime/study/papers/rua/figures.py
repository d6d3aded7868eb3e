"""Figures 4 to 9 as data, for both values of high demand."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shadowtime.study.papers.figures import Panel, PaperFigure, Series
from shadowtime.study.papers.rua.policies import COLUMNS, RUA
from shadowtime.study.papers.rua.runs import HIGHS
from shadowtime.study.papers.rua.tables import MEASURES
from shadowtime.workload.demand import SCENARIOS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from shadowtime.study.papers.rua.runs import Findings
    from shadowtime.study.papers.rua.tables import Measure

BALANCE = "A good balance is achieved in the CTC center using the threshold of 1.15."
CLOSE = "RUA is slightly worse than SJBF with first fit, by less than 5 %; killed jobs fall."


def paper_figures(found: Findings) -> tuple[PaperFigure, ...]:
    """The figures of every center that is there; a generated workload has those of CTC."""
    numbers = {"CTC": (4, 6, 8), "SDSC": (5, 7, 9)}
    figures = []
    for center in found.centers:
        trade, killed, variables = numbers.get(center, numbers["CTC"])
        figures += [
            _trade_off(found, trade, center, 5, "percentage of penalised run time"),
            _trade_off(found, killed, center, 7, "killed jobs"),
            _variables(found, variables, center),
        ]
    return tuple(sorted(figures, key=lambda figure: figure.name))


def _highs(found: Findings) -> list[int]:
    return [high for high in HIGHS if any(key.high == high for key in found.outcomes)]


def _panel(
    found: Findings,
    center: str,
    high: int,
    measure: Measure,
    *,
    across: Sequence[str],
    series: Sequence[str],
    by_policy: bool,
) -> Panel:
    """Bars: policies across and a colour a scenario, or the other way round."""
    drawn = []
    for name in series:
        pairs = [(x, name) if by_policy else (name, x) for x in across]
        known = [
            found.of(center, scenario, policy, measure.metric, high=high, scale=measure.scale)
            for policy, scenario in pairs
        ]
        drawn.append(
            Series(
                name=name,
                y=tuple(None if one is None else one.mean for one in known),
                error=tuple(None if one is None else one.error for one in known),
            )
        )
    return Panel(
        title=f"{measure.title}, high = {high}",
        kind="bars",
        x_label="policy" if by_policy else "workload",
        y_label=measure.unit,
        x=tuple(across),
        series=tuple(drawn),
    )


def _trade_off(found: Findings, number: int, center: str, other: int, what: str) -> PaperFigure:
    panels = [
        _panel(
            found,
            center,
            high,
            MEASURES[table],
            across=COLUMNS,
            series=tuple(SCENARIOS),
            by_policy=True,
        )
        for high in _highs(found)
        for table in (1, other)
    ]
    return PaperFigure(
        name=f"Figure {number}",
        title=f"Bounded slowdown versus {what}: {center}",
        panels=tuple(panels),
        says=BALANCE,
    )


def _variables(found: Findings, number: int, center: str) -> PaperFigure:
    panels = [
        _panel(
            found,
            center,
            high,
            MEASURES[table],
            across=tuple(SCENARIOS),
            series=("FF", "LC", RUA),
            by_policy=False,
        )
        for high in _highs(found)
        for table in (1, 3, 5, 7)
    ]
    return PaperFigure(
        name=f"Figure {number}",
        title=f"RUA beside SJBF with first fit and LessConsume: {center}",
        panels=tuple(panels),
        says=CLOSE,
    )
