"""Measured demand by tag: the performance store, collectors, and queries of a scheduler.

C. Fenoy Garcia's thesis (UPC 2014), chapter 2: every finished job leaves a record under the tag
its user gave it, and the next job of that tag is scheduled by the average of the records.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from shadowtime.hperf.location import default_store
from shadowtime.hperf.record import Process, Record, Thread

if TYPE_CHECKING:
    from shadowtime.hperf.store import Store

__all__ = ["Process", "Record", "Thread", "default_store", "open_store"]


def open_store(
    where: str | None = None, *, patience: float = 30.0, must_exist: bool = False
) -> Store:
    """Open a store by URL or path; see ``hperf.store``."""
    from shadowtime.hperf.store import open_store as opened

    return opened(where, patience=patience, must_exist=must_exist)
