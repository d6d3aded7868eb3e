"""From texts to parameter values and parts."""

from __future__ import annotations

import inspect
import math
import re
from dataclasses import Field
from functools import cache
from typing import Any, TypeVar

from shadowtime.errors import PolicyError, suggested
from shadowtime.plugins import POLICIES, PREDICTORS, plugins
from shadowtime.policy.catalogue import written_parts
from shadowtime.policy.files import MARK, load
from shadowtime.policy.grammar import Call
from shadowtime.policy.part import Part

YES, NO = ("yes", "true", "on", "1"), ("no", "false", "off", "0")
WHERE = "where"
"""What a text calls the test behind a backfill key."""
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


def part_from(slot: str, call: Call) -> Part:
    """The part that a text names for a slot; a number in ``reserve`` is a depth."""
    if slot == "reserve" and re.fullmatch(r"[0-9]{1,9}", call.name):
        from shadowtime.policy import reserve

        depth = int(call.name)
        return reserve.Depth(depth) if depth > 0 else reserve.NoReservation()
    known = parts()[slot]
    if MARK in call.name:
        file, _, name = call.name.rpartition(":")
        return own_part(slot, load(file, name), call)
    if call.name not in known and call.name in (added := added_parts(slot)):
        return own_part(slot, added[call.name], call)
    if call.name not in known:
        count = "A number from 0 is how many jobs get a reservation. " if slot == "reserve" else ""
        raise PolicyError(
            f"unknown {slot} {call.name!r}. {count}{suggested(call.name, [*known, *added])}"
        )
    return with_settings(known[call.name], call.arguments)


def own_part(slot: str, thing: Any, call: Call) -> Part:
    """A part of a file or a package for a slot, with the parameters that a text gives it."""
    if slot == "order" and inspect.isfunction(thing):
        from shadowtime.policy.order import Custom

        thing = Custom(thing)
    if slot == "estimate" and inspect.isfunction(thing):
        from shadowtime.policy.predictors import Function

        thing = Function.of(call.name.rpartition(":")[2], thing)
    if not isinstance(thing, Part):
        what = "a whole policy" if hasattr(thing, "parts") else type(thing).__name__
        raise PolicyError(
            f"{slot}={call.name}: this is {what}, and a slot takes a part: decorate a function "
            f"with st.{slot} or another decorator for this slot"
        )
    if thing.slot != slot:
        raise PolicyError(
            f"{slot}={call.name}: this is a part for the slot {thing.slot}: write "
            f"{thing.slot}={call.name}"
        )
    part: Part = thing
    refuse_faulty(part)
    arguments = dict(call.arguments)
    if WHERE in arguments and WHERE not in part.declared():
        part = with_test(part, arguments.pop(WHERE))
    return with_settings(part, arguments)


def with_test(key: Part, call: Call) -> Part:
    """A backfill key for the jobs that pass a test: ``mine.py:key(where=mine.py:test)``."""
    from shadowtime.policy.backfill import ByKey, ByTest

    test = part_from("backfill", call)
    if not isinstance(key, ByKey) or not isinstance(test, ByTest):
        raise PolicyError(
            f"{key}({WHERE}={test}): {WHERE} takes a function made by st.backfill_test, behind one "
            "made by st.backfill_key"
        )
    return key.where(test)


def refuse_faulty(part: Part) -> None:
    """Reject a part whose definition is wrong."""
    for one in part.functions:
        if one.fault is not None:
            raise one.fault


def added_parts(slot: str) -> dict[str, Part]:
    """Parts for a slot that other packages add, by name.

    Those of the group ``shadowtime.policies`` that are parts; for estimates also the group
    ``shadowtime.predictors``.
    """
    found = {
        name: part
        for name, part in plugins(POLICIES).items()
        if isinstance(part, Part) and part.slot == slot
    }
    return found | (added_predictors() if slot == "estimate" else {})


def added_predictors() -> dict[str, Part]:
    """Predictors that other packages add: estimate parts, or functions of a whole log."""
    from shadowtime.policy.predictors import Function

    found: dict[str, Part] = {}
    for name, thing in plugins(PREDICTORS).items():
        if name in parts()["estimate"]:
            raise PolicyError(
                f"an installed package adds the predictor {name}, which is a name of ours: rename "
                "or uninstall it"
            )
        part = Function.of(name, thing) if inspect.isfunction(thing) else thing
        if not isinstance(part, Part) or part.slot != "estimate":
            raise PolicyError(
                f"{name} in {PREDICTORS} must be a function of a workload, or a part made by "
                f"st.estimate, not {type(thing).__name__}"
            )
        found[name] = part
    return found


def with_settings(part: SomePart, arguments: dict[str, Call]) -> SomePart:
    """The part with some parameters set from texts."""
    known = part.declared()
    changes = {}
    for key, call in arguments.items():
        if key not in known:
            raise PolicyError(
                f"{part.slot} {part.name} has no parameter {key!r}. "
                + (suggested(key, known) if known else "It has none.")
            )
        changes[key] = value_of(f"{part.name}.{key}", known[key], call)
    return part.with_values(**changes) if changes else part


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
