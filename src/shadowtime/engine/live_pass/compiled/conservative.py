"""One pass of engine/passes/conservative.py."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from shadowtime.engine.passes.conservative import decide
from shadowtime.kernel.jit import entry

if TYPE_CHECKING:
    from shadowtime.kernel.state import State


@entry
def once(state: State, made: Any) -> None:
    """The pass alone, without the event loop."""
    decide(state, made)
