"""The first run on a machine compiles the engine: say so, or it looks like a hang."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from shadowtime.cli.common.console import note

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextlib.contextmanager
def compile_notice(what: str, how_long: str) -> Iterator[None]:
    """Print a line if anything has to be compiled inside the block."""
    from shadowtime.kernel.notice import before_first_compile

    message = f"compiling {what} for this machine: once, {how_long} ..."
    with before_first_compile(lambda: note(message)):
        yield
