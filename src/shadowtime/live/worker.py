"""A policy of the user's own in a process of its own, which may take too long, fail or die."""

from __future__ import annotations

import contextlib
import multiprocessing
import signal
import sys
from typing import TYPE_CHECKING, Any

from shadowtime.errors import PolicyError, ShadowtimeError
from shadowtime.policy.snapshot import Start

if TYPE_CHECKING:
    from collections.abc import Mapping
    from multiprocessing.connection import Connection
    from multiprocessing.process import BaseProcess

    from shadowtime.engine.live_pass import Memory, Snapshot
    from shadowtime.engine.live_pass.decide import Shape
    from shadowtime.live.clock import Clock
    from shadowtime.live.deciding import Made

TO_COME_UP = 600.0
"""Seconds that a process may take to load the policy and to compile it."""


class Overrun(PolicyError):
    """A pass took longer than it may."""


class Loading(PolicyError):
    """The policy is being loaded and compiled."""


class Worker:
    """Decides in a process that is started when it is first needed, and again after it was ended.

    Rules
    -----
    The policy is given as its user writes it, ``file.py:name``, so that the process loads it by
    itself. What it keeps in its own attributes stays as long as the process. An answer that does
    not come within ``limit`` seconds ends the process. Loading and compiling may take minutes
    (:data:`TO_COME_UP` at most): the pass that begins them waits for ``patience`` seconds, further
    ones not at all, and Loading is raised until the policy is ``loaded``.
    """

    def __init__(self, policy: str, *, shape: Shape, clock: Clock) -> None:
        self.policy, self.shape, self.clock = policy, shape, clock
        self._process: BaseProcess | None = None
        self._pipe: Connection | None = None
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
        """One pass; PolicyError where there is no answer, Overrun where it takes too long."""
        if self._process is None or not (self._process.is_alive() or self._loads_since is not None):
            self._start()
            self._loads_since = self.clock.steady()
            # Compiled on a pass that is thrown away, so that the limit is for deciding alone.
            self._send(("load", state, memory, dict(refused)))
            self._loaded(patience)
        elif self._loads_since is not None:
            self._loaded(0.0)
        self._send(("decide", state, memory, dict(refused)))
        if not self._answered(limit):
            self.end()
            raise Overrun(f"no answer within {limit:g} s")
        made: Made = self._receive()
        return made

    @property
    def loaded(self) -> bool:
        """Whether there is news of the policy that was being loaded: it is ready, or has failed."""
        return self._loads_since is not None and self._answered(0.0)

    def _loaded(self, patience: float) -> None:
        """Return once the policy has been loaded; Loading where that takes longer."""
        assert self._loads_since is not None
        if not self._answered(patience):
            if self.clock.steady() - self._loads_since < TO_COME_UP:
                raise Loading("it is being loaded and compiled")
            self.end()
            raise Overrun(f"not loaded and compiled within {TO_COME_UP:g} s")
        self._loads_since = None
        self._receive()

    def end(self) -> None:
        """End the process, whatever it is doing."""
        self._loads_since = None
        process, self._process = self._process, None
        if self._pipe is not None:
            self._pipe.close()
            self._pipe = None
        if process is not None:
            process.kill()
            process.join(timeout=10)

    def _start(self) -> None:
        self.end()
        context = multiprocessing.get_context("spawn")
        self._pipe, there = context.Pipe()
        self._process = context.Process(
            target=serve, args=(there, self.policy, self.shape), daemon=True
        )
        self._process.start()
        there.close()

    def _send(self, what: tuple[Any, ...]) -> None:
        assert self._pipe is not None
        try:
            self._pipe.send(what)
        except OSError as error:
            raise self._ended(error) from None

    def _answered(self, seconds: float) -> bool:
        """Whether there is an answer, or the end of the process, within some seconds."""
        assert self._pipe is not None
        try:
            return self._pipe.poll(seconds)
        except OSError:
            return True

    def _receive(self) -> Any:
        assert self._pipe is not None
        try:
            good, answer = self._pipe.recv()
        except (EOFError, OSError) as error:
            raise self._ended(error) from None
        if not good:
            raise PolicyError(str(answer))
        return answer

    def _ended(self, error: BaseException) -> PolicyError:
        code = self._process.exitcode if self._process is not None else None
        self.end()
        return PolicyError(f"its process ended ({code if code is not None else error})")


def serve(pipe: Connection, text: str, shape: Shape) -> None:
    """What the process does: load the policy, and answer until the pipe is closed."""
    die_with_parent()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the loop ends this process
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    from shadowtime.live.deciding import decide_with_hosts
    from shadowtime.policy import Policy, parse_policy

    policy: Any = None
    while True:
        try:
            what, state, memory, refused = pipe.recv()
        except (EOFError, OSError):
            return
        try:
            if policy is None:
                policy = parse_policy(text)
            made = None
            if what == "decide" or isinstance(policy, Policy):
                made = decide_with_hosts(policy, state, memory, shape=shape, refused=refused)
            else:  # an object may count its passes: another one has its way compiled
                warm_up(state, shape)
            pipe.send((True, made if what == "decide" else None))
        except ShadowtimeError as error:
            pipe.send((False, str(error)))
        except Exception as error:
            pipe.send((False, f"{type(error).__name__}: {error}"))


class Eager:
    """Starts whatever fits."""

    def decide(self, snapshot: Snapshot) -> list[Start]:
        return [Start(job=job.id, optional=True) for job in snapshot.waiting]


def warm_up(state: Snapshot, shape: Shape) -> None:
    """Compile what a policy written in Python needs: one small job starts on the empty machine."""
    from shadowtime.engine.live_pass import Memory, WaitingJob
    from shadowtime.live.deciding import decide_with_hosts
    from shadowtime.workload.request import Request

    need = (1, *(0 for _ in state.cluster.resources[1:]))
    job = WaitingJob(id="1", submit=state.now, need=need, request=60, ask=Request())
    empty = state.replace(waiting=(job,), running=(), ended=())
    eager: Any = Eager()
    decide_with_hosts(eager, empty, Memory(), shape=shape)


def die_with_parent() -> None:
    """Ask Linux to end this process with the one that started it, even while it spins."""
    if sys.platform != "linux":
        return
    import ctypes

    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None, use_errno=True).prctl(1, signal.SIGKILL)
