"""A part that is a user's function: its parameters, its memory, what it learns.

The decorators of ``shadowtime`` (``st.order``, ``st.estimate``, ...) create such parts. The engine
compiles the function (engine/fillers.py); here it is only described.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from copy import copy
from dataclasses import Field, dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

from shadowtime.errors import PolicyError
from shadowtime.policy import functions as f
from shadowtime.policy.part import Part, parameter, show

if TYPE_CHECKING:
    from shadowtime.policy.estimate import Estimate
    from shadowtime.policy.policy import Policy

Moment = Literal["submit", "start", "end", "timer"]
MOMENTS: tuple[Moment, ...] = ("submit", "start", "end", "timer")
KEYS = ("user", "account", "executable", "all")
"""Whose rows a memory may hold; the last is one row for all jobs together."""
ALL = KEYS.index("all")
LONGEST = 1_000_000_000
"""Seconds between two calls of a timer, at most."""
MOST_MEMORY = 64
"""The largest number of values that a function may keep for each user."""

_KEPT: ContextVar[bool] = ContextVar("faults are kept", default=False)


@contextmanager
def faults_kept() -> Iterator[None]:
    """Within this block a faulty definition raises nothing: the part raises it when it is used.

    A file of several functions is loaded so, and one of them that is wrong leaves the others.
    """
    token = _KEPT.set(True)
    try:
        yield
    finally:
        _KEPT.reset(token)


def nothing(now: int, job: Any) -> float:
    """The default if no function is given."""
    return 0.0


@dataclass(frozen=True)
class Written(Part):
    """A user's function with the values of its parameters.

    Examples
    --------
    >>> from shadowtime.policy.order import Custom
    >>> def aged(now, job, user, weight=2.0): return weight * job.wait
    >>> part = Custom(aged)
    >>> print(part, part(weight=3), part(weight=3).settings())
    aged aged(weight=3) {'weight': 3.0}
    """

    written: ClassVar[bool] = True
    takes: ClassVar[f.Slot]
    function: Callable[..., Any] = nothing
    values: tuple[tuple[str, Any], ...] = ()
    """Parameters that differ from their defaults."""
    memory: int = 0
    """The number of values that the engine keeps for the function, for each user."""
    by: str = "user"
    """Whose they are: each user's, account's or executable's, or one row for all jobs."""
    learners: tuple[tuple[Moment, Callable[..., Any]], ...] = field(default=(), compare=False)
    timers: tuple[tuple[int, Callable[..., Any]], ...] = field(default=(), compare=False)
    """Functions that are called at regular intervals."""
    columns: tuple[tuple[str, Estimate], ...] = ()
    """Columns that predictors fill for every job before the run, by name."""
    fault: ClassVar[PolicyError | None] = None
    """What is wrong with the definition, where a file defines other parts too."""

    @property
    def functions(self) -> tuple[Written, ...]:
        return (self,)

    @property
    def called_by(self) -> f.Slot:
        """What the function is handed, where that is not what its slot hands to all."""
        return self.takes

    def objections(self, policy: Policy, shape: str) -> Iterator[str]:
        if self.fault is not None:
            yield str(self.fault)
        if shape == "site" and policy.keeps_promises and (self.learners or self.timers):
            yield (
                f"with lasting promises on a site, {self.slot}={self} cannot learn; remove its "
                "learn function, or use reserve=all"
            )
        yield from super().objections(policy, shape)

    def __post_init__(self) -> None:
        with self._fault_kept():
            self.check_definition()
        text = (f.plain(self.function).__doc__ or "").strip()
        if text:  # a part's summary is of its class, this one's is the function's
            object.__setattr__(self, "summary", text.splitlines()[0].rstrip("."))

    @contextmanager
    def _fault_kept(self) -> Iterator[None]:
        """Keep what is wrong with the part until it is used, where ``faults_kept`` applies."""
        try:
            yield
        except PolicyError as error:
            if not _KEPT.get():
                raise
            object.__setattr__(self, "fault", self.fault or error)

    def check_definition(self) -> None:
        """Reject a function that its slot cannot call, and one whose memory is not declared."""
        self.check_function()
        if not isinstance(self.memory, int) or not 0 <= self.memory <= MOST_MEMORY:
            raise PolicyError(
                f"{f.where(self.function)}: memory={self.memory} must lie between 0 and "
                f"{MOST_MEMORY}, the most numbers that a function may keep for each user"
            )
        if self.by not in KEYS:
            raise PolicyError(
                f"{f.where(self.function)}: by={self.by!r} must be one of {', '.join(KEYS)}"
            )
        for name, predictor in self.columns:
            if not name.isidentifier() or not predictor.from_log:
                raise PolicyError(
                    f"{f.where(self.function)}: columns={{{name!r}: {str(predictor)!r}}} must give "
                    "a name that can follow a dot, and an estimate that predicts from a log, such "
                    'as "user-quantile(quantile=0.9)"'
                )
        used = f.line_using("user", self.function) if self.memory == 0 else None
        if used is not None:
            raise PolicyError(
                f"the {self.takes.name} function {f.where(self.function, used)} uses user, but has "
                f"no memory: declare how many numbers it keeps, as in @st.{self.decorator}"
                "(memory=2)"
            )

    @property
    def decorator(self) -> str:
        """The name in ``shadowtime`` of the decorator that makes such a part."""
        return self.takes.name.replace(" ", "_")

    def check_function(self) -> None:
        """Reject a function that does not take the arguments of its slot."""
        f.parameters_of(self.takes, self.function)

    @property
    def label(self) -> str:
        """The function's name."""
        return str(getattr(f.plain(self.function), "__name__", "function"))

    def __str__(self) -> str:
        given = ", ".join(f"{name}={show(value)}" for name, value in self.values)
        name = self.label.replace("_", "-") if self.bundled else self.label
        return f"{name}({given})" if given else name

    @property
    def bundled(self) -> bool:
        """True for the functions of the catalogue, whose names are written with hyphens."""
        return str(f.plain(self.function).__module__).startswith("shadowtime.policy.catalogue.")

    def declared(self) -> dict[str, Field[Any]]:
        """The function's arguments with a default are its parameters."""
        defaults = f.parameters_of(self.takes, self.function)
        return {name: parameter(value) for name, value in defaults.items()}

    def settings(self) -> dict[str, Any]:
        """Every parameter with its value."""
        defaults = f.parameters_of(self.takes, self.function)
        return defaults | dict(self.values)

    def __call__(self, **changes: Any) -> Self:
        """The same function with other values of its parameters."""
        return self.with_values(**changes)

    def with_values(self, **changes: Any) -> Self:
        """The part with some parameters set."""
        if self.fault is not None:
            return self
        defaults = f.parameters_of(self.takes, self.function)
        values = dict(self.values)
        for name, value in changes.items():
            if name not in defaults:
                known = ", ".join(defaults) or "it has none"
                raise PolicyError(
                    f"{self.takes.name} {self.label} has no parameter {name!r}. Known: {known}."
                )
            kind = type(defaults[name])
            number = isinstance(value, bool | int | float) and math.isfinite(value)
            if not number or (kind is int and value != int(value)):
                word = {bool: "True or False", int: "a whole number"}.get(kind, "a finite number")
                raise PolicyError(f"{self.label}.{name} must be {word}, not {value!r}")
            values[name] = kind(value)
        kept = tuple((name, values[name]) for name in defaults if name in values)
        changed = tuple(pair for pair in kept if pair[1] != defaults[pair[0]])
        made = copy(self)
        object.__setattr__(made, "values", changed)
        return made

    def learn(self, function: Any = None, *, on: Moment = "end", every: int | None = None) -> Any:
        """Decorate a function (now, job, user) that writes into the memory when a job ends.

        ``on="submit"`` and ``on="start"`` are called at those times instead. ``on="timer"`` takes
        ``every`` seconds and a function (now, user), which is called for each row of the memory
        whenever the clock is at a multiple of that.
        """
        if function is None:
            return lambda written: self.learn(written, on=on, every=every)
        with self._fault_kept():
            self._add_learner(function, on, every)
        return function

    def _add_learner(self, function: Any, on: Moment, every: int | None) -> None:
        f.check_arguments(f.TIMER if on == "timer" else f.LEARN, function)
        if on not in MOMENTS:
            raise PolicyError(f"{self.label}: learn on={on!r} must be one of {', '.join(MOMENTS)}")
        if self.memory == 0:
            raise PolicyError(
                f"{f.where(function)} has nothing to write into: declare the memory, as in "
                f"@st.{self.decorator}(memory=2)"
            )
        timed = isinstance(every, int) and 1 <= every <= LONGEST
        if (on == "timer") != (every is not None) or (on == "timer" and not timed):
            raise PolicyError(
                f'{self.label}: a timer is learn(on="timer", every=SECONDS) with whole seconds '
                f"between 1 and {LONGEST}, not on={on!r}, every={every!r}"
            )
        if on == "timer":
            object.__setattr__(self, "timers", (*self.timers, (every, function)))
            return
        # The name of the part is bound already: a decorator below it can only add to that value.
        object.__setattr__(self, "learners", (*self.learners, (on, function)))
