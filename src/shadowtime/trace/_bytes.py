"""The thin part of every reader: a file's bytes, unpacked, or a clear reason why not."""

from __future__ import annotations

import gzip
import io
import os
import warnings
import zlib
from collections.abc import Collection
from pathlib import Path

import numpy as np

from shadowtime.errors import InputError, UsageError
from shadowtime.private import write_result

_GZIP = b"\x1f\x8b"
_OTHERS = {
    b"BZh": "bzip2",
    b"\xfd7zXZ": "xz",
    b"(\xb5/\xfd": "zstd",
    b"PK\x03\x04": "zip",
    b"PAR1": "Parquet",
    b"SQLite format": "an SQLite database",
    b"\xff\xfe": "UTF-16",
    b"\xfe\xff": "UTF-16",
}
_BOM = b"\xef\xbb\xbf"


MAX_SIZE = 1 << 30
"""Largest size of an unpacked log in bytes: three times the largest public ones. Reading takes
several times as much memory."""

_CHUNK = 1 << 22
FIX_LINE = "Fix or delete the line, or skip and count such lines with --bad-lines drop."
"""What to do about a line that cannot be read."""


def refuse_choice(bad_lines: str) -> None:
    """UsageError for anything but refuse and drop."""
    if bad_lines not in ("refuse", "drop"):
        raise UsageError(f"bad_lines must be refuse or drop, not {bad_lines!r}")


def load(
    path: str | os.PathLike[str], *, max_size: int = MAX_SIZE, binary: Collection[str] = ()
) -> bytes:
    """The bytes of a text file, plain or gzip (recognised by its content, not its name).

    A byte order mark is removed, and the line ends of old Macs are converted. A file of more than
    ``max_size`` bytes, packed or unpacked, is rejected before it fills the memory.
    ``binary`` names what need not be text: such a file is returned as it is.
    """
    name = os.fspath(path)
    try:
        with open(name, "rb") as file:
            data = file.read(max_size + 1)
    except FileNotFoundError:
        raise InputError("no such file", path=name, hint="Check the name and the folder.") from None
    except IsADirectoryError:
        raise InputError("this is a folder", path=name, hint="Name a file in it.") from None
    except (OSError, ValueError) as error:
        raise InputError(f"cannot be read ({error})", path=name) from None
    if len(data) > max_size:
        raise too_large(name, max_size, "")
    if data.startswith(_GZIP):
        data = _unpack(data, name, max_size)
    for magic, what in _OTHERS.items():
        if data.startswith(magic):
            if what in binary:
                return data
            raise InputError(
                f"this is {what}, not text", path=name, hint="Unpack or convert it first."
            )
    data = data.removeprefix(_BOM)
    if b"\n" not in data and b"\r" in data:
        data = data.replace(b"\r", b"\n")
    if not data or data.isspace():
        raise InputError("the file is empty", path=name, hint="Was it written to the end?")
    return data


def beginning(path: str | os.PathLike[str], size: int = 1 << 20) -> bytes:
    """The first bytes of a file, unpacked; empty where it cannot be read."""
    try:
        with open(path, "rb") as file:
            data = file.read(size)
        if data.startswith(_GZIP):
            data = zlib.decompressobj(31).decompress(data, size)
    except (OSError, ValueError, zlib.error):
        return b""
    return data.removeprefix(_BOM)


def map_beside(path: str | None) -> str:
    """The name of a table's map."""
    return f"{path.rstrip('/')}.map.toml" if path else ""


def warn_cut(path: str | None, line: int) -> None:
    """Name a line that was cut off and is left out."""
    where = f"{path}, line {line}" if path else f"line {line}"
    warnings.warn(f"{where}: cut off, and left out", stacklevel=3)


def save(data: bytes, path: str | os.PathLike[str]) -> None:
    """Write a file in one go, gzip if its name ends in .gz; the same bytes for the same data."""
    name = os.fspath(path)
    if name.endswith(".gz"):
        data = gzip.compress(data, 6, mtime=0)
    try:
        write_result(Path(name), data)
    except OSError as error:
        raise UsageError(f"{name} cannot be written ({error.strerror or error})") from None


def too_large(name: str, max_size: int, how: str) -> InputError:
    """The error for a file beyond the bound."""
    return InputError(
        f"this file is larger than {max_size:,} bytes{how}",
        path=name,
        hint="If it is what it should be, allow more with --max-size, as in --max-size 16GB.",
    )


def _unpack(data: bytes, name: str, max_size: int) -> bytes:
    pieces, size = [], 0
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(data)) as file:
            while piece := file.read(_CHUNK):
                size += len(piece)
                if size > max_size:
                    raise too_large(name, max_size, " when it is unpacked")
                pieces.append(piece)
        return b"".join(pieces)
    except EOFError:
        raise InputError(
            "the gzip data ends too early", path=name, hint="Fetch or copy the file again."
        ) from None
    except (gzip.BadGzipFile, zlib.error) as error:
        raise InputError(
            f"the gzip data is damaged ({error})", path=name, hint="Fetch or copy the file again."
        ) from None


def count_lines(data: bytes) -> int:
    """The number of line ends; ``bytes.count`` takes three times as long for short lines.

    Examples
    --------
    >>> count_lines(b"one\\ntwo\\nthree")
    2
    """
    text, piece = np.frombuffer(data, np.uint8), 1 << 17  # what a core's own cache holds
    ends = (text[at : at + piece] == ord("\n") for at in range(0, len(text), piece))
    return sum(int(np.count_nonzero(each)) for each in ends)


def stem(path: str | os.PathLike[str]) -> str:
    """The file's name without folders and the endings that name a format.

    Examples
    --------
    >>> stem("logs/KTH-SP2-1996-2.1-cln.swf.gz")
    'KTH-SP2-1996-2.1-cln'
    """
    name = Path(os.fspath(path)).name
    for ending in (".gz", ".swf", ".psv", ".csv", ".parquet", ".txt", ".json", ".jsonl", ".log"):
        name = name.removesuffix(ending)
    return name or "trace"
