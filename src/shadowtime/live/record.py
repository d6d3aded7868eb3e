"""Recorded passes: the snapshot, the memory and the decisions; and repeating the decisions."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any, TypeVar

from shadowtime import plain
from shadowtime.cluster import Cluster, Host
from shadowtime.engine.live_pass import Decided, Memory
from shadowtime.engine.live_pass.outcome import Shape
from shadowtime.errors import InputError
from shadowtime.live import record_site
from shadowtime.live.deciding import decide_with_hosts
from shadowtime.live.json_lines import JsonLines, read_lines
from shadowtime.live.port import (
    Continue,
    Decision,
    Ended,
    Place,
    Resize,
    RunningJob,
    Snapshot,
    Start,
    Stop,
    Suspend,
    WaitingJob,
)
from shadowtime.policy import Policy
from shadowtime.policy.snapshot import Sizes
from shadowtime.types import MAX_SPAN, Reason

SHAPES = ("pool", "hosts", "nodes", "site")
FILLED_IN = ("estimate", "fits", "expected_end", "serial", "columns")
"""Fields of a job that the pass or a log fills in: a recording contains what the port reported."""


class Recorder:
    """Appends every pass to a file of its owner, one JSON object per line.

    A recording that cannot be written is reported once, and the loop continues.
    Passes that are not recorded are counted in ``lost``; a line is written atomically.
    """

    def __init__(
        self,
        path: Path,
        *,
        policy: str,
        shape: str,
        tell: Callable[[str], None] = lambda line: None,
    ) -> None:
        self.path, self.policy, self.shape, self.tell = path, policy, shape, tell
        self.lost = 0
        self._lines = JsonLines(path, called="the recording", tell=tell)

    def __call__(
        self,
        state: Snapshot,
        memory: Memory,
        decided: Decided,
        decisions: tuple[Decision, ...],
        by: str = "",
    ) -> None:
        """Append a pass; ``by`` names the policy that decided, where it is not the loop's own."""
        line = {
            "policy": by or self.policy,
            "shape": self.shape,
            "state": state_to_json(state),
            "memory": memory.to_json(),
            "decisions": [decision_to_json(decision) for decision in decisions],
        }
        interrupted = bool(self._lines.trouble)
        if not self._lines.append([line]):
            self.lost += 1
        elif interrupted:
            self.tell(f"the recording {self.path} continues; {self.lost} passes are missing in it")


@dataclass(frozen=True)
class Pass:
    """A recorded pass."""

    policy: str
    shape: Shape
    state: Snapshot
    memory: Memory
    decisions: tuple[Decision, ...]

    def decide_again(self, policy: Policy) -> tuple[Decision, ...]:
        """What the engine decides on the same state with the same memory."""
        made = decide_with_hosts(policy, self.state, self.memory, shape=self.shape)
        return made.decisions


def read_passes(path: Path) -> Iterator[Pass]:
    """The passes of a recording, in order; InputError names an invalid line."""
    return read_lines(
        path,
        _pass,
        wrong="not a recorded pass",
        hint="Delete the line: the other passes do not depend on it.",
    )


def _pass(values: Mapping[str, Any]) -> Pass:
    shape = plain.entry(values, "shape")
    if shape not in SHAPES:
        raise InputError(f"shape must be one of {', '.join(SHAPES)}")
    state = state_from_json(plain.mapping(plain.entry(values, "state"), "state"))
    if shape == "site":
        record_site.refuse_incomplete(state)
    return Pass(
        policy=plain.text(plain.entry(values, "policy"), "policy"),
        shape=shape,
        state=state,
        memory=Memory.from_json(plain.mapping(plain.entry(values, "memory"), "memory")),
        decisions=tuple(
            decision_from_json(plain.mapping(one, "a decision"))
            for one in plain.items(plain.entry(values, "decisions"), "decisions")
        ),
    )


def state_to_json(state: Snapshot) -> dict[str, Any]:
    """A state as plain values."""
    values = {
        "now": state.now,
        "cluster": {
            "name": state.cluster.name,
            "resources": list(state.cluster.resources),
            "hosts": [[host.name, list(host.capacity)] for host in state.cluster.hosts],
            "options": dict(state.cluster.options),
        },
        "waiting": [job_to_json(job) for job in state.waiting],
        "running": [job_to_json(job) for job in state.running],
        "ended": [asdict(job) for job in state.ended],
    }
    if state.site is not None:
        values |= {"site": record_site.site_to_json(state.site), "shut": list(state.shut)}
    return values


def job_to_json(job: WaitingJob | RunningJob) -> dict[str, Any]:
    """A job as plain values; what it asks of a site only where there is one."""
    values = asdict(replace(job, ask=None))
    for name in ("ask", *FILLED_IN, *(() if any(job.sizes) else ("sizes",))):
        values.pop(name, None)
    if not values.get("suspended", True):
        del values["suspended"]
    return values if job.ask is None else {**values, "ask": record_site.ask_to_json(job.ask)}


def state_from_json(values: Mapping[str, Any]) -> Snapshot:
    """The state that :func:`state_to_json` wrote.

    Examples
    --------
    >>> import json
    >>> two = Cluster(shape="nodes", hosts=(Host("n1", (2,)), Host("n2", (2,))))
    >>> run = RunningJob(id="1", submit=0, need=(2,), request=9, start=3, place=(("n1", 2),))
    >>> state = Snapshot(now=5, cluster=two, running=(run,))
    >>> state_from_json(json.loads(json.dumps(state_to_json(state)))) == state
    True
    """
    machine = plain.mapping(plain.entry(values, "cluster"), "cluster")
    cluster = Cluster(
        shape="nodes",
        name=plain.text(plain.entry(machine, "name"), "the cluster's name"),
        resources=plain.texts(plain.entry(machine, "resources"), "resources"),
        hosts=tuple(
            Host(name, capacity)
            for name, capacity in plain.pairs(plain.entry(machine, "hosts"), "hosts", _amounts)
        ),
        options=_options(plain.mapping(plain.entry(machine, "options"), "options")),
    )
    names = [host.name for host in cluster.hosts]
    if len(set(names)) != len(names):
        raise InputError("a host is named twice")
    state = Snapshot(
        now=plain.whole(plain.entry(values, "now"), "now", low=0),
        cluster=cluster,
        waiting=_jobs(WaitingJob, values, "waiting", cluster),
        running=_jobs(RunningJob, values, "running", cluster),
        ended=_jobs(Ended, values, "ended", cluster),
        site=record_site.site_from_json(values["site"]) if "site" in values else None,
        shut=plain.texts(values.get("shut", []), "shut"),
    )
    jobs = [job.id for job in state.waiting] + [run.id for run in state.running]
    if len(set(jobs)) != len(jobs):
        raise InputError("a job is listed twice")
    return state


def _amounts(value: Any, name: str) -> tuple[int, ...]:
    return plain.wholes(value, name, low=0)


def _sizes(value: Any, name: str) -> Sizes:
    found = _amounts(value, name)
    if len(found) != 2 or not 1 <= found[0] <= found[1]:
        raise InputError(f"{name} must be the fewest and the most nodes of a job")
    return found[0], found[1]


def _options(values: dict[str, Any]) -> dict[str, Any]:
    """The machine's options: the resource by which jobs slow each other down."""
    contention = plain.mapping(values.get("contention", {}), "contention")
    plain.texts(contention.get("shared", []), "contention")
    return values


def _place(value: Any, name: str) -> Place:
    return plain.pairs(value, name, lambda count, of: plain.whole(count, of, low=0))


FIELDS: Mapping[str, Callable[[Any, str], Any]] = {
    "id": plain.text,
    "user": plain.text,
    "tag": plain.text,
    "submit": lambda value, name: plain.whole(value, name, low=-1),
    "start": lambda value, name: plain.whole(value, name, low=-1),
    "end": lambda value, name: plain.whole(value, name, low=-1),
    "request": lambda value, name: plain.whole(value, name, low=0, high=MAX_SPAN),
    "need": _amounts,
    "nodes": lambda value, name: plain.whole(value, name, low=0, high=MAX_SPAN),
    "chunk": lambda value, name: plain.whole(value, name, low=1, high=MAX_SPAN),
    "only": plain.texts,
    "each": _amounts,
    "place": _place,
    "held": lambda value, name: plain.pairs(value, name, _amounts),
    "alone": plain.flag,
    "ours": plain.flag,
    "settled": plain.flag,
    "suspended": plain.flag,
    "bandwidth": plain.number,
    "sizes": _sizes,
    "ask": record_site.ask_from_json,
}
"""What every field of a job must be."""

Job = TypeVar("Job", WaitingJob, RunningJob, Ended)


def _jobs(
    kind: type[Job], values: Mapping[str, Any], name: str, cluster: Cluster
) -> tuple[Job, ...]:
    return tuple(
        _job(kind, plain.mapping(one, "a job"), cluster)
        for one in plain.items(plain.entry(values, name), name)
    )


def _job(kind: type[Job], values: Mapping[str, Any], cluster: Cluster) -> Job:
    """A job whose every field is what it must be, and whose amounts are the cluster's resources."""
    named = [slot.name for slot in fields(kind) if slot.name not in FILLED_IN]
    plain.known(values, named, "a job")
    given = {name: FIELDS[name](value, name) for name, value in values.items()}
    try:
        job: Job = kind(**given)
    except TypeError as error:
        raise InputError(f"a job is incomplete ({error})") from None
    width = len(cluster.resources)
    amounts = [*_needs(job), *_each(job), *(held for _, held in getattr(job, "held", ()))]
    if any(len(amount) != width for amount in amounts):
        raise InputError(f"job {job.id} must give an amount for each of {width} resources")
    if any(need[0] < 1 for need in _needs(job)):
        raise InputError(f"job {job.id} needs at least one processor")
    return job


def _needs(job: WaitingJob | RunningJob | Ended) -> list[tuple[int, ...]]:
    return [] if isinstance(job, Ended) else [job.need]


def _each(job: WaitingJob | RunningJob | Ended) -> list[tuple[int, ...]]:
    return [job.each] if isinstance(job, WaitingJob) and job.each else []


def decision_to_json(decision: Decision) -> dict[str, Any]:
    """A decision as plain values; the job is under the kind."""
    values: dict[str, Any] = {decision.kind: decision.job}
    if isinstance(decision, Start | Resize | Continue):
        values["place"] = [list(part) for part in decision.place]
    if isinstance(decision, Start | Resize) and decision.procs:
        values["procs"] = decision.procs
    if isinstance(decision, Start):
        values["reason"] = decision.reason.label
        values |= {name: getattr(decision, name) for name in ("limit", "alone", "bandwidth")}
        if decision.held:
            held = [[host, list(amounts)] for host, amounts in decision.held]
            values |= {"partition": decision.partition, "held": held}
    return values


def decision_from_json(values: Mapping[str, Any]) -> Decision:
    """The decision that :func:`decision_to_json` wrote."""
    for made in (Stop, Suspend):
        if made.kind in values:
            return made(job=plain.text(values[made.kind], made.kind))
    kind = next((one.kind for one in (Continue, Resize) if one.kind in values), Start.kind)
    job = plain.text(plain.entry(values, kind), kind)
    place = _place(plain.entry(values, "place"), "place")
    if kind == Continue.kind:
        return Continue(job=job, place=place)
    if kind == Resize.kind:
        procs = plain.whole(plain.entry(values, "procs"), "procs", low=1)
        return Resize(job=job, procs=procs, place=place)
    reason = plain.text(plain.entry(values, "reason"), "reason").upper()
    if reason not in Reason.__members__:
        raise InputError(f"a start has no reason {reason[:40]!r}")
    return Start(
        job=job,
        place=place,
        reason=Reason[reason],
        procs=plain.whole(values.get("procs", 0), "procs", low=0),
        limit=plain.whole(plain.entry(values, "limit"), "limit"),
        alone=plain.flag(values.get("alone", False), "alone"),
        bandwidth=plain.whole(values.get("bandwidth", 0), "bandwidth"),
        partition=plain.text(values.get("partition", ""), "partition"),
        held=plain.pairs(values.get("held", []), "held", _amounts),
    )
