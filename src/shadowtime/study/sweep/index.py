"""Which runs the shards of a folder contain, without opening them.

Every process that writes shards has a file of its own in the folder ``index``, so that no two write
to the same one: a line per shard with its name, its size and its keys, each with a sign for the
outcome. The index only saves time. A line counts while the shard has that name and size; a shard
without a line is opened instead.
"""

from __future__ import annotations

import contextlib
import os
import secrets
from dataclasses import dataclass
from typing import TYPE_CHECKING

from shadowtime.private import append_whole

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

FOLDER = "index"
DONE, FAILED = "+", "-"
WRITERS: dict[int, str] = {}
"""The name of this process among writers, by its number: processes that were forked differ."""


@dataclass(frozen=True)
class Index:
    """The index of a folder of results.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     index = Index(Path(folder))
    ...     index.add("a.parquet", 100, {"1": True, "2": False})
    ...     index.entries({"a.parquet": 100}), index.entries({"a.parquet": 99})
    ({'a.parquet': {'1': True, '2': False}}, {})
    """

    folder: Path

    def add(self, shard: str, size: int, keys: Mapping[str, bool]) -> None:
        """Note the keys of a shard and whether each succeeded; if it fails, nothing is lost."""
        signs = (f"{key}{DONE if ok else FAILED}" for key, ok in keys.items())
        line = " ".join([shard, str(size), *signs]) + "\n"
        place = self.folder / FOLDER
        writer = WRITERS.setdefault(os.getpid(), secrets.token_hex(8))
        with contextlib.suppress(OSError):  # a full disk, or a folder that may only be read
            place.mkdir(exist_ok=True)
            append_whole(place / writer, line.encode(), mode=0o644)

    def entries(self, shards: Mapping[str, int]) -> dict[str, dict[str, bool]]:
        """The keys of shards by their names, for those of the given names and sizes."""
        found: dict[str, dict[str, bool]] = {}
        for line in self._lines():
            shard, _, rest = line.partition(" ")
            size, _, keys = rest.partition(" ")
            if str(shards.get(shard)) == size:
                signed = keys.split(" ")
                found[shard] = {one[:-1]: one[-1:] == DONE for one in signed}
        return found

    def clear(self) -> None:
        """Forget everything; the shards are opened the next time."""
        for path in self._files():
            path.unlink(missing_ok=True)

    def _files(self) -> list[Path]:
        place = self.folder / FOLDER
        return sorted(place.iterdir()) if place.is_dir() else []

    def _lines(self) -> Iterator[str]:
        for path in self._files():
            with contextlib.suppress(OSError, UnicodeDecodeError):
                # The last piece is empty, or a line that was cut off.
                yield from path.read_bytes().decode("ascii").split("\n")[:-1]
