"""One pass of engine/passes/conservative.py."""

from __future__ import annotations

from shadowtime.engine.passes.conservative import decide
from shadowtime.kernel.availability import Availability
from shadowtime.kernel.jit import entry
from shadowtime.kernel.state import State


@entry
def once(state: State, made: Availability) -> None:
    """The pass alone, without the event loop."""
    decide(state, made)
