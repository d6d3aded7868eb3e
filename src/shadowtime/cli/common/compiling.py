"""The first run on a machine compiles the engine: report it, or it looks like a hang."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from shadowtime.cli.common.console import note

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextlib.contextmanager
def compile_notice(what: str, how_long: str) -> Iterator[None]:
    """Print a line if anything has to be compiled inside the block.

    In a checkout, the line also reports a library of compiled kernels that is older than a source.
    """
    from shadowtime.kernel import library
    from shadowtime.kernel.notice import before_first_compile

    def announce() -> None:
        note(f"compiling {what} for this machine: once, {how_long} ...")
        if changed := library.stale():
            note(
                f"({', '.join(changed)} changed since the library of compiled kernels was built: "
                "scripts/build library rebuilds it)"
            )

    with before_first_compile(announce):
        yield
