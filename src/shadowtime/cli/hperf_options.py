"""What the hperf commands share."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from collections.abc import Iterator

    from shadowtime.hperf.store import Store

store = click.option(
    "--store",
    metavar="URL",
    help="The store: a file (SQLite), or mariadb://user@host/base, postgresql://user@host/base. "
    "[default: $SHADOWTIME_STORE, else hperf.sqlite in the user's data folder]",
)


@contextmanager
def opened(where: str | None, *, must_exist: bool = False) -> Iterator[Store]:
    """The store of a command, closed afterwards."""
    from shadowtime.hperf import open_store

    found = open_store(where, must_exist=must_exist)
    try:
        yield found
    finally:
        found.close()
