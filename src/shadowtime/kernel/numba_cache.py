"""Where code that Numba compiled is kept between processes.

Numba's disk cache looks at one file at a time: it does not see that a callee in another file
changed. So the cache folder of an entry is keyed by a digest of every source file of ours that its
own file imports, directly or not (sources.py), and by what changes the generated code: versions
and the flags for bounds checks and optimisation, which Numba's own key ignores. The folder is
``$SHADOWTIME_CACHE``, else the user's cache folder.
"""

from __future__ import annotations

import contextlib
import platform
import tempfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numba
from numba.core import config as numba_config

from shadowtime.kernel.sources import source_digest
from shadowtime.private import user_cache


def flags_of_numba() -> str:
    """What the code was compiled with, if not as usual: checked, or optimised less."""
    checked = "-checked" if numba_config.BOUNDSCHECK else ""
    level = "" if int(numba_config.OPT) == 3 else f"-O{int(numba_config.OPT)}"
    return checked + level + ("" if numba_config.LOOP_VECTORIZE else "-scalar")


@cache
def cache_folder(path: Path) -> Path:
    """Where the compiled entries of a source file are kept."""
    build = f"py{platform.python_version()}-numba{numba.__version__}{flags_of_numba()}"
    return user_cache("kernels") / f"{path.stem}-{source_digest(path)}-{build}"


class DigestLocator:
    """Where Numba finds the compiled code of a function: by the digest of its sources.

    Numba's own locators go by the path and the time stamp of the file, so a second checkout or a
    new installation of the same sources would compile everything again.
    """

    def __init__(self, function: Any, path: Path) -> None:
        self.folder, self.line = cache_folder(path), function.__code__.co_firstlineno
        self._py_file = str(path)  # Numba's warning about code that cannot be cached names it

    @classmethod
    def from_function(cls, py_func: Any, py_file: str) -> DigestLocator | None:
        found = cls(py_func, Path(py_file))
        try:
            found.ensure_cache_path()
        except OSError:
            return None
        return found

    def ensure_cache_path(self) -> None:
        """Make the folder and see that it can be written to."""
        self.folder.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=self.folder).close()

    def get_cache_path(self) -> str:
        return str(self.folder)

    def get_source_stamp(self) -> str:
        return self.folder.name

    def get_disambiguator(self) -> str:
        return str(self.line)


LOCATORS = f"{__name__}.DigestLocator,UserWideCacheLocator,InTreeCacheLocator"
"""Where to look, in this order, in the words of Numba's NUMBA_CACHE_LOCATOR_CLASSES."""


@contextlib.contextmanager
def cached_by_digest() -> Iterator[None]:
    """Numba reads its locators from a process-wide setting: lend it ours, then give it back."""
    before = numba_config.CACHE_LOCATOR_CLASSES
    numba_config.CACHE_LOCATOR_CLASSES = LOCATORS
    try:
        yield
    finally:
        numba_config.CACHE_LOCATOR_CLASSES = before
