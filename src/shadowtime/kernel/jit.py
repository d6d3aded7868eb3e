"""How kernels are compiled, and where the compiled code lies.

Numba's disk cache looks at one file at a time: it does not see that a callee in another file
changed. So the cache folder is keyed by a digest of every source file that holds a kernel, and by
what changes the generated code: versions and the bounds-check flag, which Numba's own key ignores.
The folder is ``$SHADOWTIME_CACHE``, else the user's cache folder.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import platform
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any, TypeVar, cast

import numba
from numba.core import config as numba_config
from numba.core import event as numba_event

PACKAGE = Path(__file__).resolve().parent.parent
MARKS = (b"@kernel", b"@routine", b"@entry", b"@allocating_entry", b"@cached_cfunc")
Function = TypeVar("Function", bound=Callable[..., Any])

OPTIONS: dict[str, Any] = {"nogil": True, "cache": True, "error_model": "numpy"}
"""No fastmath: results must not depend on the compiler's mood."""


def source_digest(folder: Path = PACKAGE) -> str:
    """Digest of every file below ``folder`` that holds a kernel.

    Examples
    --------
    >>> len(source_digest())
    16
    """
    digest = hashlib.sha256()
    for path in sorted(folder.rglob("*.py")):
        text = path.read_bytes()
        if any(mark in text for mark in MARKS):
            digest.update(str(path.relative_to(folder)).encode() + b"\0" + text)
    return digest.hexdigest()[:16]


@cache
def cache_folder() -> Path:
    """Where this build of the kernels is kept."""
    base = os.environ.get("SHADOWTIME_CACHE")
    if base is None:
        home = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
        base = os.path.join(home, "shadowtime")
    checked = "-checked" if numba_config.BOUNDSCHECK else ""
    build = f"py{platform.python_version()}-numba{numba.__version__}{checked}"
    return Path(base) / "kernels" / f"{source_digest()}-{build}"


@contextlib.contextmanager
def _cached_in(folder: Path) -> Iterator[None]:
    """Numba reads its cache folder from a process-wide setting: lend it ours, then give it back."""
    before = numba_config.CACHE_DIR
    numba_config.CACHE_DIR = str(folder)
    try:
        yield
    finally:
        numba_config.CACHE_DIR = before


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
    with _cached_in(cache_folder()):
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
    """Call ``callback`` once if anything has to be compiled inside the block (not if all is cached)."""
    with numba_event.install_listener("numba:compile", _Once(callback)):
        yield


def cached_cfunc(signature: Any) -> Callable[[Function], Any]:
    """Compile a function to a typed pointer that kernels can take as an argument."""

    def compiled(function: Function) -> Any:
        with _cached_in(cache_folder()):
            return numba.cfunc(signature, nopython=True, cache=True)(function)

    return compiled
