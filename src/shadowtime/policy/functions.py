"""Users' functions in slots: which arguments they must take, checked by one rule.

There are two ways to write one. Over the job record, ``function(now, job)`` or ``function(now, job,
user)``: further arguments have defaults and become parameters of the part. Or, for an order,
``priority(wait, estimate, procs)``: passed by position, and nothing else; an argument with a
default would never be filled there, so it is rejected rather than ignored.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from shadowtime.errors import PolicyError, suggested

SERIES = "series"
"""The argument behind those of its slot with which a function gets the run's values over time."""
POSITIONAL = inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD


@dataclass(frozen=True)
class Slot:
    """A slot for a function: its name, and the arguments it gets."""

    name: str
    arguments: tuple[str, ...] = ("now", "job", "user")
    optional: int = 1
    """How many of the last arguments the function may omit."""
    by_record: bool = True

    @property
    def wanted(self) -> str:
        """How a definition looks, as in ``priority(wait, estimate, procs)``."""
        return f"{'function' if self.by_record else 'priority'}({', '.join(self.arguments)})"


PRIORITY = Slot("order", ("wait", "estimate", "procs"), optional=0, by_record=False)
"""The short form of an order: three numbers."""
ORDER = Slot("order")
BACKFILL_KEY = Slot("backfill key")
BACKFILL_TEST = Slot("backfill test", ("now", "job", "user", "reserved"), optional=2)
BEGIN = Slot("begin")
RESERVE = Slot("reserve")
PLAN = Slot("plan", ("now", "job", "user", "start"), optional=0)
ESTIMATE = Slot("estimate")
LEARN = Slot("learn", optional=0)
TIMER = Slot("timer", ("now", "user"), optional=0)
VICTIM = Slot("victim")
PLACE = Slot("place", ("now", "job", "node", "user"))
SELECT = Slot("select", ("now", "jobs", "free"), optional=0)
RESIZE = Slot("resize", ("now", "jobs", "free"), optional=0)
SPEED = Slot("speed", ("now", "jobs", "i"), optional=0)


def plain(function: Callable[..., Any]) -> Callable[..., Any]:
    """The original function, if it is already compiled."""
    written: Callable[..., Any] = getattr(function, "py_func", function)
    return written


def where(function: Callable[..., Any], line: int | None = None) -> str:
    """Name, file and line of a function, for messages.

    Examples
    --------
    >>> import os.path
    >>> where(os.path.join).startswith("join (") and ":" in where(os.path.join)
    True
    """
    written = plain(function)
    name = getattr(written, "__name__", type(written).__name__)
    code = getattr(written, "__code__", None)
    return f"{name} ({code.co_filename}:{line or code.co_firstlineno})" if code else name


def in_words(error: BaseException) -> str:
    """What a user's function raised; of an unknown attribute, the ones that there are.

    Examples
    --------
    >>> from typing import NamedTuple
    >>> class Job(NamedTuple):
    ...     procs: int
    ...     wait: int
    >>> try:
    ...     Job(1, 2).proc
    ... except AttributeError as error:
    ...     print(in_words(error))
    AttributeError: 'Job' object has no attribute 'proc'. Did you mean procs? Known: procs, wait.
    """
    text = f"{type(error).__name__}: {error}"
    if not isinstance(error, AttributeError) or not error.name:
        return text
    known = getattr(error.obj, "_fields", ())
    if hasattr(error.obj, "__dataclass_fields__"):  # with what is worked out from the fields
        known = [one for one in dir(error.obj) if not one.startswith("_")]
    return f"{text}. {suggested(error.name, known)}" if known else text


def takes_record(function: Callable[..., Any]) -> bool:
    """True if a function is written over the job record: its first argument is ``now``.

    Examples
    --------
    >>> takes_record(lambda now, job: job.procs), takes_record(lambda wait, estimate, procs: 0.0)
    (True, False)
    """
    code = getattr(plain(function), "__code__", None)
    return code is not None and code.co_varnames[:1] == ("now",)


def _plain_function(slot: Slot, function: Callable[..., Any]) -> Callable[..., Any]:
    """The function without what wraps it; anything else that can be called is rejected."""
    written = plain(function)
    if not inspect.isfunction(written):
        raise PolicyError(
            f"the {slot.name} must be a plain function {slot.wanted}, not "
            f"{type(written).__name__}: it is compiled"
        )
    return written


def check_arguments(slot: Slot, function: Callable[..., Any]) -> None:
    """Reject a function that does not take exactly the arguments of its slot.

    Examples
    --------
    >>> check_arguments(PRIORITY, lambda wait, estimate, procs: 0.0)
    >>> check_arguments(PRIORITY, lambda wait, estimate: 0.0)
    Traceback (most recent call last):
    ...
    shadowtime.errors.PolicyError: the order function <lambda> ... takes (wait, estimate): ...
    """
    signature = inspect.signature(_plain_function(slot, function))
    kinds = [found.kind for found in signature.parameters.values()]
    count = len(slot.arguments) + (slot.by_record and takes_series(function))
    if len(kinds) != count or not all(kind in POSITIONAL for kind in kinds):
        raise PolicyError(
            f"the {slot.name} function {where(function)} takes {_shown(signature)}: it gets "
            f"{len(slot.arguments)} arguments and no more, ({', '.join(slot.arguments)}); write "
            "constants into the function or beside it"
        )


def parameters_of(slot: Slot, function: Callable[..., Any]) -> dict[str, Any]:
    """The parameters of a function over the job record, with their defaults.

    Examples
    --------
    >>> def patient(now, job, user, weight=2.0): return weight * job.wait
    >>> parameters_of(ORDER, patient)
    {'weight': 2.0}
    """
    given = inspect.signature(_plain_function(slot, function))
    own = {}
    handed = []
    for name, found in given.parameters.items():
        if found.kind not in POSITIONAL:
            raise _wrong(slot, function, given, f"*{name} and keyword-only arguments")
        if found.default is inspect.Parameter.empty:
            handed.append(name)
            continue
        value = found.default
        if not isinstance(value, bool | int | float) or not math.isfinite(value):
            raise PolicyError(
                f"the {slot.name} function {where(function)} has the parameter {name}={value!r}: "
                "a parameter must be a number or True or False"
            )
        own[name] = value
    count = len(slot.arguments)
    if handed[-1:] == [SERIES]:
        handed.pop()
    if tuple(handed) != slot.arguments[: len(handed)] or len(handed) < count - slot.optional:
        raise _wrong(slot, function, given, "other arguments")
    return own


def handed_to(slot: Slot, function: Callable[..., Any]) -> int:
    """How many of the slot's arguments a function takes."""
    given = inspect.signature(plain(function)).parameters.values()
    count = sum(found.default is inspect.Parameter.empty for found in given)
    return count - takes_series(function)


@lru_cache(maxsize=256)
def takes_series(function: Callable[..., Any]) -> bool:
    """True if the last argument without a default is ``series``.

    Examples
    --------
    >>> takes_series(lambda now, job, series, weight=1: 0), takes_series(lambda now, job: 0)
    (True, False)
    """
    given = inspect.signature(plain(function)).parameters.values()
    free = [found.name for found in given if found.default is inspect.Parameter.empty]
    return free[-1:] == [SERIES]


@lru_cache(maxsize=256)
def fields_read(of: str, function: Callable[..., Any]) -> Mapping[str, int]:
    """The fields of one of its arguments that a function reads, each with its first line.

    Examples
    --------
    >>> list(fields_read("job", lambda now, job: job.wait + now * job.procs))
    ['wait', 'procs']
    """
    import dis

    code = plain(function).__code__
    line, before = code.co_firstlineno, False
    found: dict[str, int] = {}
    for step in dis.get_instructions(code):
        line = step.starts_line or line
        if before and step.opname == "LOAD_ATTR":
            found.setdefault(str(step.argval), line)
        before = step.opname.startswith("LOAD_FAST") and step.argval == of
    return found


def line_using(name: str, function: Callable[..., Any]) -> int | None:
    """The first line on which a function uses one of its arguments; None if it never does.

    Examples
    --------
    >>> line_using("user", lambda now, job, user: job.user) is None
    True
    >>> line_using("user", lambda now, job, user: user[0]) is None
    False
    """
    import dis

    code = plain(function).__code__
    if name not in code.co_varnames[: code.co_argcount]:
        return None
    line: int = code.co_firstlineno
    for step in dis.get_instructions(code):
        line = step.starts_line or line
        named = step.argval if isinstance(step.argval, tuple) else (step.argval,)
        local = "LOAD_FAST" in step.opname or step.opname in ("LOAD_DEREF", "LOAD_CLOSURE")
        if local and name in named:
            return line
    return None


def _wrong(
    slot: Slot, function: Callable[..., Any], given: inspect.Signature, what: str
) -> PolicyError:
    return PolicyError(
        f"the {slot.name} function {where(function)} takes {_shown(given)}: {what} cannot be "
        f"filled; write {slot.wanted}, followed by parameters with a default"
    )


def _shown(signature: inspect.Signature) -> str:
    return str(signature.replace(return_annotation=inspect.Signature.empty))
