"""How kernels are declared: what Python calls, what they call, what is passed as a pointer.

A declaration compiles nothing and does not import Numba, which alone takes longer than a simulation
of 50,000 jobs. An entry that lies in the library made when the package was built (library.py) is
called there; any other is compiled by Numba when it is first called, and kept (numba_cache.py).
With ``NUMBA_DISABLE_JIT`` in the environment every function here stays plain Python.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import cached_property, partial, update_wrapper
from operator import is_
from threading import RLock
from typing import Any, TypeVar, cast

import numpy as np

from shadowtime.kernel import library
from shadowtime.kernel.notice import numba_is_here

Function = TypeVar("Function", bound="Callable[..., Any]")

OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy"}
"""No fastmath: results must not depend on the compiler's optimisations."""

BARE: dict[str, Any] = {"_nrt": False}
"""No reference counting: kernels allocate nothing."""

INNER: dict[str, Any] = BARE | {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}
"""Called by kernels alone."""

_one_at_a_time = RLock()
"""Threads that meet at a function share one object of Numba's, so that it is compiled once."""


def compiles() -> bool:
    """False where the kernels stay plain Python."""
    return os.environ.get("NUMBA_DISABLE_JIT", "0") in ("", "0")


class Kernel:
    """A function that Numba compiles when another compiled function, or Python, needs it.

    Called directly it is plain Python.
    """

    def __init__(self, function: Any, options: dict[str, Any]) -> None:
        update_wrapper(self, function)
        self.py_func, self.options = function, options

    def __call__(self, *arguments: Any) -> Any:
        return self.py_func(*arguments)

    @cached_property
    def dispatcher(self) -> Any:
        """Numba's object for this function."""
        with _one_at_a_time:
            if "dispatcher" not in self.__dict__:
                self.__dict__["dispatcher"] = self._made()
            return self.__dict__["dispatcher"]

    def _made(self) -> Any:
        import numba

        from shadowtime.kernel.numba_cache import cached_by_digest
        from shadowtime.kernel.numba_reference import for_all_constants

        numba_is_here()
        with cached_by_digest():
            try:
                made = numba.njit(**(OPTIONS | self.options), **self._pipeline())(self.py_func)
                return for_all_constants(made)
            except (KeyError, TypeError):  # a Numba without one of the private options
                kept = {"cache": self.options["cache"]} if "cache" in self.options else {}
                return numba.njit(**OPTIONS, **kept)(self.py_func)

    def _pipeline(self) -> dict[str, Any]:
        """The compiler for a function that Python never calls, where this Numba allows one."""
        try:
            from shadowtime.kernel.numba_inner import InnerCompiler
        except ImportError:
            return {}
        return {"pipeline_class": InnerCompiler}

    @property
    def _numba_type_(self) -> Any:
        """What Numba takes this object for inside a compiled function."""
        import numba

        return numba.typeof(self.dispatcher)


class Entry(Kernel):
    """A kernel that Python calls: from the library if it holds it for these arguments.

    Numba works out the types of a tuple that holds a Pointer in Python, at every call, which takes
    longer than most passes. So the code for such arguments is remembered by their kinds and called
    directly. Without a Pointer Numba's own lookup is faster.
    """

    def __init__(self, function: Any, options: dict[str, Any]) -> None:
        super().__init__(function, options)
        self.direct: dict[Any, Callable[..., Any]] = {}
        self.compilations = 0  # of Numba's, when we last looked
        self.kept: tuple[tuple[Any, ...], Callable[[], Any]] | None = None
        """The last arguments, where all were tuples of arrays, and the call with them.

        The same objects lie where they lay: fifty arrays are not looked at again.
        """

    @cached_property
    def versions(self) -> tuple[library.Version, ...]:
        """What the library holds of it, one version for each kind of arguments."""
        return library.versions(self.py_func)

    def _pipeline(self) -> dict[str, Any]:
        return {}  # Numba's own: Python needs the address

    def __call__(self, *arguments: Any) -> Any:
        kept = self.kept
        if kept is not None and all(map(is_, kept[0], arguments)):
            return kept[1]()
        tables = all(isinstance(one, tuple) for one in arguments)
        for version in self.versions:
            if (values := version.values(arguments)) is not None:
                call = version.ready(values)
                if tables:
                    self.kept = arguments, call
                return call()
        if self.direct and (known := self.direct.get(_kinds(arguments))) is not None:
            return known(*arguments)
        done = self.dispatcher(*arguments)
        if self.direct or len(self.dispatcher.overloads) > self.compilations:
            self.compilations = len(self.dispatcher.overloads)
            self._remember(arguments)
        if tables and (run := self.dispatcher.overloads.get(self._types(arguments))) is not None:
            self.kept = arguments, partial(run.entry_point, *arguments)
        return done

    def _types(self, arguments: tuple[Any, ...]) -> tuple[Any, ...]:
        return tuple(self.dispatcher.typeof_pyval(each) for each in arguments)

    def _remember(self, arguments: tuple[Any, ...]) -> None:
        """Call the code for such arguments directly from now on, if a Pointer is among them.

        Not if another object has a Numba type of its own, which its class does not tell.
        """
        leaves: list[Any] = []
        library.flatten(arguments, leaves)
        pointers = [hasattr(leaf, "signature_text") for leaf in leaves]
        typed = [hasattr(leaf, "_numba_type_") for leaf in leaves]
        if any(pointers) and pointers == typed:
            types = self._types(arguments)
            if types in self.dispatcher.overloads:  # not where Numba converted an argument
                self.direct[_kinds(arguments)] = self.dispatcher.overloads[types].entry_point


def _kinds(arguments: tuple[Any, ...]) -> tuple[Any, ...]:
    """What decides the types of arguments, for a table.

    Arrays by the type and order of their elements, pointers by their signatures, everything else
    by its class.
    """
    found: list[Any] = []
    for value in arguments:
        kind = type(value)
        if kind is np.ndarray:
            found.append((value.dtype, value.ndim, value.flags.num))
        elif isinstance(value, tuple):
            found.append((kind, _kinds(value)))
        else:
            found.append(getattr(value, "signature_text", kind))
    return tuple(found)


class Pointer(library.Address):
    """A compiled function that kernels take as an argument."""

    def __init__(self, function: Any, signature: Callable[[], Any], options: Any) -> None:
        update_wrapper(self, function)
        self.py_func, self.make_signature, self.options = function, signature, options

    def __call__(self, *arguments: Any) -> Any:
        return self.py_func(*arguments)

    @cached_property
    def _found(self) -> tuple[str, int] | None:
        return library.pointer(self.py_func)

    @cached_property
    def compiled(self) -> Any:
        """Numba's object for it."""
        import numba

        from shadowtime.kernel.numba_cache import cached_by_digest

        numba_is_here()
        with cached_by_digest():
            return numba.cfunc(self.make_signature(), nopython=True, **self.options)(self.py_func)

    @property
    def address(self) -> int:
        """Where the code lies."""
        return self._found[1] if self._found else int(self.compiled.address)

    @cached_property
    def signature_text(self) -> str:
        """Its type, as the library names it."""
        return self._found[0] if self._found else str(self.make_signature())


def kernel(function: Function) -> Function:
    """Compile a function that other kernels call: arrays and scalars only, no allocation.

    Without allocation Numba's reference counting can be left out (``_nrt=False``), and the
    function is inlined into its caller, so that passing a State costs nothing; together that makes
    the event loop six times faster (measured).
    """
    return _declared(Kernel, function, INNER | {"forceinline": True})


def routine(function: Function) -> Function:
    """Like kernel, but not inlined: for large functions that are called now and then.

    Inlining everything everywhere would cost compile time for nothing.
    """
    return _declared(Kernel, function, INNER)


def entry(function: Function) -> Function:
    """Compile a kernel that Python calls; only these are cached, with all that they inline."""
    return _declared(Entry, function, BARE | {"cache": True})


def _declared(kind: type[Kernel], function: Function, options: dict[str, Any]) -> Function:
    return cast("Function", kind(function, options)) if compiles() else function


def cached_cfunc(signature: Callable[[], Any], **options: Any) -> Callable[[Function], Any]:
    """Compile a function to a typed pointer; ``signature`` makes its type when Numba is there."""

    def declared(function: Function) -> Any:
        return Pointer(function, signature, {"cache": True} | options) if compiles() else function

    return declared


def own_cfunc(signature: Callable[[], Any], function: Callable[..., Any]) -> Any:
    """The same for a function made at run time, which no cache could recognise."""
    return Pointer(function, signature, {}) if compiles() else function
