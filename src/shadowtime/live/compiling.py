"""A loop never waits for the compiler: passes run uncompiled until they are compiled."""

from __future__ import annotations

import gc
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from multiprocessing.connection import wait
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from shadowtime.child_process import PYTHON, Child, ChildEnded, Tasks, packed
from shadowtime.engine.live_pass import Memory, Snapshot
from shadowtime.engine.live_pass.outcome import Shape
from shadowtime.engine.uncompiled import LOOPS_BY_NUMPY
from shadowtime.errors import ShadowtimeError
from shadowtime.kernel.notice import before_first_compile
from shadowtime.live.deciding import Made, decide_with_hosts
from shadowtime.live.log import LogLine
from shadowtime.policy import Policy
from shadowtime.policy.snapshot import name_of

if TYPE_CHECKING:
    from shadowtime.live.clock import Clock
    from shadowtime.live.signals import Undisturbed

AGAIN = 600.0
"""Seconds after which a failed compilation is retried."""
WITHOUT_EFFECT = 2
"""Number of compilations without a result in the cache before that counts as a failure."""
BEAT = 1.0
"""Seconds between two heartbeats of a loop that waits for an uncompiled pass."""
COMPILE = (*PYTHON, "from shadowtime.live.compiling import compile_task; compile_task()")
UNCOMPILED = (
    *PYTHON,
    f"{LOOPS_BY_NUMPY} from shadowtime.live.compiling import serve; serve()",
)


class NotCompiled(BaseException):
    """A pass would have to be compiled first; not an Exception, so that no handler retries it."""


@dataclass(kw_only=True)
class Passes:
    """Runs the passes of a policy in this process, and compiles them there."""

    policy: Policy | Any
    shape: Shape

    def decide(
        self,
        state: Snapshot,
        memory: Memory,
        refused: Mapping[str, str],
        *,
        attention: Undisturbed,
    ) -> Made:
        """One pass on a snapshot."""
        with attention.computing():
            return self.here(state, memory, refused)

    def here(self, state: Snapshot, memory: Memory, refused: Mapping[str, str]) -> Made:
        """The same, undisturbed by signals that the caller handles."""
        return decide_with_hosts(self.policy, state, memory, shape=self.shape, refused=refused)

    def end(self) -> None:
        """End the processes that were started."""


@dataclass(kw_only=True)
class PassesAtOnce(Passes):
    """The same for a policy of the catalogue, without waiting for the compiler.

    Rules
    -----
    A pass whose compiled code is neither in the library nor in the cache runs uncompiled, which
    gives the same decisions (``engine.uncompiled``), in a separate process. Meanwhile another
    process at the lowest priority compiles what this pass needs into the cache. With many waiting
    jobs an uncompiled pass may take longer than the compiler: whichever is done first decides. From
    the next pass on compiled code is used. Both are reported in one line.

    A failed compilation is reported and retried after ten minutes. If the uncompiled process fails,
    the pass waits for the compiler. Both processes end with the loop.
    """

    clock: Clock
    tell: Callable[[str], None] = lambda line: None
    beat: Callable[[str], None] = lambda waiting_for: None
    """Called every second while a pass is waited for."""
    compiler: Sequence[str] = COMPILE
    uncompiled: Sequence[str] = UNCOMPILED
    _compiler: Child | None = field(default=None, init=False)
    _uncompiled: Child | None = field(default=None, init=False)
    _since: float | None = field(default=None, init=False)
    """When passes began to run uncompiled."""
    _rests_until: float = field(default=float("-inf"), init=False)
    _without_effect: int = field(default=0, init=False)

    def decide(
        self,
        state: Snapshot,
        memory: Memory,
        refused: Mapping[str, str],
        *,
        attention: Undisturbed,
    ) -> Made:
        """One pass on a snapshot, by whichever process finishes first."""
        seen = (state, memory, dict(refused))
        self._look_after_compiler()
        made = self._compiled(seen, attention)
        if made is not None:
            return made
        task = packed((self.policy, self.shape, *seen))
        self._compile(task)
        made = self._made_elsewhere(task, seen, attention)
        if made is None:  # neither worked: as a last resort, wait
            self.tell(f"compiling {name_of(self.policy)} in the loop itself, which waits for it")
            made = super().decide(*seen, attention=attention)
        return made

    def end(self) -> None:
        """End both processes, whatever they are doing."""
        for child in (self._compiler, self._uncompiled):
            if child is not None:
                child.end()
        self._compiler = self._uncompiled = None

    def _compiled(
        self, seen: tuple[Snapshot, Memory, dict[str, str]], attention: Undisturbed
    ) -> Made | None:
        """The pass by compiled code; None if there is none."""
        try:
            with attention.computing(), before_first_compile(_refuse):
                made = self.here(*seen)
        except NotCompiled:
            return None
        if self._since is not None:
            took = self.clock.steady() - self._since
            line = (
                f"{name_of(self.policy)} is compiled, after {took:.0f} s: compiled passes are "
                "used from now on"
            )
            self.tell(LogLine(line, event="compiled"))
            self._since, self._without_effect = None, 0
        self.end()
        return made

    def _compile(self, task: bytes) -> None:
        """Compile what a pass needs, unless that is under way or failed recently."""
        if self._since is None:
            self._since = self.clock.steady()
            line = (
                f"{name_of(self.policy)} is not compiled for this machine yet: its passes run "
                "uncompiled, slower but with the same decisions, while another process compiles"
            )
            self.tell(LogLine(line, event="compiling"))
        if self._compiler is None and self.clock.steady() >= self._rests_until:
            try:
                self._compiler = Child(self.compiler, task)
            except OSError as error:  # no process, no room for the task
                self._failed(str(error))

    def _look_after_compiler(self) -> None:
        """Note and report how compiling ended, if it has."""
        if self._compiler is None or (code := self._compiler.process.poll()) is None:
            return
        why = self._compiler.last_line() or f"exit code {code}"
        self._compiler.end()
        self._compiler = None
        self._without_effect += 1
        if code == 0:
            if self._without_effect < WITHOUT_EFFECT:
                return
            why = "its code is not in the cache; set SHADOWTIME_CACHE to a writable folder"
        self._failed(why)

    def _failed(self, why: str) -> None:
        """Report that compilation failed, and pause."""
        self._rests_until, self._without_effect = self.clock.steady() + AGAIN, 0
        line = (
            f"compiling {name_of(self.policy)} failed, its passes stay uncompiled, next attempt in "
            f"{AGAIN / 60:g} minutes: {why}"
        )
        self.tell(LogLine(line, event="compiling_failed", why=why))

    def _made_elsewhere(
        self,
        task: bytes,
        seen: tuple[Snapshot, Memory, dict[str, str]],
        attention: Undisturbed,
    ) -> Made | None:
        """The pass by the uncompiled process, or here once it is compiled; None if neither."""
        self._ask_uncompiled(task)
        while self._uncompiled is not None or self._compiler is not None:
            children = [one for one in (self._uncompiled, self._compiler) if one is not None]
            ready = wait([one.pipe for one in children], BEAT)
            if not ready:
                self.beat("an uncompiled pass")
            elif self._uncompiled is not None and self._uncompiled.pipe in ready:
                try:
                    made, refusal = self._uncompiled.receive()
                except ChildEnded as ended:
                    self._give_up_uncompiled(str(ended))
                    continue
                if refusal is not None:
                    raise refusal
                found: Made = made
                return found
            else:
                assert self._compiler is not None
                self._compiler.process.wait()
                self._look_after_compiler()
                if (compiled := self._compiled(seen, attention)) is not None:
                    return compiled
        return None

    def _ask_uncompiled(self, task: bytes) -> None:
        """Hand a pass to the uncompiled process, which is started if there is none."""
        if self._uncompiled is not None and self._uncompiled.alive:
            self._uncompiled.send(task)
            return
        if self._uncompiled is not None:
            self._uncompiled.end()
            self._uncompiled = None
        try:
            self._uncompiled = Child(self.uncompiled, task, env={"NUMBA_DISABLE_JIT": "1"})
        except OSError as error:
            self._give_up_uncompiled(str(error))

    def _give_up_uncompiled(self, why: str) -> None:
        line = f"the uncompiled pass of {name_of(self.policy)} failed: {why}"
        self.tell(LogLine(line, event="uncompiled_failed", why=why))
        if self._uncompiled is not None:
            self._uncompiled.end()
            self._uncompiled = None


def _refuse() -> NoReturn:
    raise NotCompiled


def compile_task() -> None:
    """The process that compiles: makes the pass of the task, which leaves its code in the cache.

    At the lowest priority: jobs are more urgent. The collector of reference cycles is off
    as in ``engine.warm``.
    """
    os.nice(19)
    policy, shape, state, memory, refused = next(iter(Tasks()))
    gc.disable()
    decide_with_hosts(policy, state, memory, shape=shape, refused=refused)


def serve() -> None:
    """The process that decides uncompiled: answers what was made, and the error if it was refused.

    A sum that leaves a small type is an error here, as in ``engine.uncompiled``.
    """
    tasks = Tasks()
    for policy, shape, state, memory, refused in tasks:
        made, refusal = None, None
        try:
            with np.errstate(over="raise"):
                made = decide_with_hosts(policy, state, memory, shape=shape, refused=refused)
        except ShadowtimeError as error:
            refusal = error
        tasks.answer((made, refusal))
