"""Jobs as a table with a named column for everything that a job can request.

CSV and Parquet share the columns; docs/reference/formats.md describes each. Only job_id, submit
and run must be there. Times are seconds; submissions later than 2001 count from 1970.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, cast

import numpy as np

from shadowtime.cluster.amounts import COUNTED
from shadowtime.errors import ClusterError, InputError
from shadowtime.slurmtext.sbatch import dependencies_of
from shadowtime.types import UNKNOWN
from shadowtime.workload.raw import FIELDS, STATUS_CANCELLED, STATUS_COMPLETED, RawTrace
from shadowtime.workload.request import Dependency, Gres, Request, Requests

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from shadowtime.cluster.amounts import Amounts
    from shadowtime.workload import Workload

NEEDED = ("job_id", "submit", "run")
NUMBERS = ("job_id", "submit", "start", "run", "request", "procs", "status")
NAMED = {"user": "user", "account": "group", "qos": "queue"}
"""Columns of names, and the workload's column that numbers them."""
COUNTS = ("nodes", "max_nodes", "tasks", "cpus_per_task", "tasks_per_node", "memory",
          "cpus_per_gpu")  # fmt: skip
TEXTS = ("memory_per", "gres", "features", "exclusive", "contiguous", "partition", "reservation",
         "wanted", "excluded", *(kind.entry for kind in COUNTED), "dependency",
         "node_list")  # fmt: skip
KNOWN = (*NUMBERS, *NAMED, *COUNTS, *TEXTS, *Requests.COLUMNS)
_FIRST_EPOCH = 1_000_000_000


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
    columns["memory_per"] = [one.memory_per if one.memory is not None else None for one in each]
    columns["gres"] = [",".join(f"{g.name}:{g.count}/{g.per}" for g in one.gres) for one in each]
    for kind in COUNTED:
        columns[kind.entry] = [kind.cell(one.amounts) for one in each]
    columns["features"] = [one.features for one in each]
    columns["reservation"] = [one.reservation for one in each]
    columns["partition"] = [",".join(one.partitions) for one in each]
    for name in ("wanted", "excluded"):
        columns[name] = [",".join(getattr(one, name)) for one in each]
    for name in ("exclusive", "contiguous"):
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
    for column in NEEDED:
        if column not in columns:
            raise InputError(f"the table has no column {column}", path=path, line=1)
    unknown = [column for column in columns if column not in KNOWN]
    if unknown:
        raise InputError(
            f"there is no column {unknown[0]!r}", path=path, line=1,
            hint=f"Columns are {', '.join(KNOWN)}.",
        )  # fmt: skip
    n = len(columns["job_id"])
    numbering: dict[str, dict[str, int]] = {kind: {"": 0} for kind in (*NAMED, "partition")}
    lists: dict[str, int] = {"": 0}
    rows, requests, places = [], [], []
    per_job: dict[str, list[int]] = {column: [] for column in Requests.COLUMNS}
    dependencies: list[Dependency] = []
    for row in range(n):
        get = _Row(columns, row, path, first + row)
        request = _request(get)
        requests.append(request)
        submit, run = get.number("submit", needed=True), get.number("run")
        start, cancel = get.number("start"), get.number("cancel_at")
        until = start if start >= 0 else cancel
        procs = get.number("procs")
        status = get.number("status")
        if status < 0:
            status = STATUS_CANCELLED if cancel >= 0 and start < 0 else STATUS_COMPLETED
        called = {kind: get.text(kind) for kind in numbering}
        numbers = {
            kind: names.setdefault(called[kind], len(names)) or UNKNOWN
            for kind, names in numbering.items()
        }
        values = dict.fromkeys(FIELDS, UNKNOWN) | {
            "job_id": get.number("job_id", needed=True), "submit": submit, "run": run,
            "wait": until - submit if until >= 0 else UNKNOWN, "request": get.number("request"),
            "procs": procs if procs > 0 else request.cpus, "requested_procs": request.cpus,
            "status": status, "user": numbers["user"], "group": numbers["account"],
            "queue": numbers["qos"], "partition": numbers["partition"],
        }  # fmt: skip
        rows.append([values[field] for field in FIELDS])
        usual = {"throttle": 0, "nice": 0, "requeue": 1}
        for column in Requests.COLUMNS:
            given = get.signed(column)
            per_job[column].append(usual.get(column, UNKNOWN) if given is None else given)
        kinds, either = dependencies_of({"dependency": get.text("dependency")})
        dependencies += [Dependency(job=row, kind=k, on=ids, any_of=either) for k, ids in kinds]
        places.append(lists.setdefault(get.text("node_list"), len(lists)))
    table = np.array(rows, np.int64).reshape(n, len(FIELDS)).T.copy()
    submits = table[FIELDS.index("submit")]
    origin = int(submits.min()) if n and int(submits.min()) >= _FIRST_EPOCH else 0
    submits -= origin
    for column in ("begin", "cancel_at"):
        per_job[column] = [one - origin if one >= 0 else one for one in per_job[column]]
    asked = Requests.of_jobs(requests, dependencies=dependencies, **per_job)
    return RawTrace(
        name=name, table=table, line=np.arange(first, first + n), path=path,
        requests=asked, demands=_demands(asked),
        names={
            **{column: tuple(numbering[kind]) for kind, column in NAMED.items()},
            "partition": tuple(numbering["partition"]), "node_list": tuple(lists),
        },
        extra={"node_list": np.array(places, np.int64)} if "node_list" in columns else {},
        epoch=origin or None,
    )  # fmt: skip


def _demands(asked: Requests) -> dict[str, Any]:
    """What jobs take of each amount, for machines that have it as a resource."""
    each = [dict(one.amounts) for one in asked.distinct]
    names = sorted({name for one in each for name in one})
    return {name: np.array([one.get(name, 0) for one in each])[asked.index] for name in names}


class _Row:
    """The cells of one row."""

    def __init__(
        self, columns: Mapping[str, Sequence[Any]], row: int, path: str | None, line: int
    ) -> None:
        self.columns, self.row, self.path, self.line = columns, row, path, line

    def text(self, column: str) -> str:
        value = self.columns[column][self.row] if column in self.columns else None
        return "" if value is None else str(value).strip()

    def signed(self, column: str) -> int | None:
        """A whole number, None if it is empty."""
        word = self.text(column).removesuffix(".0")  # a column with gaps may be read as floats
        if not word:
            return None
        if not word.removeprefix("-").isdecimal() or not word.isascii() or len(word) > 16:
            raise self.wrong(f"{column} must be a whole number, not {word!r}")
        return int(word)

    def number(self, column: str, *, needed: bool = False) -> int:
        """A whole number; -1 if it is empty."""
        value = self.signed(column)
        if value is None and needed:
            raise self.wrong(f"{column} is missing")
        return UNKNOWN if value is None else value

    def wrong(self, what: str) -> InputError:
        return InputError(what, path=self.path, line=self.line)


def _request(get: _Row) -> Request:
    columns: dict[str, Any] = {
        name: value for name in COUNTS if (value := get.signed(name)) is not None
    }
    for name, value in columns.items():
        if value < 0 or (value == 0 and name != "memory"):
            raise get.wrong(f"{name} must be at least 1, not {value}")
    if "tasks" not in columns and "procs" in get.columns and get.number("procs") > 0:
        columns["tasks"] = max(get.number("procs") // columns.get("cpus_per_task", 1), 1)
    if get.text("memory_per"):
        columns["memory_per"] = _choice(get, "memory_per", ("node", "cpu"))
    for name in ("exclusive", "contiguous"):
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
