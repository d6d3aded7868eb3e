"""Jobs as a table with a named column for everything that a job can request.

CSV and Parquet share the columns; docs/reference/formats.md describes each. Only job_id, submit
and run must be there. Times are seconds; submissions later than 2001 count from 1970. Columns of
other names are kept for functions of a policy, which read them as ``job.NAME``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, cast

import numpy as np

from shadowtime.cluster.amounts import COUNTED, Amounts
from shadowtime.errors import ClusterError, InputError
from shadowtime.slurmtext.sacct_columns import Table
from shadowtime.slurmtext.sbatch import dependencies
from shadowtime.trace.further_columns import refuse_misspelt, typed
from shadowtime.trace.header import converted
from shadowtime.types import UNKNOWN, Ints
from shadowtime.workload import Workload
from shadowtime.workload.raw import FIELDS, STATUS_CANCELLED, STATUS_COMPLETED, RawTrace
from shadowtime.workload.request import Dependency, Gres, Request, Requests
from shadowtime.workload.scale import INSTANTS

NEEDED = ("job_id", "submit", "run")
NUMBERS = ("job_id", "submit", "start", "run", "request", "procs", "status")
NAMED = {"user": "user", "account": "group", "qos": "queue"}
"""Columns of names, and the workload's column that numbers them."""
COUNTS = ("nodes", "max_nodes", "tasks", "cpus_per_task", "tasks_per_node", "least_cpus",
          "memory", "cpus_per_gpu")  # fmt: skip
FLAGS = ("exclusive", "exclusive_user", "contiguous")
TEXTS = ("memory_per", "aim", "gres", "features", *FLAGS, "partition", "reservation", "wanted",
         "excluded", *(kind.entry for kind in COUNTED), "dependency",
         "node_list")  # fmt: skip
KNOWN = (*NUMBERS, *NAMED, "name", *COUNTS, *TEXTS, *Requests.COLUMNS)
_ASKED = ("procs", "account", "qos", *COUNTS,
          *(name for name in TEXTS if name not in ("dependency", "node_list")))  # fmt: skip
"""Columns that make the request."""
_FIRST_EPOCH = 1_000_000_000
_EMPTY = -(1 << 62)


def table_of(workload: Workload) -> dict[str, list[Any]]:
    """A workload as columns; what is not given is None."""
    asked = workload.requests or Requests.of_jobs(
        [Request(tasks=int(procs)) for procs in workload.procs]
    )
    base = workload.epoch or 0
    each = [asked[row] for row in range(len(workload))]
    numbers = {
        "job_id": workload.job_id, "submit": workload.submit + base, "run": workload.run,
        "start": np.where(workload.recorded_start >= 0, workload.recorded_start + base, UNKNOWN),
        "request": workload.request, "procs": workload.procs, "status": workload.status,
    }  # fmt: skip
    columns: dict[str, list[Any]] = {name: _given(numbers[name]) for name in NUMBERS}
    for name, column in NAMED.items():
        values = getattr(workload, column).tolist()
        columns[name] = [workload.name_of(column, value) or None for value in values]
    for name in COUNTS:
        columns[name] = [getattr(one, name) for one in each]
    columns["aim"] = [one.aim if one.aim != "most" else None for one in each]
    columns["memory_per"] = [one.memory_per if one.memory is not None else None for one in each]
    columns["gres"] = [",".join(f"{g.name}:{g.count}/{g.per}" for g in one.gres) for one in each]
    for kind in COUNTED:
        columns[kind.entry] = [kind.cell(one.amounts) for one in each]
    columns["features"] = [one.features for one in each]
    columns["reservation"] = [one.reservation for one in each]
    columns["partition"] = [",".join(one.partitions) for one in each]
    for name in ("wanted", "excluded"):
        columns[name] = [",".join(getattr(one, name)) for one in each]
    for name in FLAGS:
        columns[name] = ["yes" if getattr(one, name) else None for one in each]
    for name in Requests.COLUMNS:
        values = getattr(asked, name)
        shift = base if name in ("begin", "cancel_at") else 0
        columns[name] = _given(np.where(values >= 0, values + shift, values), nice=name == "nice")
    waits: dict[int, list[str]] = {}
    for one in asked.dependencies:
        ids = "".join(f":{job}" for job in one.on)
        waits.setdefault(one.job, []).append(f"{one.kind}{ids}{'?' if one.any_of else ''}")
    columns["dependency"] = [_joined(waits.get(row, [])) for row in range(len(workload))]
    places = workload.extra.get("node_list")
    if places is not None:
        columns["node_list"] = [workload.name_of("node_list", int(one)) for one in places]
    return {
        name: [value if value != "" else None for value in values]
        for name, values in columns.items()
        if name in NEEDED or any(value not in (None, "") for value in values)
    }


def _given(values: Any, *, nice: bool = False) -> list[int | None]:
    return [int(one) if one >= 0 or nice else None for one in values]


def _joined(parts: list[str]) -> str:
    mark = "?" if any(part.endswith("?") for part in parts) else ","
    return mark.join(part.rstrip("?") for part in parts)


def raw_of(
    columns: Mapping[str, Sequence[Any]], *, name: str, path: str | None = None, first: int = 2
) -> RawTrace:
    """The jobs of a table as a raw trace; ``first`` is the line of the first job.

    Examples
    --------
    >>> raw = raw_of({"job_id": ["7"], "submit": ["5"], "run": ["9"], "nodes": ["2"]}, name="t")
    >>> raw.requests[0].nodes, raw["run"].tolist()
    (2, [9])
    """
    jobs = JobTable(columns, path=path)
    jobs.add(columns, first)
    return jobs.raw(name)


class JobTable:
    """The jobs of a table with our columns, taken in piece by piece.

    Only numbers are kept of a row: names and requests are kept once and numbered. ``foreign``:
    the ids are another site's, so that what is no number, or occurs twice, is replaced.
    """

    def __init__(
        self, columns: Iterable[str], *, path: str | None, foreign: bool = False, expected: int = 0
    ) -> None:
        self.columns, self.path, self.foreign = set(columns), path, foreign
        for column in NEEDED:
            if column not in self.columns:
                raise InputError(f"the table has no column {column}", path=path, line=1)
        self.further = [column for column in columns if column not in KNOWN]
        refuse_misspelt(self.further, KNOWN, path)
        self.counts: dict[str, int] = {}
        self.table = Table(len(FIELDS), expected)
        self.beside = {
            column: Table(1, expected) for column in (*Requests.COLUMNS, "node_list")
            if column in self.columns
        }  # fmt: skip
        self.index, self.line, self.part = (Table(1, expected) for _ in range(3))
        self.cells = {column: Table(1, expected) for column in self.further}
        self.numbering: dict[str, dict[str, int]] = {
            kind: {"": 0} for kind in (*NAMED, "partition", "name", "node_list", *self.further)
        }
        self.asked = [column for column in _ASKED if column in self.columns]
        self.known: dict[tuple[Any, ...], int] = {}
        self.distinct: dict[Request, int] = {}
        self.dependencies: list[Dependency] = []

    def add(self, columns: Mapping[str, Sequence[Any]], first: int, *, part: int = 0) -> None:
        """Rows; ``first`` is the line of the first, ``part`` the number of their file."""
        n = len(columns["job_id"])
        before = self.table.rows

        def number(name: str) -> Ints:
            if name not in columns:
                return np.full(n, UNKNOWN, np.int64)
            return self._numbers(name, columns[name], first)

        def called(name: str) -> Ints:
            found = np.zeros(n, np.int64)
            if name in columns:
                known = self.numbering[name]
                words = map(_word, columns[name])
                found[:] = [known.setdefault(word, len(known)) for word in words]
            return found

        request = self._requests(columns, n, first)
        self.index.more(n)[0] = request
        cpus = np.array([one.cpus for one in self.distinct], np.int64)[request]
        submit, start, procs = number("submit"), number("start"), number("procs")
        ids = number("job_id")
        for name, column in (("submit", submit), ("job_id", ids)):
            empty = np.flatnonzero(column < 0)
            if len(empty) and not (name == "job_id" and self.foreign):
                raise InputError(f"{name} is missing", path=self.path, line=first + int(empty[0]))
        cancel, status = number("cancel_at"), number("status")
        until = np.where(start >= 0, start, cancel)
        never = np.where((cancel >= 0) & (start < 0), STATUS_CANCELLED, STATUS_COMPLETED)
        values = {
            "job_id": ids, "submit": submit, "run": number("run"), "request": number("request"),
            "wait": np.where(until >= 0, until - submit, UNKNOWN),
            "procs": np.where(procs > 0, procs, cpus), "requested_procs": cpus,
            "status": np.where(status < 0, never, status),
            "partition": called("partition"), "executable": called("name"),
            **{column: called(kind) for kind, column in NAMED.items()},
        }  # fmt: skip
        for kind in ("partition", "executable", *NAMED.values()):
            values[kind][values[kind] == 0] = UNKNOWN
        table = self.table.more(n)
        for place, field in enumerate(FIELDS):
            table[place] = values.get(field, UNKNOWN)
        for kind, room in self.beside.items():
            room.more(n)[0] = (
                called(kind) if kind == "node_list"
                else self._numbers(kind, columns[kind], first, missing=_usual(kind))
            )  # fmt: skip
        for kind, room in self.cells.items():
            room.more(n)[0] = called(kind)
        self.line.more(n)[0] = np.arange(first, first + n)
        self.part.more(n)[0] = part
        for row, cell in enumerate(columns.get("dependency", ())):
            if _word(cell):
                self.dependencies += dependencies({"dependency": _word(cell)}, before + row)

    def _numbers(
        self, name: str, cells: Sequence[Any], first: int, *, missing: int = UNKNOWN
    ) -> Ints:
        """A column of whole numbers."""
        try:
            return np.array([_number(cell, missing) for cell in cells], np.int64)
        except ValueError:
            for row, cell in enumerate(cells):
                _Row((name,), (cell,), self.path, first + row).signed(name)
            raise

    def _requests(self, columns: Mapping[str, Sequence[Any]], n: int, first: int) -> Ints:
        """The number of each row's request."""
        if not self.asked:
            self.distinct.setdefault(Request(), 0)
            return np.zeros(n, np.int64)
        found = np.empty(n, np.int64)
        known = self.known
        for row, cells in enumerate(zip(*(columns[name] for name in self.asked), strict=True)):
            place = known.get(cells)
            if place is None:
                request = _request(_Row(self.asked, cells, self.path, first + row))
                place = self.distinct.setdefault(request, len(self.distinct))
                known[cells] = place
            found[row] = place
        return found

    def raw(self, name: str) -> RawTrace:
        """All of them."""
        n = self.table.rows
        table, line, index = self.table.written(), self.line.written()[0], self.index.written()[0]
        beside = {column: room.written()[0] for column, room in self.beside.items()}
        cells = {column: room.written()[0] for column, room in self.cells.items()}
        kept = self._last_of_each(table) if self.foreign else None
        if kept is not None:
            cells = {column: values[kept] for column, values in cells.items()}
            table, line, index = table[:, kept], line[kept], index[kept]
            beside = {column: values[kept] for column, values in beside.items()}
            n = len(line)
        ids = table[FIELDS.index("job_id")]
        if self.foreign and (bool((ids < 0).any()) or len(np.unique(ids)) < n):
            ids[:] = np.arange(1, n + 1)
        submits = table[FIELDS.index("submit")]
        origin = int(submits.min()) if n and int(submits.min()) >= _FIRST_EPOCH else 0
        submits -= origin
        for column in ("begin", "cancel_at"):
            if column in beside:
                beside[column][beside[column] >= 0] -= origin
        places = beside.pop("node_list", None)
        further = {column: typed(self.numbering[column], cells[column]) for column in cells}
        for column in {*INSTANTS} & {*further}:
            given = further[column].values
            given[given >= 0] -= origin
        asked = Requests(
            distinct=tuple(self.distinct), index=index, dependencies=tuple(self.dependencies),
            **{
                # One number stands for a column that the table does not have.
                column: beside.get(column, np.broadcast_to(np.int64(_usual(column)), n))
                for column in Requests.COLUMNS
            },
        )  # fmt: skip
        return RawTrace(
            name=name, table=table, line=line, path=self.path, counts=self.counts,
            requests=asked, demands=_demands(asked),
            names={
                **{column: tuple(self.numbering[kind]) for kind, column in NAMED.items()},
                "partition": tuple(self.numbering["partition"]),
                "node_list": tuple(self.numbering["node_list"]),
                **{column: one.names for column, one in further.items() if one.names},
            },
            extra={
                **({} if places is None else {"node_list": places}),
                **{column: one.values for column, one in further.items()},
            },
            header=converted("a table of jobs", origin) if origin else (),
            epoch=origin or None,
        )  # fmt: skip

    def _last_of_each(self, table: Ints) -> Ints | None:
        """Rows without those of jobs that a later file has too; None where that is all of them.

        Daily snapshots of a queue hold a job on each of its days. In one file the same id may be
        that of an array's tasks.
        """
        part = self.part.written()[0]
        if not len(part) or part[-1] == 0 or self.dependencies:
            return None
        same = [table[FIELDS.index(field)] for field in ("job_id", "submit", "user")]
        order = np.lexsort((np.arange(len(part)), part, *same))
        again = np.ones(len(order) - 1, bool)
        for column in same:
            again &= column[order[1:]] == column[order[:-1]]
        again &= (part[order[1:]] > part[order[:-1]]) & (same[0][order[1:]] >= 0)
        self.counts["snapshots_joined"] = int(again.sum())
        kept: Ints = np.sort(order[np.concatenate([~again, [True]])])
        return kept


def _usual(column: str) -> int:
    """What a job has that gives nothing."""
    return {"throttle": 0, "nice": 0, "requeue": 1}.get(column, UNKNOWN)


def _word(cell: Any) -> str:
    return cell.strip() if isinstance(cell, str) else "" if cell is None else str(cell)


def _number(cell: Any, missing: int) -> int:
    if type(cell) is int:
        return cell
    word = _word(cell).removesuffix(".0")  # a column with gaps may be read as floats
    if not word:
        return missing
    if not word.removeprefix("-").isdecimal() or not word.isascii() or len(word) > 16:
        raise ValueError(word)
    return int(word)


def _demands(asked: Requests) -> dict[str, Any]:
    """What jobs take of each amount, for machines that have it as a resource: GPUs, memory (KB)."""

    def gpus(one: Request) -> int:
        per = {"node": one.nodes, "task": one.tasks, "job": 1}
        named = [gres for gres in one.gres if gres.name.split(":")[0] == "gpu"]
        return sum(gres.count * per[gres.per] for gres in named)

    def memory(one: Request) -> int:
        if not one.memory:
            return UNKNOWN
        return one.memory * (one.cpus if one.memory_per == "cpu" else one.nodes)

    each = [
        {**dict(one.amounts), "gpus": gpus(one), "memory": memory(one)} for one in asked.distinct
    ]
    names = sorted({name for one in each for name, amount in one.items() if amount > 0})
    return {name: np.array([one.get(name, 0) for one in each])[asked.index] for name in names}


class _Row:
    """Cells of one row."""

    def __init__(
        self, names: Sequence[str], cells: Sequence[Any], path: str | None, line: int
    ) -> None:
        self.cells, self.path, self.line = dict(zip(names, cells, strict=True)), path, line

    def text(self, column: str) -> str:
        return _word(self.cells.get(column))

    def signed(self, column: str) -> int | None:
        """A whole number, None if it is empty."""
        try:
            value = _number(self.cells.get(column), _EMPTY)
        except ValueError as error:
            raise self.wrong(f"{column} must be a whole number, not {str(error)!r}") from None
        return None if value == _EMPTY else value

    def wrong(self, what: str) -> InputError:
        return InputError(what, path=self.path, line=self.line)


def _request(get: _Row) -> Request:
    columns: dict[str, Any] = {
        name: value for name in COUNTS if (value := get.signed(name)) is not None
    }
    for name, value in columns.items():
        if value < 0 or (value == 0 and name != "memory"):
            raise get.wrong(f"{name} must be at least 1, not {value}")
    if "tasks" not in columns and (procs := get.signed("procs") or 0) > 0:
        columns["tasks"] = max(procs // columns.get("cpus_per_task", 1), 1)
    if get.text("memory_per"):
        columns["memory_per"] = _choice(get, "memory_per", ("node", "cpu"))
    if get.text("aim"):
        columns["aim"] = _choice(get, "aim", ("most", "least", "spread"))
    for name in FLAGS:
        if get.text(name):
            columns[name] = _choice(get, name, ("yes", "no")) == "yes"
    for name in ("wanted", "excluded"):
        columns[name] = tuple(part for part in get.text(name).split(",") if part)
    amounts: Amounts = ()
    for kind in COUNTED:
        word = get.text(kind.entry)
        try:
            amounts += kind.parse(word)
        except ClusterError:
            raise get.wrong(f"{kind.entry} must be like {kind.like}, not {word!r}") from None
    return Request(
        amounts=amounts,
        **columns, gres=_gres(get), features=get.text("features"), qos=get.text("qos"),
        account=get.text("account"), reservation=get.text("reservation"),
        partitions=tuple(part for part in get.text("partition").split(",") if part),
    )  # fmt: skip


def _gres(get: _Row) -> tuple[Gres, ...]:
    found = []
    for part in (word for word in get.text("gres").split(",") if word):
        amount, _, per = part.partition("/")
        name, _, count = amount.rpartition(":")
        if not name or not count.isdecimal() or per not in ("", "node", "task", "job"):
            raise get.wrong(f"gres must be like gpu:a100:2/node, not {part!r}")
        kind = cast("Literal['node', 'task', 'job']", per or "node")
        found.append(Gres(name=name, count=int(count), per=kind))
    return tuple(found)


def _choice(get: _Row, column: str, choices: tuple[str, ...]) -> str:
    word = get.text(column)
    if word not in choices:
        raise get.wrong(f"{column} must be {' or '.join(choices)}, not {word!r}")
    return word
