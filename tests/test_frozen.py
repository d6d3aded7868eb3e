"""Dataclasses with shared methods behave as the standard library's do."""

from __future__ import annotations

import copy
import dataclasses
import inspect
import pickle
from collections.abc import Callable
from dataclasses import FrozenInstanceError, asdict, field, fields, replace
from typing import Any, ClassVar

import pytest

from shadowtime.frozen import dataclass


def made(declare: Callable[..., Any]) -> dict[str, Any]:
    """The same classes, declared one way or the other."""

    @declare(frozen=True)
    class Base:
        """Two fields."""

        kind: ClassVar[str] = "base"
        a: int
        b: list[int] = field(default_factory=list, compare=False)

    @declare(frozen=True)
    class Below(Base):
        """One more field, one that is not in the repr, and one that is computed."""

        c: float = 1.5
        d: str = field(default="x", repr=False)
        e: int = field(init=False, default=7)

        def __post_init__(self) -> None:
            object.__setattr__(self, "e", self.a + 1)

    @declare(frozen=True, kw_only=True)
    class Named:
        """By name alone."""

        a: int
        b: int = 2

    @declare(frozen=True, eq=False)
    class Itself:
        """Equal to itself alone."""

        a: int = 0

    return {"Base": Base, "Below": Below, "Named": Named, "Itself": Itself}


OURS, STANDARD = made(dataclass), made(dataclasses.dataclass)

CALLS: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = [
    ("Base", (1,), {}),
    ("Base", (1, [2]), {}),
    ("Base", (), {"b": [3], "a": 1}),
    ("Base", (), {}),
    ("Base", (1, [2], 3), {}),
    ("Base", (1,), {"a": 2}),
    ("Base", (1,), {"z": 2}),
    ("Below", (1, [2], 3.5, "y"), {}),
    ("Below", (1,), {"c": 2}),
    ("Below", (1,), {"e": 2}),
    ("Named", (), {"a": 1}),
    ("Named", (), {"a": 1, "b": 3}),
    ("Named", (1,), {}),
    ("Named", (), {}),
    ("Itself", (), {}),
]


def outcome(kinds: dict[str, Any], call: tuple[str, tuple[Any, ...], dict[str, Any]]) -> Any:
    """The result of a call: its text and fields, or that it was rejected."""
    name, values, named = call
    try:
        thing = kinds[name](*copy.deepcopy(values), **copy.deepcopy(named))
    except TypeError:
        return "refused"
    return repr(thing).partition("(")[2], asdict(thing)


@pytest.mark.parametrize("call", CALLS, ids=str)
def test_objects_are_made_alike(call: tuple[str, tuple[Any, ...], dict[str, Any]]) -> None:
    """The same arguments are accepted and rejected, and the same values stored."""
    assert outcome(OURS, call) == outcome(STANDARD, call)


@pytest.mark.parametrize("kinds", [OURS, STANDARD], ids=["ours", "standard"])
def test_equality_hash_and_change(kinds: dict[str, Any]) -> None:
    """By the fields that are compared; nothing can be set or deleted; copies are equal."""
    base, below, itself = kinds["Base"], kinds["Below"], kinds["Itself"]
    assert base(1, [1]) == base(1, [2]) and hash(base(1)) == hash(base(1, [3]))
    assert base(1) != base(2) and base(1) != below(1) and below(1) != below(1, c=2)
    assert itself() != itself() and len({itself(), itself()}) == 2
    for change in (lambda: setattr(base(1), "a", 2), lambda: delattr(base(1), "a"),
                   lambda: setattr(below(1), "other", 2)):  # fmt: skip
        with pytest.raises(FrozenInstanceError):
            change()
    assert replace(below(1), c=4.0).c == 4.0 and replace(below(1), a=5).e == 6
    assert [each.name for each in fields(below)] == ["a", "b", "c", "d", "e"]
    assert copy.deepcopy(below(1, [2])) == below(1, [2])


def test_signatures_are_alike() -> None:
    """Help shows the arguments, though one function takes them for all classes."""
    for name in ("Base", "Below", "Named", "Itself"):
        ours = inspect.signature(OURS[name]).parameters.values()
        standard = inspect.signature(STANDARD[name]).parameters.values()
        assert [(each.name, each.kind) for each in ours] == [
            (each.name, each.kind) for each in standard
        ]


def test_each_object_has_a_list_of_its_own() -> None:
    """A default that is made is made for every object."""
    first, second = OURS["Base"](1), OURS["Base"](1)
    first.b.append(5)
    assert second.b == []


def test_policies_survive_another_process() -> None:
    """What workers are handed."""
    from shadowtime.policy import catalogue

    for policy in catalogue():
        again = pickle.loads(pickle.dumps(policy))
        assert again == policy and hash(again) == hash(policy)
