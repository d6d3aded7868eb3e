"""How long the longest studies of papers take, as a person waits for them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from benchmarks.inputs import log_path
from benchmarks.rows import Row
from benchmarks.timing import command

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

STUDIES = (("pv-easy", "ten", 180.0), ("rua", "five", 600.0))
"""Paper, seeds by default, seconds allowed on two cores."""


def paper(folder: Path) -> Iterator[Row]:
    """`shadowtime paper NAME`; on a generated workload where the logs are not there."""
    log = log_path("SDSC-BLUE")
    traces = ("--traces", str(log.parent)) if log else ()
    where = "the logs of the paper" if log else "a generated workload"
    for name, seeds, bar in STUDIES:
        run = command("paper", name, "--json", *traces)
        yield Row(
            what=f"`shadowtime paper {name}`, {seeds} seeds, {where}",
            value=run.wall, unit="s", bar=bar, clock="wall",
            note=f"{run.cpu:.0f} s CPU; on idle cores at least that over their number",
        )  # fmt: skip
