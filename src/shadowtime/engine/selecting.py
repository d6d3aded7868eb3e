"""The pointer to a function that chooses a set of jobs: compiled, or a callback into Python.

Both have one type (kernel/choice.py). A compiled function finds the arrays by their addresses. One
in Python is handed views of the same arrays by ctypes, which takes the interpreter's lock for the
call; what it raises is kept and reported when the loop has stopped. A speed function becomes EASY
for jobs at speeds of their own.
"""

from __future__ import annotations

import ctypes
import traceback
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

from shadowtime.engine.columns import Column, queue_with
from shadowtime.engine.digest import Undigestible, digest_of
from shadowtime.engine.failures import compile_failure
from shadowtime.engine.fillers import called, twin
from shadowtime.engine.series import NO_SERIES, series_record, series_text, series_with
from shadowtime.engine.uses import Use
from shadowtime.errors import PolicyError
from shadowtime.kernel import choice as q
from shadowtime.kernel import library
from shadowtime.kernel.changing import NEVER_ENDS, seconds_at
from shadowtime.kernel.curve import register, unpacked
from shadowtime.kernel.jit import cached_cfunc, compiles, own_cfunc
from shadowtime.policy import Policy
from shadowtime.policy.backfill import Selected
from shadowtime.policy.functions import in_words, plain, takes_series, where
from shadowtime.types import Floats

CALLBACK = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64, ctypes.c_int64, ctypes.c_int64)


class Chooser:
    """A function in its slot for one run: its pointer, and why it failed."""

    def __init__(
        self,
        part: Selected,
        columns: tuple[Column, ...] = (),
        names: tuple[str, ...] = (),
        series: Floats = NO_SERIES,
    ) -> None:
        self.part, self.columns, self.names, self.series = part, columns, names, series
        self.function = called_by_pass(part)
        self.values = tuple(part.settings().values())
        self.error: BaseException | None = None
        self.choice: q.Choice | None = None
        self.profile: Any = None
        self._callback: Any = None

    def attach(self, choice: q.Choice, profile: Any) -> Any:
        """The pointer for a run on these arrays."""
        self.choice, self.profile = choice, profile
        if not compiles():
            return Callback(self.call, 0)
        if self.part.compiled:
            choice.address[q.SERIES_AT] = self.series.ctypes.data
            choice.address[q.SERIES_AT + 1] = len(self.series)
            return compile_select(use_of(self.part, self.columns, self.names))
        self._callback = CALLBACK(self.call)
        return Callback(
            self._callback, int(ctypes.cast(self._callback, ctypes.c_void_p).value or 0)
        )

    def call(self, now: int, count: int, address: int = 0) -> int:
        """Call the function in Python; 1 if it raised."""
        try:
            more: tuple[Any, ...] = ()
            if takes_series(self.function):
                more = (series_record(self.series, self.names),)
            plain(self.function)(int(now), self.queue(count), self.free(), *more, *self.values)
        except BaseException as error:
            self.error = error
            return 1
        return 0

    def queue(self, count: int) -> q.Queue:
        """The first ``count`` jobs of the columns, as views."""
        assert self.choice is not None
        own = self.choice.column[: q.COLUMNS, :count]
        more = [
            values[: None if column.whole else count].view(
                np.float64 if column.fractions else np.int64
            )
            for column, values in zip(self.columns, self.choice.column[q.COLUMNS :], strict=True)
        ]
        made: q.Queue = queue_with(self.columns)(*own, self.choice.need[:count], *more)
        return made

    def free(self) -> q.Free:
        """What is free, as views."""
        return q.Free(self.profile.time[0], self.profile.level[0], self.profile.count)

    def failure(self, policy: Policy, slot: int, job: int, now: int, name_of: Any) -> BaseException:
        """What went wrong; a compiled function is called again in Python, which names the line."""
        function = self.part.function
        if slot == q.SELECT:
            return PolicyError(
                f"{policy.name}: the select function {where(function)} starts job {name_of(job)} "
                f"at {now}, but it does not fit into what is free then"
            )
        if self.error is None:
            self.call(now, job)
        if isinstance(self.error, KeyboardInterrupt | SystemExit):
            return self.error
        why = "compiled, it raised an error, in plain Python it raises none"
        line = None
        if self.error is not None:
            why = in_words(self.error)
            file = plain(function).__code__.co_filename
            frames = traceback.extract_tb(self.error.__traceback__)
            line = next((at.lineno for at in reversed(frames) if at.filename == file), None)
        return PolicyError(
            f"{policy.name}: the {self.part.takes.name} function {where(function, line)} failed at "
            f"{now} with {job} jobs in the queue: {why}"
        )


class Callback(library.Address):
    """A function in Python as compiled code takes it."""

    def __init__(self, function: Any, address: int) -> None:
        self.function, self.address, self.make_signature = function, address, q.select_signature

    def __call__(self, now: int, count: int, address: int) -> int:
        return int(self.function(now, count, address))

    @property
    def signature_text(self) -> str:
        """Its type, as the library of kernels names it."""
        return str(q.select_signature())


def called_by_pass(part: Selected) -> Callable[..., Any]:
    """The function that decides a whole pass: the user's, or EASY at its speeds."""
    return easy_at_pace(part.function) if part.paces else part.function


def use_of(part: Selected, columns: tuple[Column, ...] = (), series: tuple[str, ...] = ()) -> Use:
    """The function as digests describe it: other values of its parameters compile nothing."""
    kinds = tuple(type(value).__name__ for value in part.settings().values())
    function = called_by_pass(part)
    return Use(q.SELECT, part.takes, function, 3, kinds, columns=columns, series=series)


@lru_cache(maxsize=64)
def compile_select(use: Use) -> Any:
    """The function as a pointer: from the library, from the cache or compiled."""
    if found := library.filler((plain(use.function),), source_of(use, "select")):
        return library.Held(found, q.select_signature)
    import numba

    try:
        tag, cached = digest_of((use,)), True
    except Undigestible:
        tag, cached = f"own{abs(hash(use)):x}", False
    if use.series:
        register()
    fill = select_of(use, tag)
    made = cached_cfunc(q.select_signature)(fill) if cached else own_cfunc(q.select_signature, fill)
    try:
        made.compiled  # noqa: B018  now, not in the middle of a run
    except numba.core.errors.NumbaError as error:
        raise compile_failure(use.takes.name, use.function, error) from None
    return made


def select_of(use: Use, tag: str) -> Callable[..., Any]:
    """Generate the function behind the pointer, which Numba is to compile."""
    import numba

    name = f"select_{tag}"
    names: dict[str, Any] = {
        "__name__": q.__name__,
        "Queue": queue_with(use.columns),
        "Free": q.Free,
        "Series": series_with(use.series),
        "unpacked": unpacked,
        "np": np,
        "chosen_by": called(twin(plain(use.function), tag)),
        "at": pointer_to("int64"),
        "at_float": pointer_to("float64"),
        "carray": numba.carray,
    }
    exec(compile(source_of(use, name), q.__file__, "exec"), names)
    fill: Callable[..., Any] = names[name]
    return fill


def pointer_to(kind: str) -> Any:
    """Turns an address into a pointer inside compiled code."""
    from numba import types
    from numba.extending import intrinsic

    @intrinsic  # type: ignore[untyped-decorator]
    def at(typing: Any, address: Any) -> Any:
        def code(context: Any, builder: Any, signature: Any, given: Any) -> Any:
            return builder.inttoptr(given[0], context.get_value_type(signature.return_type))

        return types.CPointer(getattr(types, kind))(types.int64), code

    return at


def source_of(use: Use, name: str) -> str:
    """The text of the function behind the pointer: arrays from addresses, then the call."""
    columns = ", ".join(f"column[{k}, :count]" for k in range(q.COLUMNS))
    values = "".join(f", {kind}(values[{k}])" for k, kind in enumerate(use.values))
    count = q.COLUMNS + len(use.columns)
    more = "".join(
        f", column[{q.COLUMNS + k}{'' if column.whole else ', :count'}]"
        f"{'.view(np.float64)' if column.fractions else ''}"
        for k, column in enumerate(use.columns)
    )
    series = ""
    if takes_series(use.function):
        series = f"given = carray(at_float(known[{q.SERIES_AT}]), known[{q.SERIES_AT + 1}])\n"
        series += f"    {series_text(use.series)}"
        values = f", series{values}"
    return f"""
def {name}(now, count, address):
    known = carray(at(address), {q.ADDRESSES})
    values = carray(at_float(known[8]), {max(1, len(use.values))})
    column = carray(at(known[0]), ({count}, known[5]))
    need = carray(at(known[1]), (known[5], known[6]))
    time = carray(at(known[2]), known[7])
    level = carray(at(known[3]), (known[7], known[6]))
    steps = carray(at(known[4]), 1)
    queue = Queue({columns}, need[:count]{more})
    free = Free(time, level, steps)
    {series}
    try:
        chosen_by(now, queue, free{values})
    except Exception:
        return 1
    return 0
"""


@lru_cache(maxsize=64)
def easy_at_pace(speed: Callable[..., Any]) -> Callable[..., Any]:
    """The pass in which ``speed(now, jobs, i)`` chooses every job's speed (spec: changing 3.5)."""

    def at_pace(now: int, jobs: Any, free: q.Free, *values: Any) -> None:
        blocked = False
        for i in range(len(jobs.procs)):
            jobs.speed[i] = speed(now, jobs, i, *values)
            if jobs.suspended[i] > 0:  # it keeps all but its processors
                jobs.need[i, 0] = 0
                q.occupy(free, jobs.need[i], now, now + NEVER_ENDS)
                jobs.need[i, :] = 0
                jobs.need[i, 0] = jobs.procs[i]
            if jobs.held[i] > 0:
                seconds = seconds_at(jobs, i, jobs.held[i], jobs.speed[i])
                if jobs.speed[i] == 0:
                    jobs.need[i, 0] = 0
                q.occupy(free, jobs.need[i], now, now + seconds)
        for i in range(len(jobs.procs)):
            if jobs.held[i] > 0 or jobs.speed[i] == 0:
                continue
            seconds = seconds_at(jobs, i, jobs.procs[i], jobs.speed[i])
            begin = q.earliest(free, jobs.need[i], seconds)
            if begin == now:
                jobs.size[i] = jobs.procs[i]
            else:
                if jobs.suspended[i] > 0:
                    jobs.speed[i] = 0
                if blocked:
                    continue
                blocked = True
                jobs.promised[i] = begin if jobs.promised[i] < 0 else jobs.promised[i]
            q.occupy(free, jobs.need[i], begin, begin + seconds)

    return at_pace
