"""The digest of a user's functions: the same for the same code, wherever it was read from.

Compiled code is found again by it, so it covers all that the compiler takes in: bytecode and
constants, the values of globals and closures, and the functions that are called, in the same way.
What cannot be described so (a module of the user's own, an object) has no digest.
"""

from __future__ import annotations

import dis
import hashlib
from collections.abc import Callable, Iterator
from functools import lru_cache
from types import BuiltinFunctionType, CodeType, FunctionType, ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np

from shadowtime.kernel.record import CHANGING
from shadowtime.policy.functions import plain

if TYPE_CHECKING:
    from shadowtime.engine.uses import Use

STABLE = ("math", "cmath", "numpy", "builtins", "operator")
"""Modules whose contents are those of an installed version, which the cache folder names."""


class Undigestible(Exception):
    """Something that a function refers to cannot be described."""


def digest_of(uses: tuple[Use, ...]) -> str:
    """One digest for functions, their slots and the values of their parameters."""
    made = hashlib.sha256(b"checked indices")  # how fillers.py compiles them
    for use in uses:
        about = (use.slot, use.takes.arguments, use.handed, use.values, use.column, use.width)
        made.update(repr((*about, use.whose, use.columns, use.series)).encode())
        for text in described(plain(use.function), set()):
            made.update(text.encode() + b"\0")
    return made.hexdigest()[:20]


def described(value: Any, seen: set[int]) -> Iterator[str]:
    """A value as texts.

    Examples
    --------
    >>> list(described((1, 2.5), set()))
    ['tuple', 'int 1', 'float 2.5']
    """
    written = plain(value)
    if isinstance(written, FunctionType):
        if id(written) not in seen:
            seen.add(id(written))
            yield from of_function(written, seen)
    elif isinstance(value, tuple | frozenset):
        yield type(value).__name__
        items = value if isinstance(value, tuple) else sorted(value, key=repr)
        for item in items:
            yield from described(item, seen)
    elif value is None or value is Ellipsis or type(value) in (bool, int, float, complex, str):
        yield f"{type(value).__name__} {value!r}"
    elif isinstance(value, bytes):
        yield value.hex()
    elif isinstance(value, np.ndarray | np.generic):
        held = np.ascontiguousarray(value)
        yield f"{held.dtype.str} {held.shape} {held.tobytes().hex()}"
    elif isinstance(value, CodeType):
        yield from of_code(value, seen)
    else:
        yield of_library(value)


def of_library(value: Any) -> str:
    """A module, or what a module brings, by name; only of libraries with a version."""
    if isinstance(value, ModuleType):
        home, name = value.__name__, ""
        if home == "shadowtime":  # its primitives are among the sources that name the folder
            return home
    elif isinstance(value, BuiltinFunctionType | type | np.ufunc):
        home = getattr(value, "__module__", None) or "numpy"
        name = value.__name__
    else:
        raise Undigestible
    if home.partition(".")[0] not in STABLE:
        raise Undigestible
    return f"{home}:{name}"


def of_function(function: Callable[..., Any], seen: set[int]) -> Iterator[str]:
    """Code, and what it refers to."""
    code = function.__code__
    yield from of_code(code, seen)
    for name in sorted(names_in(code)):
        if name in function.__globals__:
            yield name
            yield from described(function.__globals__[name], seen)
    for cell in function.__closure__ or ():
        yield from described(cell.cell_contents, seen)


def names_in(code: CodeType) -> set[str]:
    """The names that code looks up, that of inner functions included."""
    found = set(code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            found |= names_in(constant)
    return found


def of_code(code: CodeType, seen: set[int]) -> Iterator[str]:
    """Bytecode, names and constants, without where it was written."""
    yield code.co_code.hex()
    for names in (code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars):
        yield " ".join(names)
    for constant in code.co_consts:
        yield from described(constant, seen)


@lru_cache(maxsize=256)
def is_lasting(use: Use) -> bool:
    """True if a key stays as it is while its job waits: it is then taken once.

    That is so if the function reads fields of the job that do not change and neither the time nor
    a memory; a function that hands the record on to another one is taken to read everything.

    Examples
    --------
    >>> from shadowtime.engine.uses import Use
    >>> from shadowtime.policy.functions import ORDER
    >>> [is_lasting(Use(0, ORDER, f, 2)) for f in (
    ...     lambda now, job: job.procs, lambda now, job: job.wait, lambda now, job: now)]
    [True, False, False]
    """
    if not use.takes.by_record:
        return False
    code = plain(use.function).__code__
    taken = code.co_varnames[: use.handed]
    if any(isinstance(constant, CodeType) for constant in code.co_consts):
        return False
    before = ""
    for step in dis.get_instructions(code):
        if before and (step.opname != "LOAD_ATTR" or step.argval in CHANGING):
            return False
        before = ""
        if step.opname in ("LOAD_FAST", "LOAD_FAST_BORROW") and step.argval == taken[1]:
            before = str(step.argval)
        elif step.opname.startswith(("LOAD_FAST", "STORE_FAST", "DELETE_FAST", "LOAD_DEREF")):
            named = step.argval if isinstance(step.argval, tuple) else (step.argval,)
            if any(name in taken for name in named):
                return False
        elif step.opname in ("LOAD_CLOSURE", "MAKE_CELL"):
            return False
    return True
