"""What the hperf commands share."""

from __future__ import annotations

import os
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from shadowtime import private
from shadowtime.errors import InputError, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from shadowtime.hperf.store import Store

_url = click.option(
    "--store",
    metavar="URL",
    help="The store: a file (SQLite), or mariadb://user@host/base, postgresql://user@host/base. "
    "[default: $SHADOWTIME_STORE, else hperf.sqlite in the user's data folder]",
)
_file = click.option(
    "--store-file",
    metavar="FILE",
    expose_value=False,
    callback=lambda context, option, value: _from_file(context, value),
    help="A file with the URL on its first line, so that a password in it is not visible in `ps`.",
)


def store(command: Any) -> Any:
    """The store: --store, or --store-file for a URL with a password."""
    return _url(_file(command))


def _from_file(context: click.Context, path: str | None) -> None:
    """Take the URL from a file, as if --store had named it."""
    if path is None:
        return
    if context.params.get("store") is not None:
        raise UsageError("name the store with --store or --store-file, not both")
    try:
        with os.fdopen(private.open_plain(Path(path), os.O_RDONLY), encoding="utf-8") as file:
            url = file.readline(4096).strip()
    except (OSError, UnicodeDecodeError) as wrong:
        why = wrong.strerror if isinstance(wrong, OSError) else "not UTF-8 text"
        raise InputError(f"cannot be read: {why}", path=path) from None
    if not url:
        raise InputError("has no URL of a store on its first line", path=path)
    context.params["store"] = url


@contextmanager
def opened(where: str | None, *, must_exist: bool = False) -> Iterator[Store]:
    """The store of a command, closed afterwards."""
    from shadowtime.hperf import open_store

    found = open_store(where, must_exist=must_exist)
    try:
        yield found
    finally:
        found.close()
