"""Recorded passes: what was seen, what was remembered, what was decided; and deciding it again."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from shadowtime.cluster import Cluster, Host
from shadowtime.engine.once import Memory, decide
from shadowtime.errors import InputError
from shadowtime.live.placing import placed
from shadowtime.live.port import Ended, Running, Start, State, Stop, Waiting
from shadowtime.types import Reason

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from shadowtime.engine.once import Decided
    from shadowtime.engine.once.decide import Shape
    from shadowtime.live.port import Decision
    from shadowtime.policy import Policy


class Recorder:
    """Appends every pass to a file, a JSON object a line."""

    def __init__(self, path: Path, *, policy: str, shape: str) -> None:
        self.path, self.policy, self.shape = path, policy, shape

    def __call__(
        self, state: State, memory: Memory, decided: Decided, decisions: tuple[Decision, ...]
    ) -> None:
        line = {
            "policy": self.policy,
            "shape": self.shape,
            "state": state_to_json(state),
            "memory": memory.to_json(),
            "decisions": [decision_to_json(decision) for decision in decisions],
        }
        with self.path.open("a") as file:
            file.write(json.dumps(line, separators=(",", ":")) + "\n")


@dataclass(frozen=True)
class Pass:
    """A recorded pass."""

    policy: str
    shape: Shape
    state: State
    memory: Memory
    decisions: tuple[Decision, ...]

    def decide_again(self, policy: Policy) -> tuple[Decision, ...]:
        """What the engine decides on the same state with the same memory."""
        made = decide(policy, self.state, self.memory, shape=self.shape)
        return tuple(placed(made.decisions, self.state))


def read_passes(path: Path) -> Iterator[Pass]:
    """The passes of a recording, in order."""
    with path.open(encoding="utf-8", errors="replace") as file:
        for number, line in enumerate(file, 1):
            try:
                values = json.loads(line)
                yield Pass(
                    policy=values["policy"],
                    shape=values["shape"],
                    state=state_from_json(values["state"]),
                    memory=Memory.from_json(values["memory"]),
                    decisions=tuple(decision_from_json(d) for d in values["decisions"]),
                )
            except (ValueError, KeyError, TypeError) as error:
                raise InputError(
                    f"no recorded pass ({error!r})", path=str(path), line=number
                ) from None


def state_to_json(state: State) -> dict[str, Any]:
    """A state as plain values."""
    return {
        "now": state.now,
        "cluster": {
            "name": state.cluster.name,
            "resources": list(state.cluster.resources),
            "hosts": [[host.name, list(host.capacity)] for host in state.cluster.hosts],
            "options": dict(state.cluster.options),
        },
        "waiting": [asdict(job) for job in state.waiting],
        "running": [asdict(job) for job in state.running],
        "ended": [asdict(job) for job in state.ended],
    }


def state_from_json(values: Mapping[str, Any]) -> State:
    """The state that :func:`state_to_json` wrote.

    Examples
    --------
    >>> two = Cluster(shape="nodes", hosts=(Host("n1", (2,)), Host("n2", (2,))))
    >>> run = Running(id="1", submit=0, need=(2,), request=9, start=3, place=(("n1", 2),))
    >>> state = State(now=5, cluster=two, running=(run,))
    >>> state_from_json(json.loads(json.dumps(state_to_json(state)))) == state
    True
    """
    machine = values["cluster"]
    return State(
        now=values["now"],
        cluster=Cluster(
            shape="nodes",
            name=machine["name"],
            resources=tuple(machine["resources"]),
            hosts=tuple(Host(name, tuple(capacity)) for name, capacity in machine["hosts"]),
            options=machine["options"],
        ),
        waiting=tuple(Waiting(**_tuples(job)) for job in values["waiting"]),
        running=tuple(Running(**_tuples(job)) for job in values["running"]),
        ended=tuple(Ended(**job) for job in values["ended"]),
    )


def _tuples(job: Mapping[str, Any]) -> dict[str, Any]:
    return {key: _tuple(value) for key, value in job.items()}


def _tuple(value: Any) -> Any:
    return tuple(_tuple(entry) for entry in value) if isinstance(value, list) else value


def decision_to_json(decision: Decision) -> dict[str, Any]:
    """A decision as plain values."""
    if isinstance(decision, Start):
        return {
            "start": decision.job,
            "place": [list(part) for part in decision.place],
            "reason": decision.reason.label,
            "limit": decision.limit,
            "alone": decision.alone,
            "bandwidth": decision.bandwidth,
        }
    return {"stop": decision.job}


def decision_from_json(values: Mapping[str, Any]) -> Decision:
    """The decision that :func:`decision_to_json` wrote."""
    if "stop" in values:
        return Stop(job=values["stop"])
    return Start(
        job=values["start"],
        place=_tuple(values["place"]),
        reason=Reason[values["reason"].upper()],
        limit=values["limit"],
        alone=values.get("alone", False),
        bandwidth=values.get("bandwidth", 0),
    )
