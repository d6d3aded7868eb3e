"""How kernels are compiled, and where the compiled code lies.

Numba's disk cache looks at one file at a time: it does not see that a callee in another file
changed. So the cache folder of an entry is keyed by a digest of every source file of ours that its
own file imports, directly or not, and by what changes the generated code: versions and the
bounds-check flag, which Numba's own key ignores. The folder is ``$SHADOWTIME_CACHE``, else the
user's cache folder.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import platform
import re
import tempfile
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any, TypeVar, cast

import numba
from numba.core import config as numba_config
from numba.core import event as numba_event

from shadowtime.errors import UsageError

PACKAGE = Path(__file__).resolve().parent.parent
IMPORT = re.compile(
    rb"^\s*(?:from|import) (shadowtime[\w.]*)(?: import ([^#\n(]+|\([^)]*\)))?", re.MULTILINE
)
Function = TypeVar("Function", bound=Callable[..., Any])

OPTIONS: dict[str, Any] = {"nogil": True, "cache": True, "error_model": "numpy"}
"""No fastmath: results must not depend on the compiler's mood."""


def imported_files(path: Path, root: Path = PACKAGE) -> set[Path]:
    """Files of the package that a file imports, read from its text."""
    found = set()
    for module, names in IMPORT.findall(path.read_bytes()):
        place = root.joinpath(*module.decode().split(".")[1:])
        words = re.findall(rb"\w+", names)
        for candidate in (place, *(place / word.decode() for word in words)):
            if candidate.with_suffix(".py").is_file():
                found.add(candidate.with_suffix(".py"))
            elif (candidate / "__init__.py").is_file():
                found.add(candidate / "__init__.py")
    return found


def source_digest(path: Path, root: Path = PACKAGE) -> str:
    """Digest of a file and of every file of the package it imports, directly or not.

    Examples
    --------
    >>> len(source_digest(Path(__file__)))
    16
    """
    seen: set[Path] = set()
    todo = [path.resolve()]
    while todo:
        file = todo.pop()
        if file not in seen:
            seen.add(file)
            todo.extend(imported_files(file, root))
    digest = hashlib.sha256()
    for file in sorted(seen):
        digest.update(file.name.encode() + b"\0" + file.read_bytes())
    return digest.hexdigest()[:16]


def refuse_foreign(folder: Path) -> None:
    """Make the folder for compiled code, or refuse one that others can write to.

    What lies there is loaded and run: whoever can write to it runs code as its user. A folder that
    cannot be made is Numba's affair: it does without a cache.
    """
    try:
        os.makedirs(folder, mode=0o755, exist_ok=True)
        about = os.stat(folder)
    except OSError:
        return
    if about.st_uid not in (os.geteuid(), 0) or about.st_mode & 0o002:
        raise UsageError(
            f"{folder} belongs to another user or can be written by all: compiled code that lies "
            "there would be run. Name a folder of your own in SHADOWTIME_CACHE"
        )


@cache
def cache_folder(path: Path) -> Path:
    """Where the compiled entries of a source file are kept."""
    base = os.environ.get("SHADOWTIME_CACHE")
    if base is None:
        home = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
        base = os.path.join(home, "shadowtime")
    checked = "-checked" if numba_config.BOUNDSCHECK else ""
    build = f"py{platform.python_version()}-numba{numba.__version__}{checked}"
    refuse_foreign(Path(base) / "kernels")
    return Path(base) / "kernels" / f"{path.stem}-{source_digest(path)}-{build}"


class DigestLocator:
    """Tells Numba where the compiled code of a function lies: by the digest of its sources.

    Numba's own locators go by the path and the time stamp of the file, so a second checkout or a
    new installation of the same sources would compile everything again.
    """

    def __init__(self, function: Any, path: Path) -> None:
        self.folder, self.line = cache_folder(path), function.__code__.co_firstlineno

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
def _cached_by_digest() -> Iterator[None]:
    """Numba reads its locators from a process-wide setting: lend it ours, then give it back."""
    before = numba_config.CACHE_LOCATOR_CLASSES
    numba_config.CACHE_LOCATOR_CLASSES = LOCATORS
    try:
        yield
    finally:
        numba_config.CACHE_LOCATOR_CLASSES = before


def kernel(function: Function) -> Function:
    """Compile a function that other kernels call: arrays and scalars only, no allocation.

    Without allocation Numba's reference counting can be left out (``_nrt=False``), and the
    function is inlined into its caller, so that passing a State costs nothing; together that makes
    the event loop six times faster (measured). Such a function cannot be called from Python.
    """
    return _compiled(
        function,
        _nrt=False,
        forceinline=True,
        no_cpython_wrapper=True,
        no_cfunc_wrapper=True,
        cache=False,
    )


def routine(function: Function) -> Function:
    """Like kernel, but not inlined: for large functions that are called now and then.

    Inlining everything everywhere would cost compile time for nothing.
    """
    return _compiled(
        function, _nrt=False, no_cpython_wrapper=True, no_cfunc_wrapper=True, cache=False
    )


def entry(function: Function) -> Function:
    """Compile a kernel that Python calls; only these are cached, with all that they inline."""
    return _compiled(function, _nrt=False)


def allocating_entry(function: Function) -> Function:
    """Compile a function that Python calls and that may allocate arrays."""
    return _compiled(function)


def _compiled(function: Function, **options: Any) -> Function:
    if not options.get("cache", True):
        return _jit(function, options)
    with _cached_by_digest():
        return _jit(function, options)


def _jit(function: Function, options: dict[str, Any]) -> Function:
    try:
        return cast("Function", numba.njit(**(OPTIONS | options))(function))
    except (KeyError, TypeError):  # a Numba without one of the private options
        return cast("Function", numba.njit(**OPTIONS)(function))


class _Once(numba_event.Listener):
    def __init__(self, callback: Callable[[], None]) -> None:
        self.callback: Callable[[], None] | None = callback

    def on_start(self, event: Any) -> None:
        if self.callback is not None:
            callback, self.callback = self.callback, None
            callback()

    def on_end(self, event: Any) -> None:
        pass


@contextlib.contextmanager
def before_first_compile(callback: Callable[[], None]) -> Iterator[None]:
    """Call ``callback`` once if something has to be compiled inside the block."""
    with numba_event.install_listener("numba:compile", _Once(callback)):
        yield


def cached_cfunc(signature: Any, **options: Any) -> Callable[[Function], Any]:
    """Compile a function to a typed pointer that kernels can take as an argument."""

    def compiled(function: Function) -> Any:
        if numba_config.DISABLE_JIT:
            return function
        with _cached_by_digest():
            return numba.cfunc(signature, nopython=True, cache=True, **options)(function)

    return compiled
