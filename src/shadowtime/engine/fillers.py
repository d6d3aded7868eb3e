"""Functions of a user's own, compiled into the engine behind one typed function pointer.

One type for all of them: the passes are compiled once, whatever the functions. The pointer is
called once a pass and slot for all candidates together, so that not inlining it costs nothing. An
exception cannot leave such a pointer, so the filler catches it and returns the candidate; the pass
notes slot and job (FAILED), the loop stops (BROKEN), and failures.py reports it.

The filler is a small generated function that calls the user's ones. It is kept in the kernels'
cache under a name that holds the digest of everything it is made of (digest.py), so that a second
process compiles nothing. Functions that have no digest are compiled in every process. Those of the
catalogue lie in the library that a wheel carries, as long as their parameters have their defaults.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from types import CellType, FunctionType
from typing import TYPE_CHECKING, Any

import numpy as np

from shadowtime.engine.columns import record_text, record_with
from shadowtime.engine.digest import Undigestible, digest_of, names_in
from shadowtime.engine.failures import compile_failure
from shadowtime.engine.series import series_text, series_type, series_with
from shadowtime.kernel import library
from shadowtime.kernel import record as home
from shadowtime.kernel.curve import register, unpacked
from shadowtime.kernel.jit import cached_cfunc, compiles, own_cfunc
from shadowtime.kernel.slots import LEARN_TIMER, PLACE
from shadowtime.policy.functions import LEARN, TIMER, plain, takes_series

if TYPE_CHECKING:
    from shadowtime.engine.uses import Use


@lru_cache(maxsize=256)
def compile_uses(uses: tuple[Use, ...]) -> Any:
    """The filler for some functions: from the library, from the cache or compiled."""
    functions = [plain(use.function) for use in uses]
    if compiles() and (found := library.filler(functions, source_of(uses, "fill"))):
        return library.Held(found, home.own_signature)
    try:
        digest = digest_of(uses)
    except Undigestible:
        return make_filler(uses, f"own{abs(hash(uses)):x}", cached=False)
    return compiled_before(Digested(digest, uses))


@dataclass(frozen=True)
class Digested:
    """Functions are the same if their digest is: a file that is read again defines new ones."""

    digest: str
    uses: tuple[Use, ...]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Digested) and self.digest == other.digest

    def __hash__(self) -> int:
        return hash(self.digest)


@lru_cache(maxsize=256)
def compiled_before(found: Digested) -> Any:
    """The filler of this process for a digest."""
    return make_filler(found.uses, found.digest, cached=True)


def filler_of(uses: tuple[Use, ...], tag: str) -> Any:
    """Generate the filler: plain Python that calls functions which Numba is to compile."""
    name = f"fill_{tag}"
    names: dict[str, Any] = {
        "__name__": home.__name__,
        "record": home.record,
        "node_record": home.node_record,
        "Job": record_with(uses[0].columns),
        "Series": series_with(uses[0].series),
        "unpacked": unpacked,
        "np": np,
    }
    for number, use in enumerate(uses):
        written = plain(use.function)
        names[f"f{number}"] = called(twin(written, tag)) if compiles() else written
    # Under the record's file, the cache folder is that of the record's sources: all it depends on.
    exec(compile(source_of(uses, name), home.__file__, "exec"), names)
    return names[name]


CHECKED = {"boundscheck": True}
"""How code of a user's own is compiled: a wrong index is an error, as in Python. Unchecked, it
would read or write whatever lies there (`scripts/bench own` measures the cost)."""


def called(function: Callable[..., Any]) -> Any:
    """The object of Numba for a function that the filler alone calls.

    The wrappers for calls from elsewhere would take apart every field of the record or the queue,
    and take longer to compile than most functions.
    """
    import numba

    unused = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}
    try:
        return numba.njit(**unused, **CHECKED)(function)
    except (KeyError, TypeError):  # a Numba without these private options
        return numba.njit(**CHECKED)(function)


def make_filler(uses: tuple[Use, ...], tag: str, *, cached: bool) -> Any:
    """Generate the filler and compile it."""
    fill = filler_of(uses, tag)
    if not compiles():
        return own_cfunc(home.own_signature, fill)
    import numba

    if uses[0].series:
        register()
    made = cached_cfunc(home.own_signature)(fill) if cached else own_cfunc(home.own_signature, fill)
    try:
        made.compiled  # noqa: B018  now, not in the middle of a run
    except numba.core.errors.NumbaError as error:
        for use in uses:
            refuse_uncompilable(use)
        raise compile_failure(uses[0].takes.name, uses[0].function, error) from None
    return made


def source_of(uses: tuple[Use, ...], name: str) -> str:
    """The text of the filler: a loop over the candidates for each slot, of a place over nodes.

    Examples
    --------
    >>> from shadowtime.engine.uses import Use
    >>> from shadowtime.policy.functions import RESERVE as takes
    >>> use = Use(0, takes, lambda now, job, weight=2: weight * job.wait, 2, (3,))
    >>> [line.strip() for line in source_of((use,), "fill").splitlines() if "f0" in line]
    ['out[i] = f0(now, row, 3)']
    """
    lines = [f"def {name}(slot, now, job, fact, jobs, memory, given, out):"]
    if uses[0].series:
        lines.append(f"    {series_text(uses[0].series)}")
    for slot in sorted({use.slot for use in uses}):
        count, at = ("len(out)", "jobs[0]") if slot == PLACE else ("len(jobs)", "jobs[i]")
        lines += [
            f"    if slot == {slot}:",
            f"        for i in range({count}):",
            f"            at = {at}",
        ]
        if slot < LEARN_TIMER:
            lines += [f"            {line}" for line in record_text(uses[0].columns)]
        for number, use in enumerate(uses):
            if use.slot != slot:
                continue
            made = f"f{number}({use.arguments})"
            if use.takes in (LEARN, TIMER):  # what it wrote before it failed is taken back, so
                lines += [  # that failures.py finds what it was called with
                    f"            before = {use.row}.copy()",
                    "            try:",
                    f"                {made}",
                    "            except Exception:",
                    f"                {use.row}[:] = before",
                    "                return i",
                ]
            else:
                lines += [
                    "            try:",
                    f"                out[i] = {made}",
                    "            except Exception:",
                    "                return i",
                    "            if out[i] != out[i]:",  # nan: before every job and behind it
                    "                return i",
                ]
    return "\n".join([*lines, "    return -1", ""])


def twin(function: Callable[..., Any], tag: str, made: dict[int, Any] | None = None) -> Any:
    """A copy of a function under a name of its own, and the functions it calls compiled with it.

    Symbols of compiled code go by name: two functions of one name, loaded from the cache, would be
    taken for each other. Globals are copied, so that the cached code depends on no other module.
    """
    import numba

    made = {} if made is None else made
    if id(function) in made:
        return made[id(function)]
    made[id(function)] = function
    number = len(made)

    def own(value: Any) -> Any:
        inner = plain(value)
        if isinstance(inner, FunctionType):
            return numba.njit(**CHECKED)(twin(inner, tag, made))
        return value

    code = function.__code__
    name = f"{code.co_name.strip('<>')}_{tag}_{number}"
    used = {n: own(function.__globals__[n]) for n in names_in(code) if n in function.__globals__}
    cells = tuple(CellType(own(cell.cell_contents)) for cell in function.__closure__ or ())
    renamed = code.replace(co_name=name, co_qualname=name)
    copy = FunctionType(renamed, {"__name__": home.__name__, **used}, name, None, cells or None)
    made[id(function)] = copy
    return copy


def refuse_uncompilable(use: Use) -> None:
    """Compile one function alone, for the compiler's message about it."""
    import numba
    from numba import types

    kind = record_with(use.columns)
    more = [types.float64 if column.fractions else types.int64 for column in use.columns]
    whole = types.BaseTuple.from_types([types.int64] * len(home.Job._fields) + more, kind)
    kinds: list[Any] = [types.int64, whole, types.float64[::1], types.float64]
    if use.slot == PLACE:
        node = types.NamedUniTuple(types.int64, len(home.Node._fields), home.Node)
        kinds = [types.int64, whole, node, types.float64[::1]]
    if use.takes is TIMER:
        kinds = [types.int64, types.float64[::1]]
    kinds = kinds[: use.handed]
    if not use.takes.by_record:
        kinds = [types.int64] * use.handed
    elif takes_series(use.function):
        kinds.append(series_type(use.series))
    kinds += [numba.typeof(value) for value in use.values]
    try:
        own = numba.njit(twin(plain(use.function), "alone"))
        own.compile(tuple(kinds))
        (made,) = own.nopython_signatures
        returned = types.unliteral(made.return_type)
        number = isinstance(returned, types.Float | types.Integer | types.Boolean)
        if use.takes not in (LEARN, TIMER) and not number:
            raise numba.core.errors.TypingError(f"It returns {returned}, not a number")
    except numba.core.errors.NumbaError as error:
        raise compile_failure(use.takes.name, use.function, error) from None
