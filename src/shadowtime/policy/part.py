"""A part fills one slot of a policy: a small frozen value with declared parameters."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import MISSING, Field, dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any, ClassVar, Self

if TYPE_CHECKING:
    from shadowtime.policy.policy import Policy
    from shadowtime.policy.written import Written

SLOTS = ("order", "reserve", "backfill", "place", "estimate", "preempt", "partition")
"""The slots of a policy, in the order in which a pass uses them."""

WHOLE = ("pool", "site")
"""Shapes on which a reservation considers the whole machine: a site follows a pool's rules, with
nodes to choose."""


@dataclass(frozen=True)
class Part:
    """Base of all parts.

    Subclasses define the slot they fill, their name in policy texts and a one-line summary; their
    fields are their parameters, declared with ``parameter`` so that a text can set them.
    """

    slot: ClassVar[str]
    name: ClassVar[str]
    summary: ClassVar[str] = ""
    written: ClassVar[bool] = False
    """True if the part is a function of the user's own."""

    @property
    def functions(self) -> tuple[Written, ...]:
        """The functions of the user's own that the part brings, itself included."""
        return ()

    def objections(self, policy: Policy, shape: str) -> Iterator[str]:
        """Why the part has no defined meaning with the policy's other parts on such a machine.

        ``shape`` is pool, hosts, nodes or site. The first objection rejects the policy; a part that
        works with everything has none.
        """
        return iter(())

    def __str__(self) -> str:
        given = [
            f"{f.name}={show(getattr(self, f.name))}"
            for f in fields(self)
            if getattr(self, f.name) != f.default
        ]
        return f"{self.name}({', '.join(given)})" if given else self.name

    def settings(self) -> dict[str, Any]:
        """Every parameter with its value."""
        return {f.name: getattr(self, f.name) for f in fields(self)}

    def declared(self) -> dict[str, Field[Any]]:
        """The parameters that a text can set, as they were declared."""
        return {f.name: f for f in fields(self) if f.metadata}

    def with_values(self, **changes: Any) -> Self:
        """The part with some parameters set."""
        return replace(self, **changes)


def parameter(
    default: Any = MISSING,
    doc: str = "",
    *,
    low: float | None = None,
    high: float | None = None,
    choices: tuple[str, ...] = (),
) -> Any:
    """Declare a parameter: its default, meaning, range or choices."""
    return field(
        default=default, metadata={"doc": doc, "low": low, "high": high, "choices": choices}
    )


def show(value: Any) -> str:
    """A parameter value as written in a policy text.

    Examples
    --------
    >>> show(True), show(0.02), show("live")
    ('yes', '0.02', 'live')
    """
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:g}" if isinstance(value, float) else str(value)
