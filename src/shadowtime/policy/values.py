"""From texts to parameter values and parts."""

from __future__ import annotations

import math
import re
from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar

from shadowtime.errors import PolicyError, similar
from shadowtime.policy.catalogue import written_parts
from shadowtime.policy.part import Part

if TYPE_CHECKING:
    from collections.abc import Iterable
    from dataclasses import Field

    from shadowtime.policy.grammar import Call

YES, NO = ("yes", "true", "on", "1"), ("no", "false", "off", "0")
SomePart = TypeVar("SomePart", bound=Part)


@cache
def parts() -> dict[str, dict[str, Part]]:
    """Every part by slot and name; loaded when a policy names one.

    Examples
    --------
    >>> list(parts()["partition"])[:1]
    ['anywhere']
    """
    from shadowtime.policy import (
        backfill,
        estimate,
        order,
        partition,
        place,
        predictors,
        preempt,
        reserve,
    )

    return {
        "order": {**order.NAMED, **written_parts("order")},
        "reserve": {
            "none": reserve.NoReservation(),
            "depth": reserve.Depth(),
            "all": reserve.Depth(reserve.ALL),
            "kept": reserve.Conservative(),
            "sunny": reserve.Sunny(),
            **written_parts("reserve"),
        },
        "backfill": {**backfill.NAMED, **written_parts("backfill")},
        "place": dict(place.NAMED),
        "estimate": {**estimate.NAMED, **predictors.NAMED},
        "preempt": dict(preempt.NAMED),
        "partition": dict(partition.NAMED),
    }


def near(name: str, known: Iterable[str]) -> str:
    """Suggestions for an unknown name: the nearest ones first.

    Examples
    --------
    >>> near("esay", ["easy", "fcfs"])
    'Did you mean easy? Known: easy, fcfs.'
    """
    names = list(known)
    close = similar(name, names, most=3, cutoff=0.5)
    guess = f"Did you mean {' or '.join(close)}? " if close else ""
    return f"{guess}Known: {', '.join(names)}."


def part_from(slot: str, call: Call) -> Part:
    """The part that a text names for a slot; a number in ``reserve`` is a depth."""
    if slot == "reserve" and re.fullmatch(r"[0-9]{1,9}", call.name):
        from shadowtime.policy import reserve

        depth = int(call.name)
        return reserve.Depth(depth) if depth > 0 else reserve.NoReservation()
    known = parts()[slot]
    if call.name not in known:
        count = "A number from 0 is how many jobs get a reservation. " if slot == "reserve" else ""
        raise PolicyError(f"unknown {slot} {call.name!r}. {count}{near(call.name, known)}")
    return with_settings(known[call.name], call.arguments)


def with_settings(part: SomePart, arguments: dict[str, Call]) -> SomePart:
    """The part with some parameters set from texts."""
    known = part.declared()
    changes = {}
    for key, call in arguments.items():
        if key not in known:
            raise PolicyError(
                f"{part.slot} {part.name} has no parameter {key!r}. "
                + (near(key, known) if known else "It has none.")
            )
        changes[key] = value_of(f"{part.name}.{key}", known[key], call)
    return part.with_values(**changes)


def value_of(what: str, declared: Field[Any], call: Call) -> Any:
    """A parameter's value from its text, checked against its declared type, range and choices."""
    text = call.name
    kind: Any = type(declared.default)
    if call.arguments:
        raise PolicyError(f"{what} takes a plain value, not {text}(...)")
    value: Any = text
    if kind is bool:
        if text.lower() not in YES + NO:
            raise PolicyError(f"{what} must be yes or no, not {text!r}")
        return text.lower() in YES
    if kind in (int, float):
        try:
            value = kind(text)
        except ValueError:
            word = "whole number" if kind is int else "number"
            raise PolicyError(f"{what} must be a {word}, not {text!r}") from None
        if not math.isfinite(value):
            raise PolicyError(f"{what} must be finite, not {text}")
        low, high = declared.metadata["low"], declared.metadata["high"]
        if (low is not None and value < low) or (high is not None and value > high):
            raise PolicyError(f"{what} must lie between {low} and {high}, not {text}")
    choices = declared.metadata["choices"]
    if choices and value not in choices:
        raise PolicyError(f"{what} must be one of {', '.join(choices)}, not {text!r}")
    return value
