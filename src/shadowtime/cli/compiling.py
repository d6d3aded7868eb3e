"""The first run on a machine compiles the engine: say so, or it looks like a hang."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from shadowtime.cli.console import note

if TYPE_CHECKING:
    from collections.abc import Iterator

MESSAGE = "compiling the engine for this machine, once: some 10 s ..."


@contextlib.contextmanager
def compile_notice() -> Iterator[None]:
    """Print a line if anything has to be compiled inside the block."""
    from shadowtime.kernel.jit import before_first_compile

    with before_first_compile(lambda: note(MESSAGE)):
        yield
