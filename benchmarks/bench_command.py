"""What a person waits for: help, a second run, the first run after an install. Wall time."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from benchmarks.inputs import path_of, title_of
from benchmarks.rows import Row
from benchmarks.timing import Run, command, python

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

HEAVY = ("numba", "numpy", "llvmlite")
IMPORTED_BY_HELP = f"""
import json, sys
from shadowtime.cli import main
sys.argv = ["shadowtime", "--help"]
try:
    main()
except SystemExit:
    pass
print("\\n" + json.dumps([name for name in {HEAVY!r} if name in sys.modules]))
"""


def used(run: Run) -> str:
    """CPU time beside the wall time: the difference is what other programs took."""
    return f"{run.cpu:.2f} s CPU"


def help_(folder: Path) -> Iterator[Row]:
    """``shadowtime --help``."""
    heavy = json.loads(python(["-c", IMPORTED_BY_HELP]).output.splitlines()[-1])
    run = command("--help", runs=7)
    yield Row(
        what="shadowtime --help",
        # Importing them is too slow on any machine.
        value=run.wall, unit="s", bar=0.0 if heavy else 0.3, clock="wall",
        note=f"{used(run)}; imports {', '.join(heavy) or 'neither numba nor numpy'}",
    )  # fmt: skip


def second(folder: Path) -> Iterator[Row]:
    """``shadowtime simulate`` when everything is compiled."""
    words = ("simulate", str(path_of("KTH", folder)), "--policy", "easy")
    command(*words)
    run = command(*words, runs=3)
    yield Row(
        what=f"second `shadowtime simulate` of {title_of('KTH')} in a new process",
        value=run.wall, unit="s", bar=2.0, clock="wall", note=used(run),
    )  # fmt: skip


def first(folder: Path) -> Iterator[Row]:
    """The first result with nothing compiled: two commands, each with an empty cache."""
    cases = {
        f"simulate {title_of('KTH')} --policy easy": (
            "simulate", str(path_of("KTH", folder)), "--policy", "easy",
        ),
        "demo": ("demo",),
    }  # fmt: skip
    for title, words in cases.items():
        cache = folder / f"cache-{words[0]}"
        run = command(*words, env={"SHADOWTIME_CACHE": str(cache)})
        yield Row(
            what=f"first `shadowtime {title}` after an install",
            value=run.wall, unit="s", bar=30.0, clock="wall",
            note=f"compile included; {used(run)}",
        )  # fmt: skip
