"""The library of compiled entries that a wheel carries, loaded without Numba.

``scripts/build library`` compiles every entry for the kinds of arguments it is called with and
links them into ``prebuilt/kernels.so`` (docs/decisions/ahead-of-time.md). Beside it lies
``kernels.json``: for every entry and pointer the digest of its sources, its symbol and the types
of its arguments. What does not match, in sources or in arguments, is left to Numba; so is all of it
where there is no library, where it cannot be loaded, or where bounds are to be checked.
``SHADOWTIME_PREBUILT`` names another folder; the word ``no`` there means Numba alone.

An entry is called with one array of 64-bit slots: a whole number, the bits of a float, the address
of a function, or the address of the fields of a NumPy array (data, dimensions, extents, strides),
which follow the head of its object. The slot after the last takes the result.
"""

from __future__ import annotations

import ctypes
import hashlib
import json
import os
from array import array as words
from collections.abc import Callable, Iterable, Sequence
from functools import cache, partial
from pathlib import Path
from struct import pack, unpack
from typing import Any, NamedTuple

import numpy as np

from shadowtime.kernel.columns import whole
from shadowtime.kernel.sources import PACKAGE, digest_of

FOLDER = PACKAGE / "kernel" / "prebuilt"
CATALOGUE = PACKAGE / "policy" / "catalogue"
HEAD = object.__basicsize__
"""Bytes of an object before its own fields."""

CONTIGUOUS, ALIGNED, WRITEABLE = 0x1, 0x100, 0x400
"""Flags of a NumPy array."""


class Leaf(NamedTuple):
    """One argument, or one field of an argument that is a tuple."""

    kind: str  # array, int, bool, float, function, none
    detail: Any = None  # of an array its dtype or its columns, of a function its signature
    ndim: int = 0
    flags: int = 0  # that an array must have


class Version(NamedTuple):
    """A compiled entry for arguments of certain types."""

    leaves: tuple[Leaf, ...]
    returns: str  # int, bool or void
    run: Callable[[Any], int]

    def values(self, arguments: Sequence[Any]) -> list[int] | None:
        """The slots for these arguments, if their types are those of this version."""
        given: list[Any] = []
        flatten(arguments, given)
        if len(given) != len(self.leaves):
            return None
        found = []
        array = np.ndarray
        for value, (kind, detail, ndim, flags) in zip(given, self.leaves, strict=True):
            if kind == "array":
                if (
                    type(value) is not array
                    or value.ndim != ndim
                    # Each plain type, and each set of columns, is one object: few are compared.
                    or (value.dtype is not detail and value.dtype != detail)
                    or value.flags.num & flags != flags
                ):
                    return None
                found.append(id(value) + HEAD)
            else:
                word = word_of(value, kind, detail)
                if word is None:
                    return None
                found.append(word)
        return found

    def ready(self, values: list[int]) -> Callable[[], Any]:
        """What runs the entry, as often as it is called; the caller keeps the arrays alive."""
        slots = words("q", values)
        slots.append(0)
        return partial(self._run, slots, slots.buffer_info()[0])

    def _run(self, slots: words[int], address: int) -> Any:
        if self.run(address):
            raise RuntimeError("a compiled kernel failed; run it with NUMBA_DISABLE_JIT=1")
        if self.returns == "void":
            return None
        return slots[-1] if self.returns == "int" else bool(slots[-1])


def flatten(arguments: Iterable[Any], into: list[Any]) -> None:
    """Append arguments, tuples field by field.

    Examples
    --------
    >>> found = []
    >>> flatten((1, (2, (3,))), found)
    >>> found
    [1, 2, 3]
    """
    for value in arguments:
        if isinstance(value, tuple):
            flatten(value, into)
        else:
            into.append(value)


def word_of(value: Any, kind: str, detail: Any) -> int | None:
    """The slot of a value that is no array; None if it cannot be passed as this kind.

    Examples
    --------
    >>> word_of(7, "int", None), word_of(True, "bool", None), word_of(7.5, "int", None)
    (7, 1, None)
    """
    if kind == "int":
        whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
        return int(value) if whole else None
    if kind == "bool":
        return int(value) if isinstance(value, bool | np.bool_) else None
    if kind == "float":
        return int(unpack("q", pack("d", value))[0]) if isinstance(value, float) else None
    if kind == "function":
        return int(value.address) if getattr(value, "signature_text", "") == detail else None
    return 0 if value is None else None


class Library(NamedTuple):
    """The loaded library and what it holds."""

    code: ctypes.CDLL
    entries: dict[str, Any]  # by file and name: digest, versions
    pointers: dict[str, Any]  # by file and name: digest, symbol, signature
    fillers: dict[str, Any]  # of the catalogue's functions, by filler_name: the same


@cache
def load() -> Library | None:
    """The library of this installation; None where there is none that can be used."""
    if os.environ.get("NUMBA_BOUNDSCHECK", "0") not in ("", "0"):
        return None
    named = os.environ.get("SHADOWTIME_PREBUILT")
    if named == "no":
        return None
    folder = Path(named) if named else FOLDER
    try:
        listed = json.loads((folder / "kernels.json").read_text())
        code = ctypes.CDLL(str(folder / "kernels.so"))
    except (OSError, ValueError):
        return None
    if not arrays_are_as_known():
        return None
    return Library(code, listed["entries"], listed["pointers"], listed.get("fillers", {}))


def arrays_are_as_known() -> bool:
    """True if an array's fields lie where the library reads them: a test on one array."""
    probe = np.zeros((3, 5), np.int64)
    word = ctypes.c_int64.from_address
    at = id(probe) + HEAD
    return (
        word(at).value == probe.ctypes.data
        and ctypes.c_int.from_address(at + 8).value == 2
        and [word(word(at + 16).value + 8 * k).value for k in (0, 1)] == [3, 5]
        and [word(word(at + 24).value + 8 * k).value for k in (0, 1)] == [40, 8]
    )


def name_of(function: Any) -> tuple[Path, str]:
    """The file of a function, and its name in the list: path and name."""
    path = Path(function.__code__.co_filename).resolve()
    place = path.relative_to(PACKAGE).as_posix() if path.is_relative_to(PACKAGE) else path.name
    return path, f"{place}:{function.__name__}"


def _held(function: Any, which: str) -> Any:
    """The entry of a function in the list, if its sources are those the library was made from."""
    library = load()
    if library is None:
        return None
    path, name = name_of(function)
    listed = getattr(library, which).get(name)
    return listed if listed is not None and _fresh(path, listed) else None


_stale: set[str] = set()


def _fresh(path: Path, listed: dict[str, Any]) -> bool:
    """True if the files that a function was made of are as they were.

    Which files these are follows from their texts, so the list need not be made again.
    """
    try:
        if digest_of(PACKAGE / name for name in listed["files"]) == listed["digest"]:
            return True
    except (KeyError, OSError):  # a list of an earlier version; a file is gone
        pass
    _stale.add(path.name)
    return False


def stale() -> tuple[str, ...]:
    """Files that were asked for and have changed since the library was made."""
    return tuple(sorted(_stale))


def versions(function: Any) -> tuple[Version, ...]:
    """What the library holds of an entry; nothing if its sources have changed."""
    listed = _held(function, "entries")
    return tuple(_version(each) for each in listed["versions"]) if listed else ()


def holds(function: Any) -> bool:
    """True if an entry is in the library, made from its present sources."""
    return _held(function, "entries") is not None


def pointer(function: Any) -> tuple[str, int] | None:
    """Signature and address of a pointer in the library; None if its sources have changed."""
    return _address(_held(function, "pointers"))


def _address(listed: Any) -> tuple[str, int] | None:
    library = load()
    if listed is None or library is None:
        return None
    address = ctypes.cast(getattr(library.code, listed["symbol"]), ctypes.c_void_p).value
    return listed["signature"], int(address or 0)


def filler_name(functions: Sequence[Any], text: str) -> str | None:
    """The name in the list of a generated function that calls some of the catalogue's.

    ``text`` is its source. None if one of the functions was not written in the catalogue: those of
    a user are compiled on the user's machine.

    Examples
    --------
    >>> from shadowtime.policy.catalogue.tang import wfp3
    >>> filler_name((wfp3,), "def fill(): ...")
    'policy/catalogue/tang.py:wfp3-9d5f8a92'
    >>> filler_name((flatten,), "def fill(): ...")
    """
    own = [each.__code__.co_filename for each in functions]
    if not all(Path(path).resolve().is_relative_to(CATALOGUE) for path in own):
        return None
    names = [name_of(each)[1] for each in functions]
    called = "+".join([names[0], *(name.rpartition(":")[2] for name in names[1:])])
    return f"{called}-{hashlib.sha256(repr((names, text)).encode()).hexdigest()[:8]}"


def filler(functions: Sequence[Any], text: str) -> tuple[str, int] | None:
    """Signature and address of such a function."""
    library = load()
    name = filler_name(functions, text) if library else None
    listed = library.fillers.get(name) if library and name else None
    if listed is None:
        return None
    return _address(listed) if _fresh(name_of(functions[0])[0], listed) else None


class Address:
    """What kernels take as an argument: a function by its address, of one type for all that fit."""

    make_signature: Callable[[], Any]
    address: Any
    """Where the code lies."""

    def __wrapper_address__(self) -> int:
        return int(self.address)

    @property
    def _numba_type_(self) -> Any:
        """Where the kernel that takes it is compiled by Numba."""
        from numba import types

        return types.FunctionType(self.make_signature())


class Held(Address):
    """A function of the library."""

    def __init__(self, found: tuple[str, int], make_signature: Callable[[], Any]) -> None:
        self.signature_text, self.address = found
        self.make_signature = make_signature


def _version(listed: dict[str, Any]) -> Version:
    library = load()
    assert library is not None
    leaves = tuple(_leaf(*each) for each in listed["leaves"])
    run = getattr(library.code, listed["symbol"])
    run.argtypes, run.restype = (ctypes.c_void_p,), ctypes.c_int32
    return Version(leaves, listed["returns"], run)


def _leaf(kind: str, detail: Any = None, ndim: int = 0, flags: int = 0) -> Leaf:
    if kind == "array":
        detail = np.dtype(detail) if isinstance(detail, str) else whole(*detail)
    return Leaf(kind, detail, ndim, flags)
