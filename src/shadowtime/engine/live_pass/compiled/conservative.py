"""One pass of engine/passes/conservative.py."""

from __future__ import annotations

from typing import Any

from shadowtime.engine.passes.conservative import decide
from shadowtime.kernel.jit import entry


@entry
def once(state: Any, made: Any) -> None:
    """The pass alone, without the event loop."""
    decide(state, made)
