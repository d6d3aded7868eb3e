"""Series of a run that functions of a user's own read: ``series.price.at(now)``.

A function takes ``series`` behind the arguments of its slot. Only series that some function names
are handed over, so that its compiled code is the same whatever else a run has.
"""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from shadowtime.engine.columns import names_read
from shadowtime.errors import PolicyError, suggested
from shadowtime.kernel.curve import Curve, pack, register, unpacked
from shadowtime.policy.functions import fields_read, plain, takes_series, where
from shadowtime.types import Floats
from shadowtime.workload import Workload

NO_SERIES: Floats = np.zeros(1)


def series_read(
    functions: Sequence[Callable[..., Any]], workload: Workload | None
) -> tuple[str, ...]:
    """Names of the series that some functions read; one that the run lacks is refused."""
    taking = [plain(function) for function in functions if takes_series(function)]
    known = {} if workload is None else workload.series
    for function in taking:
        for name, line in fields_read("series", function).items():
            if name not in known:
                have = suggested(name, sorted(known)) if known else "It has none."
                raise PolicyError(
                    f"{where(function, line)} reads series.{name}, which the run does not have: "
                    f"give it with --series {name}=FILE.csv. {have}"
                )
        if not names_read(function) & {*known}:
            raise PolicyError(
                f"{where(function)} takes series and reads none of the run's: leave it out"
            )
    named = {name for function in taking for name in names_read(function)}
    return tuple(sorted(named & {*known}))


def packed_series(names: tuple[str, ...], workload: Workload | None) -> Floats:
    """These series as one array (kernel/curve.py)."""
    if not names or workload is None:
        return NO_SERIES
    given = [workload.series[name] for name in names]
    return pack([(*one.steps(), one.period) for one in given])


@lru_cache(maxsize=64)
def series_with(names: tuple[str, ...]) -> Any:
    """The type of the record with these series."""
    return namedtuple("Series", names)


def series_text(names: tuple[str, ...]) -> str:
    """The line of generated code that makes the record from ``given``.

    Examples
    --------
    >>> series_text(("carbon", "price"))
    'series = Series(unpacked(given, 0), unpacked(given, 1))'
    """
    curves = ", ".join(f"unpacked(given, {place})" for place in range(len(names)))
    return f"series = Series({curves})"


def series_record(given: Floats, names: tuple[str, ...]) -> Any:
    """The record as functions in Python get it."""
    return series_with(names)(*(plain(unpacked)(given, place) for place in range(len(names))))


def series_type(names: tuple[str, ...]) -> Any:
    """The record's type in compiled code."""
    from numba import types

    register()
    curve = types.NamedUniTuple(types.float64[::1], len(Curve._fields), Curve)
    return types.NamedUniTuple(curve, len(names), series_with(names))
