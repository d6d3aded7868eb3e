"""Schedules from CSV files, our own or anybody's."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shadowtime.errors import InputError, UsageError
from shadowtime.schedule.assemble import attempts_from, schedule_from
from shadowtime.schedule.columns import ALWAYS, ATTEMPTS, REQUIRED, WHERE_KNOWN
from shadowtime.schedule.csv_table import Table
from shadowtime.schedule.schedule import Attempts

if TYPE_CHECKING:
    from collections.abc import Mapping

    from shadowtime.schedule.schedule import Schedule

CONTRACT = ALWAYS + WHERE_KNOWN


def parse_schedule(
    text: str,
    *,
    path: str = "schedule",
    attempts: Attempts | None = None,
    names: Mapping[str, str] | None = None,
) -> Schedule:
    """A schedule from CSV text.

    Rules
    -----
    Columns may stand in any order. ``job_id, submit, start, end, procs`` must be there; of the
    rest, what is missing is listed in ``Schedule.missing`` or None, and what is unknown to the
    contract is left out and counted (``counters["ignored_columns"]``). ``names`` says how the
    file calls a column: ``{"start": "starting_time"}``. Rows are sorted by (submit, id);
    nothing is dropped, so that a check can see a job that appears twice.

    Examples
    --------
    >>> s = parse_schedule("job_id,start,submit,end,procs,colour\\n7,5,0,9,2,red\\n")
    >>> s.job_id.tolist(), s.wait.tolist(), s.missing, s.counters["ignored_columns"]
    ([7], [5], ('reason', 'kills', 'killed'), 1)
    """
    table = _renamed(Table.parse(text, path=path), names or {})
    table.need(REQUIRED, what="A schedule")
    numbers = [name for name in CONTRACT if name in table.cells and name != "place"]
    return schedule_from(
        {
            name: table.reasons(name) if name == "reason" else table.integers(name)
            for name in numbers
        },
        place=table.cells.get("place"),
        attempts=Attempts.none() if attempts is None else attempts,
        ignored=len(set(table.cells) - set(CONTRACT)),
    )


def parse_attempts(text: str, *, path: str = "attempts") -> Attempts:
    """The attempts of preempted jobs from CSV text, sorted by start, then job.

    Examples
    --------
    >>> a = parse_attempts("job_id,start,end,preempted\\n4,9,20,0\\n4,2,5,1\\n")
    >>> a.start.tolist(), a.killed.tolist()
    ([2, 9], [1, 0])
    """
    table = Table.parse(text, path=path)
    table.need(ATTEMPTS, what="A file of attempts")
    return attempts_from({name: table.integers(name) for name in ATTEMPTS})


def _renamed(table: Table, names: Mapping[str, str]) -> Table:
    """The table with the contract's names in place of the file's own."""
    cells = dict(table.cells)
    for ours, theirs in names.items():
        if ours not in CONTRACT:
            raise UsageError(
                f"a schedule has no column {ours!r}: its columns are {', '.join(CONTRACT)}"
            )
        key = theirs.strip().lower()
        if key not in table.cells:
            raise InputError(f"no column {theirs!r} to be read as {ours}", path=table.path, line=1)
        cells.pop(key, None)
        cells[ours] = table.cells[key]
    return Table(path=table.path, text=table.text, cells=cells, rows=table.rows)
