"""Tables 1 to 7 with our numbers for both values of high demand, and what lies beside them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from shadowtime.study.papers import published
from shadowtime.study.papers.rua import runs as r
from shadowtime.study.papers.rua.runs import HIGHS, RUA, Key
from shadowtime.study.papers.values import Cell, PaperTable, Row

PRINTED = dict(zip(r.COLUMNS, ("ff", "lc", "lct1", "lct115", "lct125", "lct15"), strict=True))
"""Our columns as the published files call them."""


class Measure(NamedTuple):
    """What one table shows."""

    title: str
    metric: str
    unit: str = ""
    scale: float = 1.0
    note: str = ""


PERCENT = 100.0
PERCENTILE = (
    "Read as a 95th percentile over jobs, the paper's numbers cannot come from its own model: with "
    "few levels of demand the penalty takes few values, and the percentile of HIGH and MED lies on "
    "the top one."
)
MEASURES = {
    1: Measure("Bounded slowdown, 95th percentile", "bsld_finished_p95"),
    2: Measure("Bounded slowdown, average", "bsld_finished_mean"),
    3: Measure("Wait, 95th percentile", "wait_finished_p95_s", "s"),
    4: Measure(
        "Wait, average",
        "wait_finished_mean_s",
        "s",
        note="The paper's Table 4 is its Table 3 times one constant per row (1.952, 1.500, 1.454, "
        "0.227, 0.204, 0.120): not a measurement of its own, so nothing is compared with it; our "
        "averages stand alone.",
    ),
    5: Measure(
        "Penalised run time, 95th percentile", "penalised_p95", "%", PERCENT, note=PERCENTILE
    ),
    6: Measure("Penalised run time, average", "penalised_mean", "%", PERCENT),
    7: Measure(
        "Killed jobs",
        "killed_contention",
        note="Jobs with run < request that contention killed; those with run >= request, which any "
        "penalty kills, stand in Killed anyway. The caption's '95th percentile' is a slip: these "
        "are counts. Cells without a number are missing in the text.",
    ),
}


def printed(table: int) -> dict[tuple[str, str], dict[str, float]]:
    """A published table: by center and scenario, the columns that have a number."""
    return {
        (row["center"], row["mem"].upper()): {
            column: float(row[name]) for column, name in PRINTED.items() if row[name]
        }
        for row in published.rows(f"rua_table{table}")
    }


def paper_tables(found: r.Findings) -> tuple[PaperTable, ...]:
    """The paper's tables, then ours."""
    return (
        *(_paper_table(found, number) for number in MEASURES),
        _anyway(found),
        _limit(found),
        *([] if found.generated else [_readings(found)]),
        _beyond(found),
    )


def cell_of(
    found: r.Findings, key: Key, measure: Measure, paper: float | None = None
) -> Cell:  # the seed of the key is not looked at
    """Our mean over the seeds with its standard error."""
    known = found.of(
        *key[:2],
        key.policy,
        measure.metric,
        high=key.high,
        reading=key.reading,
        scale=measure.scale,
    )
    return Cell.over(known.values if known else (), paper)


def _paper_table(found: r.Findings, number: int) -> PaperTable:
    measure = MEASURES[number]
    return PaperTable.of(
        f"Table {number}",
        measure.title,
        found.centers,
        _by_policy(found, measure, {} if number == 4 else printed(number)),
        note=measure.note,
    )


def _by_policy(
    found: r.Findings, measure: Measure, theirs: dict[tuple[str, str], dict[str, float]]
) -> tuple[Row, ...]:
    """A group for every workload and value of high demand: rows are policies, columns centers.

    The paper has them the other way round, which no terminal is wide enough for.
    """
    return tuple(
        Row.of(
            policy,
            (
                cell_of(
                    found,
                    Key(center, scenario, high, policy, 0),
                    measure,
                    theirs.get((center, scenario), {}).get(policy),
                )
                for center in found.centers
            ),
            unit=measure.unit,
            group=f"{scenario}, high = {high}",
        )
        for high in found.highs
        for scenario in found.scenarios
        for policy in (*r.COLUMNS, RUA)
    )


def _anyway(found: r.Findings) -> PaperTable:
    measure = Measure("Killed jobs with run >= request", "killed_anyway")
    return PaperTable.of(
        "Killed anyway", measure.title, found.centers, _by_policy(found, measure, {})
    )


SHORT = {
    "killed by contention": Measure("", "killed_contention"),
    "killed anyway": Measure("", "killed_anyway"),
    "finished": Measure("", "finished"),
    "slowdown, 95th percentile": MEASURES[1],
    "slowdown, average": MEASURES[2],
    "wait, average, s": MEASURES[4],
    "penalised, average, %": MEASURES[6],
}
"""Columns of the tables that hold variants of a policy against each other."""


def _variants(
    found: r.Findings, names: Mapping[str, tuple[str, str]], scenarios: Iterable[str]
) -> list[Row]:
    """A row per variant that was run, given as name: (policy, reading); a column per measure."""
    rows = [
        Row.of(
            name,
            (
                cell_of(found, Key(center, scenario, HIGHS[0], policy, 0, reading), measure)
                for measure in SHORT.values()
            ),
            group=f"{center} {scenario}",
        )
        for center in found.centers
        for scenario in scenarios
        for name, (policy, reading) in names.items()
    ]
    return [row for row in rows if any(cell.ours is not None for cell in row.cells)]


def _limit(found: r.Findings) -> PaperTable:
    """RUA's longer limit taken away, and given to first fit."""
    names = {policy: (policy, "") for policy in ("FF", *r.LIMIT, RUA)}
    return PaperTable.of(
        "The limit",
        f"What the longer limit does alone (high = {HIGHS[0]})",
        SHORT,
        _variants(found, names, found.scenarios),
        note="RUA gives a job request x planned factor; the others kill at the request.",
    )


def _readings(found: r.Findings) -> PaperTable:
    """Choices turned round: the paper-literal stretch, 128 nodes for CTC."""
    names = {
        f"{policy}{f', {reading}' if reading else ''}": (policy, reading)
        for reading in ("", r.WINDOW, r.NODES_128)
        for policy in r.READINGS
    }
    return PaperTable.of(
        "Readings",
        f"The same with other choices (high = {HIGHS[0]})",
        SHORT,
        _variants(found, names, found.scenarios[:1]),
        note="stretch=window adds the penalty of the shared windows to the run time, as the paper "
        "writes it; the size of its CTC machine is not stated (108 nodes here, 128 beside it).",
    )


def _beyond(found: r.Findings) -> PaperTable:
    """The paper's future work, measured."""
    texts = {RUA: r.POLICIES[RUA]} | r.BEYOND
    names = {policy: (policy, "") for policy in texts}
    return PaperTable.of(
        "Beyond the paper",
        f"What the paper left for later (high = {HIGHS[0]})",
        SHORT,
        _variants(found, names, [one for one in found.scenarios if one != "LOW"]),
        note="; ".join(f"{name}: {text}" for name, text in texts.items()),
    )
