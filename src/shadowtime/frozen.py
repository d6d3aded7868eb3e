"""Frozen dataclasses whose methods are shared instead of compiled for each class.

The standard library writes and compiles six functions for a frozen dataclass: 0.7 ms each, a fifth
of the start of a command with its hundred classes. Here the methods are closures over the names of
the fields: 0.05 ms. Creating an object takes twice as long, so classes that are created in every
simulation (Schedule, Workload) use the standard library.

Everything else is as there: ``fields``, ``replace``, ``asdict``, ``field(default_factory=...)``,
``__post_init__``, equality, hash, repr and the errors. A subclass must be declared in the same way;
slots, order and InitVar are not offered.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable
    from dataclasses import dataclass as dataclass
else:

    def dataclass(
        *, frozen: bool = False, eq: bool = True, kw_only: bool = False
    ) -> Callable[[type], type]:
        """Turn a class into a dataclass.

        Examples
        --------
        >>> @dataclass(frozen=True)
        ... class Point:
        ...     x: int
        ...     y: int = 2
        >>> Point(1), Point(1) == Point(1, y=2), dataclasses.replace(Point(1), y=3).y
        (Point(x=1, y=2), True, 3)
        >>> Point()
        Traceback (most recent call last):
        ...
        TypeError: Point.__init__() missing 1 required argument: 'x'
        """

        def decorate(cls: type) -> type:
            made = dataclasses.dataclass(init=False, repr=False, eq=False, kw_only=kw_only)(cls)
            for name, method in methods_of(made, frozen=frozen, eq=eq).items():
                if name not in made.__dict__:
                    method.__qualname__ = f"{made.__qualname__}.{name}"
                    setattr(made, name, method)
            made.__signature__ = Signature()
            return made

        return decorate


def methods_of(cls: Any, *, frozen: bool, eq: bool) -> dict[str, Callable[..., Any]]:
    """The methods of a class, by name."""
    held = dataclasses.fields(cls)
    return (
        {"__init__": init_method(cls, held), "__repr__": repr_method(held)}
        | (eq_and_hash(held, hashed=frozen) if eq else {})
        | (immutable_methods(cls, {each.name for each in held}) if frozen else {})
    )


def init_method(cls: Any, held: tuple[dataclasses.Field[Any], ...]) -> Callable[..., Any]:
    """``__init__``: arguments by position and name, then defaults, then ``__post_init__``."""
    taken = tuple(each.name for each in held if each.init)
    positional = tuple(each.name for each in held if each.init and not each.kw_only)
    defaults = {e.name: e.default for e in held if e.default is not dataclasses.MISSING}
    factories: dict[str, Any] = {
        e.name: e.default_factory for e in held if e.default_factory is not dataclasses.MISSING
    }
    made = tuple(each.name for each in held if not each.init)
    last = getattr(cls, "__post_init__", None) is not None

    def __init__(self: Any, *values: Any, **named: Any) -> None:
        if values:
            reject_positional(cls, values, named, positional)
            named.update(zip(positional, values, strict=False))
        own = self.__dict__
        used = missing = 0
        for name in taken:
            if name in named:
                own[name] = named[name]
                used += 1
            elif name in defaults:
                own[name] = defaults[name]
            elif name in factories:
                own[name] = factories[name]()
            else:
                missing += 1
        if missing or used < len(named):
            reject_keywords(cls, named, taken, own)
        for name in made:
            if name in defaults:
                own[name] = defaults[name]
            elif name in factories:
                own[name] = factories[name]()
        if last:
            self.__post_init__()

    return __init__


def reject_positional(cls: Any, values: Any, named: Any, positional: tuple[str, ...]) -> None:
    """More values than fields, or a field given twice."""
    if len(values) > len(positional):
        raise TypeError(
            f"{cls.__qualname__}.__init__() takes {len(positional) + 1} positional arguments but "
            f"{len(values) + 1} were given"
        )
    for name in positional[: len(values)]:
        if name in named:
            raise TypeError(
                f"{cls.__qualname__}.__init__() got multiple values for argument {name!r}"
            )


def reject_keywords(cls: Any, named: Any, taken: tuple[str, ...], own: Any) -> None:
    """An argument that no field takes, or a field without a value."""
    for name in named:
        if name not in taken:
            raise TypeError(
                f"{cls.__qualname__}.__init__() got an unexpected keyword argument {name!r}"
            )
    missing = [repr(name) for name in taken if name not in own]
    raise TypeError(
        f"{cls.__qualname__}.__init__() missing {len(missing)} required "
        f"argument{'s' * (len(missing) > 1)}: {', '.join(missing)}"
    )


def repr_method(held: tuple[dataclasses.Field[Any], ...]) -> Callable[..., Any]:
    """``__repr__``: a call that would create the object."""
    names = tuple(each.name for each in held if each.repr)

    def __repr__(self: Any) -> str:
        inner = ", ".join(f"{name}={getattr(self, name)!r}" for name in names)
        return f"{type(self).__qualname__}({inner})"

    return __repr__


def eq_and_hash(
    held: tuple[dataclasses.Field[Any], ...], *, hashed: bool
) -> dict[str, Callable[..., Any]]:
    """``__eq__`` and ``__hash__`` over the fields that are compared."""
    names = tuple(each.name for each in held if each.compare)
    counted = tuple(
        each.name for each in held if (each.compare if each.hash is None else each.hash)
    )

    def __eq__(self: Any, other: object) -> bool:
        if other.__class__ is not self.__class__:
            return NotImplemented
        return all(
            mine is its or mine == its
            for mine, its in ((getattr(self, name), getattr(other, name)) for name in names)
        )

    def __hash__(self: Any) -> int:
        return hash(tuple(getattr(self, name) for name in counted))

    return {"__eq__": __eq__} | ({"__hash__": __hash__} if hashed else {})


def immutable_methods(cls: Any, names: set[str]) -> dict[str, Callable[..., Any]]:
    """``__setattr__`` and ``__delattr__`` of a frozen object."""

    def __setattr__(self: Any, name: str, value: Any) -> None:
        if type(self) is cls or name in names:
            raise dataclasses.FrozenInstanceError(f"cannot assign to field {name!r}")
        super(cls, self).__setattr__(name, value)

    def __delattr__(self: Any, name: str) -> None:
        if type(self) is cls or name in names:
            raise dataclasses.FrozenInstanceError(f"cannot delete field {name!r}")
        super(cls, self).__delattr__(name)

    return {"__setattr__": __setattr__, "__delattr__": __delattr__}


class Signature:
    """The arguments of a class, for help and documentation, computed on access."""

    def __get__(self, instance: Any, owner: Any) -> Any:
        from inspect import Parameter
        from inspect import Signature as Inspected

        def parameter(each: dataclasses.Field[Any]) -> Parameter:
            missing = dataclasses.MISSING
            optional = each.default is not missing or each.default_factory is not missing
            return Parameter(
                each.name,
                Parameter.KEYWORD_ONLY if each.kw_only else Parameter.POSITIONAL_OR_KEYWORD,
                default=each.default if optional else Parameter.empty,
                annotation=each.type,
            )

        held = sorted(dataclasses.fields(owner), key=lambda each: bool(each.kw_only))
        return Inspected([parameter(each) for each in held if each.init], return_annotation=None)
