"""RUA-Backfilling (Guim, Rodero and Corbalan, JSSPP 2009): Tables 1 to 7, Figures 4 to 9.

Here: the plan, the figures for both values of high demand, and the notes on the results.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from shadowtime.study.papers import reproduction
from shadowtime.study.papers.rua import runs as r
from shadowtime.study.papers.rua.claims import paper_claims
from shadowtime.study.papers.rua.runs import HIGHS, RUA, Findings
from shadowtime.study.papers.rua.tables import MEASURES, Measure, paper_tables
from shadowtime.study.papers.values import Panel, PaperFigure, PaperTable, Series
from shadowtime.workload.demand import SCENARIOS


def paper_notes(found: Findings, tables: Mapping[str, PaperTable]) -> tuple[str, ...]:
    """Sentences made from the tables: they state nothing that the tables do not show."""
    if found.generated:
        return (reproduction.GENERATED_NOTE,)
    return (
        *(_distance(tables[name]) for name in ("Table 1", "Table 7")),
        _which_high(tables["Table 7"]),
        "Table 4 of the paper is Table 3 times one constant per row, so it is not compared; Table "
        "5 cannot be a percentile over jobs in a model with few levels of demand.",
        *_limit(found),
        *_chance(found),
    )


def _apart(gaps: Iterable[float]) -> str:
    each = sorted(gaps)
    if not each:
        return "nothing to compare"
    near = sum(gap <= 0.10 for gap in each)
    return f"{near} of {len(each)} cells within 10 %, median distance {each[len(each) // 2]:.0%}"


def _gaps(table: PaperTable) -> dict[str, list[float]]:
    """Distances from the paper's cells, by center and value of high demand."""
    groups: dict[str, list[float]] = {}
    for row, center, cell in table.compared():
        group = f"{center}, {row.group.rpartition(', ')[2]}"
        groups.setdefault(group, []).append(abs(cell.difference or 0.0))
    return groups


def _distance(table: PaperTable) -> str:
    listed = "; ".join(f"{group}: {_apart(gaps)}" for group, gaps in _gaps(table).items())
    return f"{table.name} ({table.title.lower()}) beside the paper's: {listed}."


def _which_high(killed: PaperTable) -> str:
    """Which value of high demand comes nearer to the killed jobs of Table 7."""
    means = {group: sum(gaps) / len(gaps) for group, gaps in _gaps(killed).items()}
    listed = ", ".join(f"{group} {value:.0%}" for group, value in means.items())
    return (
        "The value of high demand is missing in the text. Mean distance from the killed jobs of "
        f"Table 7: {listed}."
    )


def _limit(found: Findings) -> list[str]:
    parts = []
    for center in found.centers:
        killed = {
            name: found.mean(center, "HIGH", name, "killed_contention")
            for name in ("FF", "FF, limit = request x factor", "RUA, limit = request", RUA)
        }
        listed = ", ".join(f"{name} {value:.0f}" for name, value in killed.items())
        parts.append(f"{center} HIGH: {listed}")
    return [f"Killed by contention, and what the longer limit does alone: {'; '.join(parts)}."]


def _chance(found: Findings) -> list[str]:
    if len(found.seeds) < 2:
        return ["One seed: no statement on chance is possible."]
    parts = []
    for center in found.centers:
        known = found.of(center, "HIGH", "FF", "bsld_finished_mean")
        if known is not None:
            parts.append(f"{center} {min(known.values):.1f} to {max(known.values):.1f}")
    return [
        "How much hangs on who draws which demand: the mean bounded slowdown of HIGH under first "
        f"fit goes, seed by seed, {', '.join(parts)}."
    ]


def choices(found: Findings) -> tuple[str, ...]:
    """What the text does not give and is chosen here."""
    return (
        f"High demand is {HIGHS[0]} MB/s a process, the next doubling after 500 and 1000; "
        f"{HIGHS[1]} beside it.",
        f"Nodes of {r.PROCS} processors and {r.BANDWIDTH} MB/s; CTC has 108 (128 in Readings), "
        "SDSC 288. Processes go to any free processors.",
        f"The first {r.JOBS:,} cleaned jobs run, the first {r.WARM_UP:,} of them are not scored; "
        "demands are drawn by job number and seed.",
        "Work goes on at the rate that the node's demand allows, exactly; the sum of shared "
        "windows as the paper writes it is in Readings.",
        "LessConsume looks one request ahead of first fit's start; a promised start never moves "
        "later; of RUA's thresholds the one with the least slowdown counts, waiting included.",
        "Slowdown and wait are those of finished jobs, the slowdown over the time they took.",
    )


BALANCE = "A good balance is achieved in the CTC center using the threshold of 1.15."
CLOSE = "RUA is slightly worse than SJBF with first fit, by less than 5 %; killed jobs fall."

BY_POLICY = {"across": r.COLUMNS, "series": tuple(SCENARIOS), "by_policy": True}
BY_WORKLOAD = {"across": tuple(SCENARIOS), "series": ("FF", "LC", RUA), "by_policy": False}


def paper_figures(found: Findings) -> tuple[PaperFigure, ...]:
    """The figures of every center that is there; a generated workload has those of CTC."""
    numbers = {"CTC": (4, 6, 8), "SDSC": (5, 7, 9)}
    figures = []
    for center in found.centers:
        trade, killed, variables = numbers.get(center, numbers["CTC"])
        title = "Bounded slowdown versus"
        penalised = f"{title} percentage of penalised run time"
        beside = "RUA beside SJBF with first fit and LessConsume"
        figures += [
            _figure(found, trade, penalised, center, (1, 5), **BY_POLICY),
            _figure(found, killed, f"{title} killed jobs", center, (1, 7), **BY_POLICY),
            _figure(found, variables, beside, center, (1, 3, 5, 7), **BY_WORKLOAD),
        ]
    return tuple(sorted(figures, key=lambda figure: figure.name))


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

    def column(policy: str, scenario: str) -> tuple[float, ...]:
        known = found.of(center, scenario, policy, measure.metric, high=high, scale=measure.scale)
        return known.values if known else ()

    return Panel.of(
        f"{measure.title}, high = {high}",
        "bars",
        "policy" if by_policy else "workload",
        measure.unit,
        across,
        (
            Series.over(name, [column(x, name) if by_policy else column(name, x) for x in across])
            for name in series
        ),
    )


def _figure(
    found: Findings, number: int, title: str, center: str, tables: tuple[int, ...], **of: Any
) -> PaperFigure:
    """A panel for each value of high demand and each table."""
    panels = [
        _panel(found, center, high, MEASURES[table], **of)
        for high in found.highs
        for table in tables
    ]
    says = BALANCE if of["by_policy"] else CLOSE
    return PaperFigure.of(f"Figure {number}", f"{title}: {center}", panels, says=says)


LOGS = (
    reproduction.Log(label="CTC", file="CTC-SP2-1996-3.1-cln.swf", procs=432),
    reproduction.Log(label="SDSC", file="SDSC-BLUE-2000-4.2-cln.swf", procs=1152),
)

MOST_SEEDS = 5
"""More seeds narrow the errors, but each costs minutes."""


def study(subjects: tuple[reproduction.Subject, ...], seeds: int, quick: bool) -> reproduction.Runs:
    """All of the study, or one seed of its heaviest workload."""
    if quick:
        return r.runs(subjects, (1,), scenarios=("HIGH",), highs=HIGHS[:1])
    return r.runs(subjects, tuple(range(1, min(seeds, MOST_SEEDS) + 1)))


def _subject(found: Findings, subject: reproduction.Subject) -> reproduction.Subject:
    """The jobs and nodes of the kept runs, as the report and the result folder know them."""
    key = next(k for k, one in found.outcomes.items() if one.run and k.center == subject.label)
    return reproduction.Subject(
        label=subject.label,
        workload=r.jobs_of(subject, key),
        cluster=r.machine(subject, r.PLAIN),
        path=subject.path,
    )


def _kept(found: Findings, center: str) -> tuple[reproduction.SubjectRun, ...]:
    return tuple(one.run for key, one in found.outcomes.items() if one.run and key.center == center)


def more(found: Findings) -> dict[str, Any]:
    """The kept schedules on their machines, and every number behind the tables."""
    points = [{**key._asdict(), **one.metrics} for key, one in found.outcomes.items()]
    return {
        "subjects": tuple(_subject(found, subject) for subject in found.subjects),
        "runs": {subject.label: _kept(found, subject.label) for subject in found.subjects},
        "more": {"points": points},
    }


PAPER = reproduction.Paper(
    name="rua",
    title="The Resource Usage Aware Backfilling",
    reference="F. Guim, I. Rodero, J. Corbalan: The Resource Usage Aware Backfilling. "
    "Job Scheduling Strategies for Parallel Processing (JSSPP) 2009",
    logs=LOGS,
    policies=(),
    runs=study,
    tables=paper_tables,
    figures=paper_figures,
    claims=paper_claims,
    notes=paper_notes,
    choices=choices,
    more=more,
)
