"""A user's own policy in a separate process, which may take too long, fail or die."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from itertools import chain
from typing import TYPE_CHECKING, Any

from shadowtime.child_process import PYTHON, Child, ChildEnded, Tasks, packed
from shadowtime.engine.live_pass import Memory, Snapshot, WaitingJob
from shadowtime.engine.live_pass.outcome import Shape
from shadowtime.errors import PolicyError, ShadowtimeError
from shadowtime.live.deciding import Made, decide_with_hosts
from shadowtime.policy import Policy, parse_policy
from shadowtime.policy.snapshot import Start
from shadowtime.workload.request import Request

if TYPE_CHECKING:
    from shadowtime.live.clock import Clock

TO_COME_UP = 600.0
"""Seconds that a process may take to load the policy and to compile it."""
SERVE = (*PYTHON, "from shadowtime.live.worker import serve; serve()")


class Overrun(PolicyError):
    """A pass took longer than allowed."""


class Loading(PolicyError):
    """The policy is being loaded and compiled."""


class Worker:
    """Decides in a process that is started when it is first needed, and restarted after it has
    ended.

    Rules
    -----
    The policy is given as ``file.py:name``, so that the process loads it itself. Its attributes
    last as long as the process. An answer that does not come within ``limit`` seconds ends the
    process. Loading and compiling may take minutes (:data:`TO_COME_UP` at most): the pass that
    begins them waits for ``patience`` seconds, further ones not at all, and Loading is raised until
    the policy is ``loaded``.
    """

    def __init__(self, policy: str, *, shape: Shape, clock: Clock) -> None:
        self.policy, self.shape, self.clock = policy, shape, clock
        self._child: Child | None = None
        self._loads_since: float | None = None

    def decide(
        self,
        state: Snapshot,
        memory: Memory,
        refused: Mapping[str, str],
        *,
        limit: float,
        patience: float = TO_COME_UP,
    ) -> Made:
        """One pass; PolicyError if there is no answer, Overrun if it takes too long."""
        child = self._child
        if child is None or not (child.alive or self._loads_since is not None):
            self.end()
            # Compiled on a discarded pass, so that the limit applies only to deciding.
            load = ("load", state, memory, dict(refused))
            task = packed((self.policy, self.shape, sys.path, load))
            self._child = child = Child(SERVE, task, keep_errors=False)
            self._loads_since = self.clock.steady()
            self._loaded(child, patience)
        elif self._loads_since is not None:
            self._loaded(child, 0.0)
        child.send(packed(("decide", state, memory, dict(refused))))
        if not child.answered(limit):
            self.end()
            raise Overrun(f"no answer within {limit:g} s")
        made: Made = self._receive(child)
        return made

    @property
    def loaded(self) -> bool:
        """Whether there is news of the policy that was being loaded: it is ready, or has failed."""
        if self._child is None or self._loads_since is None:
            return False
        return self._child.answered(0.0)

    def _loaded(self, child: Child, patience: float) -> None:
        """Return once the policy has been loaded; Loading if that takes longer."""
        assert self._loads_since is not None
        if not child.answered(patience):
            if self.clock.steady() - self._loads_since < TO_COME_UP:
                raise Loading("it is being loaded and compiled")
            self.end()
            raise Overrun(f"not loaded and compiled within {TO_COME_UP:g} s")
        self._loads_since = None
        self._receive(child)

    def end(self) -> None:
        """End the process, whatever it is doing."""
        self._loads_since = None
        child, self._child = self._child, None
        if child is not None:
            child.end()

    def _receive(self, child: Child) -> Any:
        try:
            good, answer = child.receive()
        except ChildEnded:
            code = child.process.returncode
            self.end()
            raise PolicyError(f"its process ended ({code})") from None
        if not good:
            raise PolicyError(str(answer))
        return answer


def serve() -> None:
    """What the process does: load the policy, and answer until there are no more tasks."""
    tasks = Tasks()
    given = iter(tasks)
    text, shape, path, load = next(given)
    sys.path[:] = path  # the policy may import what lies beside it

    policy: Any = None
    for what, state, memory, refused in chain((load,), given):
        try:
            if policy is None:
                policy = parse_policy(text)
            made = None
            if what == "decide" or isinstance(policy, Policy):
                made = decide_with_hosts(policy, state, memory, shape=shape, refused=refused)
            else:  # an object may count its passes: another one is used for compiling
                warm_up(state, shape)
            tasks.answer((True, made if what == "decide" else None))
        except ShadowtimeError as error:
            tasks.answer((False, str(error)))
        except Exception as error:
            tasks.answer((False, f"{type(error).__name__}: {error}"))


class Eager:
    """Starts whatever fits."""

    def decide(self, snapshot: Snapshot) -> list[Start]:
        return [Start(job=job.id, optional=True) for job in snapshot.waiting]


def warm_up(state: Snapshot, shape: Shape) -> None:
    """Compile what a policy written in Python needs: one small job starts on the empty machine."""

    need = (1, *(0 for _ in state.cluster.resources[1:]))
    job = WaitingJob(id="1", submit=state.now, need=need, request=60, ask=Request())
    empty = state.replace(waiting=(job,), running=(), ended=())
    eager: Any = Eager()
    decide_with_hosts(eager, empty, Memory(), shape=shape)
