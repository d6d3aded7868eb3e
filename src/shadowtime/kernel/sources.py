"""Which sources a compiled function is made of, and their digest.

Compiled code is kept (numba_cache.py) and shipped (library.py) under this digest, so that an edit
of any callee, in whatever file, is seen.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from functools import cache
from pathlib import Path

PACKAGE = Path(__file__).resolve().parent.parent
IMPORT = re.compile(
    rb"^\s*(?:from|import) (shadowtime[\w.]*)(?: import ([^#\n(]+|\([^)]*\)))?", re.MULTILINE
)

NO_CODE = frozenset(f"kernel/{name}.py" for name in ("library", "notice", "numba_cache", "sources"))
"""Files that find and load compiled code and have no part in what it does."""


@cache
def contents(path: Path) -> bytes:
    """The text of a source file, read once."""
    return path.read_bytes()


@cache
def imported_files(path: Path, root: Path = PACKAGE) -> frozenset[Path]:
    """Files of the package that a file imports, read from its text."""
    found = set()
    for module, names in IMPORT.findall(contents(path)):
        place = root.joinpath(*module.decode().split(".")[1:])
        words = re.findall(rb"\w+", names)
        for candidate in (place, *(place / word.decode() for word in words)):
            if candidate.with_suffix(".py").is_file():
                found.add(candidate.with_suffix(".py"))
            elif (candidate / "__init__.py").is_file():
                found.add(candidate / "__init__.py")
    return frozenset(found - {root / name for name in NO_CODE})


CODE = ("kernel/", "engine/", "policy/catalogue/", "types.py")
"""Where compiled code takes functions and constants from (a test sees to it)."""


def code_digest(*paths: Path) -> str:
    """Digest of what the code in some files is made of: an edit elsewhere leaves it alone."""
    return source_digest(*paths, rooms=CODE)


def source_digest(*paths: Path, root: Path = PACKAGE, rooms: tuple[str, ...] = ()) -> str:
    """Digest of files and of every file of the package they import, directly or not.

    With ``rooms`` only imports from files that begin so are followed.

    Examples
    --------
    >>> len(source_digest(Path(__file__)))
    16
    """
    return digest_of(files_of(*paths, root=root, rooms=rooms))


def code_files(*paths: Path) -> list[Path]:
    """The files that :func:`code_digest` is made of."""
    return files_of(*paths, rooms=CODE)


def files_of(*paths: Path, root: Path = PACKAGE, rooms: tuple[str, ...] = ()) -> list[Path]:
    """Files and every file of the package they import, directly or not, in order."""
    seen: set[Path] = set()
    todo = [path.resolve() for path in paths]
    while todo:
        file = todo.pop()
        if file not in seen:
            seen.add(file)
            found = imported_files(file, root)
            todo += [
                f for f in found if not rooms or f.relative_to(root).as_posix().startswith(rooms)
            ]
    return sorted(seen)


def digest_of(files: Iterable[Path]) -> str:
    """Digest of the names and texts of files."""
    digest = hashlib.sha256()
    for file in files:
        digest.update(file.name.encode() + b"\0" + contents(file))
    return digest.hexdigest()[:16]
