"""The store that the hperf commands use."""

from __future__ import annotations

import os
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from shadowtime import private
from shadowtime.errors import InputError, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from shadowtime.hperf.store import Store


@dataclass(frozen=True, kw_only=True)
class Place:
    """Where the store is."""

    store: str | None = None
    """URL : The store: a file (SQLite), or mariadb://user@host/base, postgresql://user@host/base.
    [default: $SHADOWTIME_STORE, else hperf.sqlite in the user's data folder]"""
    store_file: str | None = None
    """FILE : A file with the URL on its first line, so that a password in it is not visible in
    `ps`."""

    def __post_init__(self) -> None:
        if self.store is not None and self.store_file is not None:
            raise UsageError("name the store with --store or --store-file, not both")

    def url(self) -> str | None:
        """The URL, from the file if one was named."""
        if self.store_file is None:
            return self.store
        path = self.store_file
        try:
            with os.fdopen(private.open_plain(Path(path), os.O_RDONLY), encoding="utf-8") as file:
                url = file.readline(4096).strip()
        except (OSError, UnicodeDecodeError) as wrong:
            why = wrong.strerror if isinstance(wrong, OSError) else "not UTF-8 text"
            raise InputError(f"cannot be read: {why}", path=path) from None
        if not url:
            raise InputError("has no URL of a store on its first line", path=path)
        return url

    @contextmanager
    def opened(self, *, must_exist: bool = False) -> Iterator[Store]:
        """The store of a command, closed afterwards."""
        from shadowtime.hperf import open_store

        found = open_store(self.url(), must_exist=must_exist)
        try:
            yield found
        finally:
            found.close()


DEFAULT = Place()
