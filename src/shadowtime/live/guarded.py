"""Users' own policies under a time limit, with a fallback policy for passes in which they fail."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from shadowtime.engine.live_pass import Memory, Snapshot
from shadowtime.engine.live_pass.outcome import Shape
from shadowtime.errors import PolicyError
from shadowtime.live.compiling import Passes
from shadowtime.live.deciding import Made
from shadowtime.live.log import LogLine
from shadowtime.live.worker import TO_COME_UP, Loading, Overrun, Worker
from shadowtime.policy.files import with_files
from shadowtime.policy.policy import Policy
from shadowtime.policy.written import Written

if TYPE_CHECKING:
    from shadowtime.live.clock import Clock
    from shadowtime.live.signals import Undisturbed

LIMIT = 5.0
"""Seconds that a pass of a user's policy may take unless given."""
REST = 10.0
"""After a pass that took too long, the policy is suspended for this multiple of the limit."""
RESTS = "it rests"
LOADS = "it is being loaded"


def is_own(policy: Any) -> bool:
    """Whether a policy is the user's own code: an object with ``decide``, or with the user's parts.

    Examples
    --------
    >>> from shadowtime.policy import parse_policy
    >>> is_own(parse_policy("easy"))
    False
    """
    if not isinstance(policy, Policy):
        return True
    return any(isinstance(part, Written) for part in policy.parts.values())


def whole_path(text: str) -> str:
    """``file.py:name`` with the whole path of the file, for other processes and other folders.

    Examples
    --------
    >>> whole_path("/home/ann/mine.py:mine(weight=2)"), whole_path("easy(order=/home/o.py:f)")
    ('/home/ann/mine.py:mine(weight=2)', 'easy(order=/home/o.py:f)')
    """
    return with_files(text, os.path.abspath)


@dataclass(frozen=True, kw_only=True)
class OwnCode:
    """How a policy of the user's own is run: as it was written, its fallback, its time limit.

    The first pass waits ``patience`` seconds for it to be loaded (default: the time limit of a
    pass); then the fallback decides until it is.
    """

    text: str
    fallback: Policy
    limit: float = LIMIT
    patience: float | None = None


def guard_for(
    policy: Any,
    own: OwnCode | None,
    *,
    shape: Shape,
    clock: Clock,
    tell: Callable[[str], None] = lambda line: None,
    passes: Passes | None = None,
) -> Guarded | None:
    """What guards a policy; None for one that is not the user's code."""
    if own is None or not is_own(policy):
        return None
    return Guarded(
        policy=own.text,
        fallback=own.fallback,
        shape=shape,
        clock=clock,
        limit=own.limit,
        patience=own.limit if own.patience is None else own.patience,
        tell=tell,
        passes=passes,
    )


@dataclass(kw_only=True)
class Guarded:
    """Decides with a user's policy in a separate process, or else with the ``fallback``.

    Rules
    -----
    A pass that raises an error, makes an impossible decision, takes longer than ``limit`` seconds
    or ends its process is reported in one line and counted, and the fallback decides that pass on
    the same snapshot. After one that took too long, the policy is suspended for ten times the
    limit, so that no more than a tenth of the time is lost to it; the fallback decides meanwhile.
    It also decides while the policy is being loaded and compiled, except that the pass that begins
    this waits for ``patience`` seconds. Once the policy is ready, a pass is due.
    """

    policy: str
    """As its user writes it, with the whole path: ``/home/ann/mine.py:mine``."""
    fallback: Policy
    shape: Shape
    clock: Clock
    limit: float = LIMIT
    patience: float = LIMIT
    tell: Callable[[str], None] = lambda line: None
    worker: Any = None
    passes: Passes | None = None
    """Runs the fallback's passes; by default here and at once."""
    failed: int = 0
    """Passes in which the policy failed."""
    _rests_until: float = field(default=float("-inf"))
    _loads: bool = False

    def __post_init__(self) -> None:
        self.worker = self.worker or Worker(self.policy, shape=self.shape, clock=self.clock)

    @property
    def due(self) -> bool:
        """Whether a policy that was being loaded can decide now."""
        return self._loads and bool(self.worker.loaded)

    def decide(
        self,
        state: Snapshot,
        memory: Memory,
        refused: Mapping[str, str],
        *,
        attention: Undisturbed,
    ) -> tuple[Made, bool]:
        """What is decided on a snapshot, and whether the fallback decided it."""
        made, why = self._ask(state, memory, refused)
        if made is not None:
            return made, False
        self.failed += 1
        if why not in (RESTS, LOADS):
            line = f"{self.policy} failed in a pass, {self.fallback.name} decided it: {why}"
            self.tell(LogLine(line, event="fallback", why=why))
        passes = self.passes or Passes(policy=self.fallback, shape=self.shape)
        return passes.decide(state, memory, refused, attention=attention), True

    def _ask(
        self, state: Snapshot, memory: Memory, refused: Mapping[str, str]
    ) -> tuple[Made | None, str]:
        """What the policy decides, or why it does not."""
        if self.clock.steady() < self._rests_until:
            return None, RESTS
        loads, self._loads = self._loads, False
        try:
            made = self.worker.decide(
                state, memory, refused, limit=self.limit, patience=self.patience
            )
            if loads:
                self.tell(LogLine(f"{self.policy} is loaded and decides", event="loaded"))
            return made, ""
        except Loading:
            self._loads = True
            if not loads:
                line = (
                    f"loading and compiling {self.policy}, for at most {TO_COME_UP:g} s: "
                    f"{self.fallback.name} decides meanwhile"
                )
                self.tell(LogLine(line, event="loading"))
            return None, LOADS
        except Overrun as error:
            self._rests_until = self.clock.steady() + REST * self.limit
            return None, f"{error}; it is suspended for {REST * self.limit:g} s"
        except PolicyError as error:
            return None, str(error)

    def end(self) -> None:
        """End the policy's process, and what the fallback's passes have started."""
        self.worker.end()
        if self.passes is not None:
            self.passes.end()
