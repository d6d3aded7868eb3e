"""What an export did: the files, how much is in them, and what was left out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


@dataclass(frozen=True, kw_only=True)
class Written:
    """Files written by an export. ``left_out`` counts jobs, ``note`` gives the reason."""

    paths: tuple[Path, ...]
    records: int
    left_out: int = 0
    note: str = ""
