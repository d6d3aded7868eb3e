"""What the jobs of an sacct export asked for, as far as accounting keeps it.

Accounting has the amounts (ReqTRES) but not how they were asked for. What is inferred follows
named rules that count the jobs they touched:

``memory_per_cpu``, ``memory_per_node``
    the amount allocated tells which, where cpus or nodes differ from those asked for; else it is
    taken per node.
``gres_per_job``
    a number that the nodes do not share evenly, or that did not grow with them.
``options_from_line``
    jobs whose submission (SubmitLine) said more.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import numpy as np

from shadowtime.cluster.slurm_values import resource_of
from shadowtime.trace import slurm_fields as fields
from shadowtime.trace import submit_options
from shadowtime.trace.sbatch_line import parse_line
from shadowtime.types import UNKNOWN
from shadowtime.workload.request import Dependency, Gres, Request, Requests

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Literal

    from shadowtime.trace.slurm_job_id import JobId
    from shadowtime.types import Ints

    Getter = Callable[[str], str]

_READ = ("reqtres", "alloctres", "reqcpus", "ncpus", "alloccpus", "nnodes", "reqnodes", "reqmem",
         "constraints", "partition", "qos", "account", "reservation", "submitline")  # fmt: skip
_NONE = ("", "(null)", "None", "N/A")


class SacctRequests:
    """The requests of the rows read so far; each distinct one is kept once."""

    def __init__(self) -> None:
        self.numbers: dict[Request, int] = {}
        self.known: dict[tuple[str, ...], tuple[int, tuple[str, ...]]] = {}
        self.index: list[int] = []
        self.columns: list[tuple[int, ...]] = []
        self.dependencies: list[Dependency] = []
        self.lists: dict[str, int] = {"": 0}
        self.placed: list[int] = []
        self.counts: Counter[str] = Counter()

    def add(self, get: Getter, shown: JobId, *, submit: int, cancelled_at: int) -> None:
        """Take the row of a job in; ``cancelled_at`` is -1 where it left the queue by starting."""
        key = tuple(get(name) for name in _READ)
        if key not in self.known:
            request, rules = _request(dict(zip(_READ, key, strict=True)))
            self.known[key] = self.numbers.setdefault(request, len(self.numbers)), rules
        number, rules = self.known[key]
        options = parse_line(get("submitline")) if get("submitline") else {}
        priority = fields.parse_count(get("priority"), "Priority")
        row = len(self.columns)  # every check is behind us after this line
        self.index.append(number)
        self.counts.update(rules)
        kinds, either = submit_options.dependencies_of(options)
        self.dependencies += [
            Dependency(job=row, kind=kind, on=ids, any_of=either) for kind, ids in kinds
        ]
        task = shown.task
        self.columns.append(
            (
                submit_options.begin_of(options, submit),
                cancelled_at,
                shown.number if task >= 0 or shown.tasks else UNKNOWN,
                task,
                submit_options.throttle_of(options) or shown.throttle,
                submit_options.nice_of(options),
                priority,
                submit_options.least_time_of(options),
                int("no-requeue" not in options),
            )
        )
        hosts = get("nodelist").strip()
        hosts = "" if hosts in (*_NONE, "None assigned") else hosts
        self.placed.append(self.lists.setdefault(hosts, len(self.lists)))

    def requests(self, origin: int) -> Requests:
        """All of them on a clock that reads 0 at ``origin``."""
        table = np.array(self.columns, np.int64).reshape(-1, len(Requests.COLUMNS)).T.copy()
        columns = dict(zip(Requests.COLUMNS, table, strict=True))
        for name in ("begin", "cancel_at"):
            columns[name] = np.where(columns[name] >= 0, columns[name] - origin, UNKNOWN)
        return Requests(
            distinct=tuple(self.numbers),
            index=np.array(self.index, np.int64),
            dependencies=tuple(self.dependencies),
            inferred=dict(self.counts),
            **columns,
        )

    def node_list(self) -> tuple[Ints, tuple[str, ...]]:
        """Where each job ran: a number per job, and the host list behind each number."""
        return np.array(self.placed, np.int64), tuple(self.lists)


def _request(said: Mapping[str, str]) -> tuple[Request, tuple[str, ...]]:
    """The request behind a row, and the rules that were needed for it."""
    asked, got = fields.parse_tres(said["reqtres"]), fields.parse_tres(said["alloctres"])
    cpus = asked.get("cpu") or fields.parse_count(said["reqcpus"], "ReqCPUS")
    given = got.get("cpu") or fields.parse_count(said["ncpus"] or said["alloccpus"], "NCPUS")
    nodes = asked.get("node") or fields.parse_count(said["reqnodes"], "ReqNodes")
    placed = got.get("node") or fields.parse_count(said["nnodes"], "NNodes")
    nodes = max(nodes if nodes > 0 else placed, 1)
    cpus = max(cpus if cpus > 0 else given, 1)
    rules: list[str] = []
    memory, per = _memory(said, asked, got, cpus=cpus, nodes=nodes, rules=rules)
    request = Request(
        nodes=nodes,
        tasks=cpus,
        memory=memory,
        memory_per=per,
        gres=_gres(asked, got, nodes=nodes, placed=placed, rules=rules),
        features=_plain(said["constraints"]),
        partitions=tuple(p for p in said["partition"].strip().split(",") if p),
        qos=_plain(said["qos"]),
        account=_plain(said["account"]),
        reservation=_plain(said["reservation"]),
        licences=tuple((k[8:], v) for k, v in asked.items() if k.startswith("license/")),
    )
    if said["submitline"].strip():
        told = submit_options.apply_options(parse_line(said["submitline"]), request)
        if told != request:
            rules.append("options_from_line")
        request = told
    return request, tuple(rules)


def _memory(
    said: Mapping[str, str],
    asked: Mapping[str, int],
    got: Mapping[str, int],
    *,
    cpus: int,
    nodes: int,
    rules: list[str],
) -> tuple[int | None, Literal["node", "cpu"]]:
    """KB per node or cpu; up to 21.07 ReqMem says which, later only the sum is known."""
    word = said["reqmem"].strip()
    if word[-1:] in ("c", "n"):
        per: Literal["node", "cpu"] = "cpu" if word[-1] == "c" else "node"
        each = fields.parse_reqmem(word[:-1], 1, 1)
        return (0 if each < 0 else each), per
    whole = asked.get("mem") or fields.parse_reqmem(word, 1, 1)
    if whole < 0:
        return None, "node"
    more = got.get("mem", 0)
    by_cpus = whole % cpus == 0 and more * cpus == whole * got.get("cpu", 0)
    by_nodes = more * nodes == whole * got.get("node", 0)
    if more and by_cpus and not by_nodes:
        rules.append("memory_per_cpu")
        return whole // cpus, "cpu"
    rules.append("memory_per_node")
    return -(-whole // nodes), "node"


def _gres(
    asked: Mapping[str, int],
    got: Mapping[str, int],
    *,
    nodes: int,
    placed: int,
    rules: list[str],
) -> tuple[Gres, ...]:
    found = []
    counts = {name: count for name, count in asked.items() if name.startswith("gres/") and count}
    for name, count in counts.items():
        family = f"{name}:"
        if ":" not in name and sum(c for n, c in counts.items() if n.startswith(family)) == count:
            continue  # its types are listed too
        grew = got.get(name, 0) * nodes == count * placed
        if count % nodes or (placed > nodes and not grew):
            rules.append("gres_per_job")
            found.append(Gres(name=resource_of(name), count=count, per="job"))
        else:
            found.append(Gres(name=resource_of(name), count=count // nodes, per="node"))
    return tuple(found)


def _plain(text: str) -> str:
    word = text.strip()
    return "" if word in _NONE else word
