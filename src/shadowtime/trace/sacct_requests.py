"""What the jobs of an sacct export asked for, as far as accounting keeps it.

Accounting has the amounts (ReqTRES) but not how they were asked for. What is inferred follows
named rules that count the jobs they touched:

``memory_per_cpu``, ``memory_per_node``
    the amount allocated tells which, where cpus or nodes differ from those asked for; else it is
    taken per node.
``gres_per_job``
    a number that the nodes do not share evenly, or that did not grow with them.
``options_from_line``
    jobs whose submission (SubmitLine) shows more.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

import numpy as np

from shadowtime.cluster.amounts import is_amount
from shadowtime.errors import ClusterError
from shadowtime.slurmtext import fields, sbatch, tres
from shadowtime.slurmtext.sacct_columns import Known, KnownRows
from shadowtime.slurmtext.sbatch import parse_line
from shadowtime.slurmtext.tres import resource_of
from shadowtime.types import UNKNOWN, Ints
from shadowtime.workload.raw import MAX_AMOUNT
from shadowtime.workload.request import Dependency, Gres, Request, Requests

if TYPE_CHECKING:
    from shadowtime.slurmtext.sacct_ids import Ids
    from shadowtime.slurmtext.sacct_texts import Texts

READ = ("reqtres", "alloctres", "reqcpus", "ncpus", "alloccpus", "nnodes", "allocnodes", "reqnodes",
        "reqmem", "constraints", "partition", "qos", "account", "reservation",
        "licenses")  # fmt: skip
AMOUNTS = ("procs", "requested_procs", "nodes", "memory", "gpus")
_NOTHING = dict.fromkeys(READ, "")
_BEYOND = MAX_AMOUNT + 1
_NONE = ("", "(null)", "None", "N/A")


@dataclass(frozen=True, eq=False)
class Asked:
    """What the columns of :data:`READ` say, for all rows in which they say the same."""

    row: Mapping[str, str]
    tres: Mapping[str, int]
    """The list of what was allocated, else of what was requested."""
    amounts: tuple[int, ...]
    """procs, requested_procs, nodes, memory and gpus, in the order of :data:`AMOUNTS`."""
    request: Request | None
    rules: tuple[str, ...]
    options: Mapping[str, str]
    """Those of its submission that may decide."""
    trouble: str = ""
    """Why there is no request: the row is bad, but other fields are looked at before."""


class SacctRequests:
    """The requests of the rows read so far; rows that say the same share one."""

    def __init__(self, place: Mapping[str, int]) -> None:
        self.read = [name for name in READ if name in place]
        self.known = KnownRows(self._row)
        self.said: list[tuple[dict[str, str], Mapping[str, int], tuple[int, ...]]] = []
        """What the columns ``read`` say, each once: texts, the TRES list and the amounts."""
        self.line = Known(self._line)
        self.options: dict[tuple[tuple[str, str], ...], int] = {}
        """The options of submissions that may decide, each set once."""
        self.option_sets: list[dict[str, str]] = []
        self.pairs: dict[int, int] = {}
        """Both together: the place in ``each``."""
        self.each: list[Asked] = []
        self.amounts = np.zeros((len(AMOUNTS), 0), np.int64)
        """The amounts of each, no larger than what is beyond all bounds."""
        self.trouble = np.zeros(0, bool)
        """Which of ``each`` are bad."""
        self.numbers: dict[Request, int] = {}
        self.number = np.zeros(0, np.int64)
        """The request of each known one, -1 as long as no row with it was taken in."""
        self.order: list[int] = []
        self.lists: dict[str, int] = {"": 0}
        self.hosts = Known(self._host_list)
        self.dependencies: list[Dependency] = []
        self.said_by_options = np.zeros((6, 0), np.int64)
        """For each known one what :func:`_of_options` tells."""
        self.rows = 0

    def find(self, spans: Sequence[Texts], get: Callable[[str], Texts], part: Ints) -> Ints:
        """The place in ``each`` of what every row says in the columns ``read``, which ``spans``
        are, neighbours as one, and in its SubmitLine; ``part`` is which one of a heterogeneous
        job it is."""

        def texts(rows: Ints) -> Iterable[tuple[str, ...]]:
            return zip(*(get(name)[rows] for name in self.read), strict=True)

        typed = get("submitline")
        lines = self.line.column(typed)
        for row in np.flatnonzero(part >= 0).tolist():
            lines[row] = self._line(typed[row], int(part[row]))
        pairs = (self.known.column(spans, texts) << 32) + lines
        different, first, where = np.unique(pairs, return_index=True, return_inverse=True)
        places = np.empty(len(different), np.int64)
        for at in np.argsort(first).tolist():  # as they turn up
            pair = int(different[at])
            if pair not in self.pairs:
                self.pairs[pair] = self._find(pair >> 32, pair & 0xFFFFFFFF)
            places[at] = self.pairs[pair]
        if len(self.number) < len(self.each):
            # What is beyond all bounds is only distinguished from what is not: the row is bad.
            new = [[min(amount, _BEYOND) for amount in one.amounts]
                   for one in self.each[len(self.number) :]]  # fmt: skip
            self.amounts = np.concatenate([self.amounts, np.array(new, np.int64).T], axis=1)
            more = np.full(len(new), UNKNOWN, np.int64)
            self.number = np.concatenate([self.number, more])
            self.trouble = np.array([bool(one.trouble) for one in self.each])
        return places[where]

    def _row(self, texts: tuple[str, ...]) -> int:
        row = {**_NOTHING, **dict(zip(self.read, texts, strict=True))}
        got, asked = tres.parse_tres(row["alloctres"]), tres.parse_tres(row["reqtres"])
        procs = got.get("cpu") or fields.parse_count(row["ncpus"] or row["alloccpus"], "NCPUS")
        wanted = asked.get("cpu") or fields.parse_count(row["reqcpus"], "ReqCPUS")
        nodes = fields.parse_count(row["nnodes"] or row["allocnodes"], "NNodes")
        memory = got.get("mem") or asked.get("mem") or UNKNOWN
        if memory < 0:
            memory = fields.parse_reqmem(row["reqmem"], max(procs, wanted), nodes)
        gpus = tres.gpus_of(got or asked) if got or asked else UNKNOWN
        self.said.append((row, got or asked, (procs, wanted, nodes, memory, gpus)))
        return len(self.said) - 1

    def _line(self, text: str, part: int = UNKNOWN) -> int:
        options = sbatch.deciding(parse_line(text, part))
        if options not in self.options:
            self.options[options] = len(self.options)
            self.option_sets.append(dict(options))
        return self.options[options]

    def _find(self, said: int, line: int) -> int:
        row, held, amounts = self.said[said]
        options = self.option_sets[line]
        try:
            request, rules = _request(row, options)
            self.each.append(Asked(row, held, amounts, request, rules, options))
        except ValueError as error:
            self.each.append(Asked(row, held, amounts, None, (), options, str(error)))
        return len(self.each) - 1

    def new(self, found: Ints) -> list[int]:
        """Those of ``found`` that no row taken in so far has, as they turn up; now one has."""
        fresh = found[self.number[found] < 0]
        if not len(fresh):
            return []
        places, first = np.unique(fresh, return_index=True)
        order: list[int] = places[np.argsort(first)].tolist()
        for at in order:
            request = self.each[at].request
            assert request is not None
            self.number[at] = self.numbers.setdefault(request, len(self.numbers))
        self.order += order
        return order

    def columns(self, table: Ints, found: Ints, ids: Ids, *, submit: Ints, left: Ints) -> None:
        """Write the rows of ``Requests.COLUMNS`` but priority; ``left`` is when a job left the
        queue without starting, else -1."""
        begin, cancelled, array, task, throttle, nice, _, least, requeue = table
        new = [_of_options(one.options) for one in self.each[self.said_by_options.shape[1] :]]
        if new:
            more = np.array(new, np.int64).T
            self.said_by_options = np.concatenate([self.said_by_options, more], axis=1)
        after, bound, nice[:], least[:], requeue[:], depends = self.said_by_options[:, found]
        begin[:] = np.where(after >= 0, submit + after, UNKNOWN)
        cancelled[:], array[:], task[:] = left, ids.array, ids.task
        throttle[:] = np.where(bound > 0, bound, ids.throttle)
        for row in np.flatnonzero(depends).tolist():
            options = self.each[found[row]].options
            self.dependencies += sbatch.dependencies(options, self.rows + row)
        self.rows += len(found)

    def requests(self, found: Ints, table: Ints, origin: int) -> Requests:
        """All of them on a clock that reads 0 at ``origin``."""
        columns = dict(zip(Requests.COLUMNS, table, strict=True))
        for name in ("begin", "cancel_at"):
            columns[name] = np.where(columns[name] >= 0, columns[name] - origin, UNKNOWN)
        times = np.bincount(found, minlength=len(self.each))
        inferred: Counter[str] = Counter()
        for at in self.order:
            for rule in self.each[at].rules:
                inferred[rule] += int(times[at])
        return Requests(
            distinct=tuple(self.numbers),
            index=self.number[found],
            dependencies=tuple(self.dependencies),
            inferred=dict(inferred),
            memory_said=np.array([_says_memory(one.options) for one in self.each], bool)[found],
            **columns,
        )

    def _host_list(self, text: str) -> int:
        hosts = text.strip()
        hosts = "" if hosts in (*_NONE, "None assigned") else hosts
        return self.lists.setdefault(hosts, len(self.lists))


def _of_options(options: Mapping[str, str]) -> tuple[int, ...]:
    """Seconds from submission to begin, throttle, nice, --time-min, requeue, has dependencies."""
    return (
        sbatch.begin_of(options, 0),
        sbatch.throttle_of(options),
        sbatch.nice_of(options),
        sbatch.least_time_of(options),
        int("no-requeue" not in options),
        int("dependency" in options),
    )


def _request(row: Mapping[str, str], options: Mapping[str, str]) -> tuple[Request, tuple[str, ...]]:
    """The request behind a row and its submission, and the rules that were needed for it."""
    asked, got = tres.parse_tres(row["reqtres"]), tres.parse_tres(row["alloctres"])
    # ReqCPUS is larger where MaxMemPerCPU gave a job more cpus for its memory.
    cpus = max(asked.get("cpu", 0), fields.parse_count(row["reqcpus"], "ReqCPUS"))
    given = got.get("cpu") or fields.parse_count(row["ncpus"] or row["alloccpus"], "NCPUS")
    nodes = asked.get("node") or fields.parse_count(row["reqnodes"], "ReqNodes")
    placed = got.get("node") or fields.parse_count(row["nnodes"], "NNodes")
    nodes = max(nodes if nodes > 0 else placed, 1)
    cpus = max(cpus if cpus > 0 else given, 1)
    rules: list[str] = []
    memory, per = _memory(row, asked, got, cpus=cpus, nodes=nodes, rules=rules)
    request = Request(
        nodes=nodes,
        tasks=cpus,
        memory=memory,
        memory_per=per,
        gres=_gres(asked, got, nodes=nodes, placed=placed, rules=rules),
        features=_plain(row["constraints"]),
        partitions=tuple(p for p in row["partition"].strip().split(",") if p),
        qos=_plain(row["qos"]),
        account=_plain(row["account"]),
        reservation=_plain(row["reservation"]),
        amounts=_licences(row["licenses"])
        or tuple((name, n) for name, n in asked.items() if is_amount(name)),
    )
    if options:
        submitted = sbatch.apply_options(options, request)
        if _says_memory(options):
            rules = [rule for rule in rules if not rule.startswith("memory_")]
        if submitted != request:
            rules.append("options_from_line")
        beyond = sbatch.not_modelled(options)
        request = replace(submitted, beyond=beyond) if beyond else submitted
    return request, tuple(rules)


def _says_memory(options: Mapping[str, str]) -> bool:
    return "mem" in options or "mem-per-cpu" in options


def _licences(text: str) -> tuple[tuple[str, int], ...]:
    try:
        return tuple(tres.parse_licences(text).items())
    except ClusterError:  # alternatives, a:1|b:2
        return ()


def _memory(
    row: Mapping[str, str],
    asked: Mapping[str, int],
    got: Mapping[str, int],
    *,
    cpus: int,
    nodes: int,
    rules: list[str],
) -> tuple[int | None, Literal["node", "cpu"]]:
    """KB per node or cpu; up to 21.07 ReqMem says which, later only the sum is known."""
    word = row["reqmem"].strip()
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
