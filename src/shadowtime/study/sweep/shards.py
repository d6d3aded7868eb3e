"""Results of a sweep: Parquet shards, written atomically, read together, merged on request.

Which runs the shards contain is known without opening them. Every process that writes shards has a
file of its own in the folder ``index``, so that no two write to the same one: a line per shard with
its name, its size and its keys, each with a sign for the outcome. The index only saves time. A line
counts while the shard has that name and size; a shard without a line is opened instead.
"""

from __future__ import annotations

import contextlib
import os
import secrets
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from shadowtime.errors import InputError, UsageError, near, optional
from shadowtime.metrics.registry import REGISTRY
from shadowtime.private import append_whole, replace_whole, result_file
from shadowtime.study.sweep.keys import digest
from shadowtime.study.sweep.plan import Case

TEXTS = ("key", "log", "trace", "machine", "policy", "template", "policy_digest", "load", "kind")
COUNTS = ("copy", "seed")
AFTER = ("window",)
FIXED = (*TEXTS, *COUNTS, *AFTER, "semantics")
"""Columns that every row has, in this order; then the ranged parameters (``set_...``), the error,
and the metrics in alphabetical order."""
ENDING = ".parquet"
ERROR = "error"
WHY = "unstarted_why"
"""Why jobs never started: how many for which cause."""
SETTING = "set_"


def pyarrow(purpose: str = "write the results of a sweep") -> Any:
    """The library behind Parquet, or how to get it."""
    return optional("pyarrow", "compute", "csv", "parquet", extra="parquet", purpose=purpose)


@dataclass(frozen=True)
class Shards:
    """The folder of a sweep.

    Rules
    -----
    A shard contains the rows of one unit of work, sorted by key, and is written atomically. Its
    name is a digest of its keys. If a key has several rows (two workers did the same run, or a
    failed run was repeated), a row without an error takes precedence over one with an error.
    """

    folder: Path

    @property
    def place(self) -> Path:
        """The folder of the shards."""
        return self.folder / "shards"

    def make(self) -> None:
        """Create the folder; a file in its place is an error."""
        try:
            self.place.mkdir(parents=True, exist_ok=True)
        except (FileExistsError, NotADirectoryError):
            raise UsageError(f"{self.folder} is not a folder: give another one with -o") from None
        except OSError as error:
            raise UsageError(f"{self.folder} cannot be created ({error.strerror})") from None

    def files(self) -> list[Path]:
        """Every shard, in the order of their names."""
        if not self.place.is_dir():
            raise InputError(
                "this is not the folder of a sweep: it has no folder shards", path=str(self.folder),
                hint="Name the folder that was given to shadowtime sweep -o.",
            )  # fmt: skip
        return sorted(self.place.glob(f"*{ENDING}"))

    def write(self, rows: Sequence[Mapping[str, Any]]) -> Path | None:
        """Write rows as one shard; none where there is none."""
        if not rows:
            return None
        arrow = pyarrow()
        ordered = sorted(rows, key=lambda row: str(row["key"]))
        path = self.place / f"{digest(*(row['key'] for row in ordered))}{ENDING}"
        raw = _as_bytes(arrow, _table(arrow, ordered))
        try:
            replace_whole(path, raw, mode=0o644)
        except OSError as error:
            raise UsageError(
                f"{path} cannot be written ({error.strerror}): what was written before is kept; "
                "make room or correct it, and run the sweep again, which resumes"
            ) from None
        keys = {str(row["key"]): row.get(ERROR) is None for row in ordered}
        Index(self.folder).add(path.name, len(raw), keys)
        return path

    def done(self) -> dict[str, bool]:
        """Every key that has a row; True if the run succeeded."""
        found: dict[str, bool] = {}
        for keys in self._keys().values():
            if found.keys().isdisjoint(keys):
                found.update(keys)
            else:
                found.update((key, ok or found.get(key, False)) for key, ok in keys.items())
        return found

    def errors(self, failed: Collection[str]) -> Counter[str]:
        """The errors of runs that failed, with their numbers."""
        arrow = pyarrow("read the results of a sweep")
        found: dict[str, str] = {}
        for name, keys in self._keys().items():
            if not all(keys.values()):
                for row in _read(arrow, self.place / name, ["key", ERROR]).to_pylist():
                    if row[ERROR] is not None and row["key"] in failed:
                        found[row["key"]] = min(row[ERROR], found.get(row["key"], row[ERROR]))
        return Counter(found.values())

    def _keys(self) -> dict[str, dict[str, bool]]:
        """The keys of every shard by its name: from the index, else from the shard."""
        sizes = {path.name: path.stat().st_size for path in self.files()}
        index = Index(self.folder)
        found = index.entries(sizes)
        for name in sorted(sizes.keys() - found.keys()):
            arrow = pyarrow("read the results of a sweep")
            table = _read(arrow, self.place / name, ["key", ERROR])
            good = table.column(ERROR).is_null().to_pylist()
            found[name] = dict(zip(table.column("key").to_pylist(), good, strict=True))
            index.add(name, sizes[name], found[name])
        return found

    def collect(self) -> Any:
        """Every row as one Arrow table: one per key, sorted by key."""
        arrow = pyarrow("read the results of a sweep")
        tables = [_read(arrow, path) for path in self.files()]
        if not tables:
            raise UsageError(f"{self.folder} contains no result yet: run shadowtime sweep first")
        whole = arrow.concat_tables(tables, promote_options="default").combine_chunks()
        return _one_per_key(arrow, whole.select(_ordered(whole.column_names)))

    def merge(self) -> int:
        """Merge all shards into one; returns how many there were.

        The merged shard is written before the others are deleted, so nothing is lost in between.
        """
        arrow = pyarrow("read the results of a sweep")
        files = self.files()
        if len(files) < 2:
            return len(files)
        table = self.collect()
        path = self.place / f"{digest(*table.column('key').to_pylist())}{ENDING}"
        replace_whole(path, _as_bytes(arrow, table), mode=0o644)
        for old in files:
            if old != path:
                old.unlink(missing_ok=True)
        Index(self.folder).clear()
        self.done()  # which notes the keys of the merged shard
        return len(files)


def write_table(table: Any, path: Path) -> None:
    """A collected table as CSV or Parquet, by its ending; numeric parameters as numbers."""
    arrow = pyarrow("write the results of a sweep")
    if path.suffix not in (".csv", ".parquet"):
        raise UsageError(f"{path}: a table is written as .csv or .parquet")
    named = numbered(table)
    with result_file(path) as beside:
        if path.suffix == ".csv":
            arrow.csv.write_csv(named, beside)
        else:
            arrow.parquet.write_table(named, beside)


def numbered(table: Any) -> Any:
    """The table with every ranged parameter as a number, where all of its values are numbers."""
    arrow = pyarrow()
    for name in table.column_names:
        if name.startswith(SETTING):
            try:
                column = arrow.compute.cast(table.column(name), arrow.float64())
            except arrow.ArrowInvalid:
                continue
            table = table.set_column(table.column_names.index(name), name, column)
    return table


def require_metric(table: Any, metric: str) -> None:
    """Reject a metric that a collected table does not have."""
    if metric not in table.column_names:
        there = [name for name in table.column_names if name in REGISTRY]
        hint = ": name it in the plan" if metric in REGISTRY else near(metric, there)
        raise UsageError(f"the sweep has no metric {metric!r}{hint}")


def failed_row(case: Case, error: str) -> dict[str, Any]:
    """The row of a run that failed."""
    return {**case.row(), ERROR: error}


def _table(arrow: Any, rows: Sequence[Mapping[str, Any]]) -> Any:
    names = _ordered({name: None for row in rows for name in row} | {ERROR: None})
    columns = {}
    for name in names:
        values = [row.get(name) for row in rows]
        columns[name] = arrow.array(values, _kind(arrow, name))
    return arrow.table(columns)


def _kind(arrow: Any, name: str) -> Any:
    if name in COUNTS or name == "semantics":
        return arrow.int64()
    if name in (*TEXTS, *AFTER, ERROR, WHY) or name.startswith(SETTING):
        return arrow.string()
    return arrow.float64()


def _ordered(names: Iterable[str]) -> list[str]:
    known = set(names)
    settings = sorted(name for name in known if name.startswith(SETTING))
    metrics = sorted(known - {*FIXED, ERROR, *settings})
    return [*FIXED, *settings, ERROR, *metrics]


def _one_per_key(arrow: Any, table: Any) -> Any:
    keys = table.column("key")
    if table.num_rows == len(keys.unique()):
        return table.take(arrow.compute.sort_indices(keys))
    failed = table.column(ERROR).is_valid()
    order = arrow.compute.sort_indices(
        arrow.table({"key": keys, "failed": failed, "why": table.column(ERROR)}),
        sort_keys=[("key", "ascending"), ("failed", "ascending"), ("why", "ascending")],
    )
    table = table.take(order)
    keys = table.column("key").combine_chunks()
    first = arrow.compute.not_equal(keys.slice(1), keys.slice(0, len(keys) - 1))
    return table.filter(
        arrow.concat_arrays([arrow.array([True]), *getattr(first, "chunks", [first])])
    )


def _as_bytes(arrow: Any, table: Any) -> bytes:
    out = arrow.BufferOutputStream()
    arrow.parquet.write_table(table, out)
    return bytes(out.getvalue())


def _read(arrow: Any, path: Path, columns: list[str] | None = None) -> Any:
    try:
        return arrow.parquet.ParquetFile(path).read(columns=columns)
    except (arrow.ArrowException, OSError, ValueError) as error:
        why = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise InputError(
            f"this shard cannot be read ({why})", path=os.fspath(path),
            hint="Delete it and run the sweep again: its runs are repeated.",
        ) from None  # fmt: skip


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


def query(table: Any, text: str) -> Any:
    """The answer of DuckDB to a query over the table ``runs``, as an Arrow table.

    The query can access only this table, no files and no network.
    """
    duckdb = optional("duckdb", extra="sql", purpose="answer SQL queries")
    with duckdb.connect(":memory:") as database:
        database.register("runs", table)
        database.execute("set enable_external_access = false")
        try:
            answer = database.sql(text)
            if answer is None:
                raise UsageError("the query returns nothing: begin it with select")
            return answer.to_arrow_table()
        except duckdb.Error as error:
            raise UsageError(f"the query failed: {error}") from None
