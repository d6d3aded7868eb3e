"""Functions of a user's own that stand in a slot: what they must take, checked by one rule.

They are handed their arguments by position, and nothing else: an argument with a default would
never be filled, so it is refused rather than ignored.
"""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from shadowtime.errors import PolicyError

if TYPE_CHECKING:
    from collections.abc import Callable


@dataclass(frozen=True)
class Slot:
    """A place for a function: what it is called, and the arguments it is handed."""

    name: str
    arguments: tuple[str, ...]

    @property
    def wanted(self) -> str:
        """How a definition looks, as in ``priority(wait, estimate, procs)``."""
        return f"priority({', '.join(self.arguments)})"


ORDER = Slot("order", ("wait", "estimate", "procs"))


def plain(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function as it was written, where somebody has compiled it already."""
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


def check_arguments(slot: Slot, function: Callable[..., Any]) -> None:
    """Refuse a function that does not take exactly what its slot hands it.

    Examples
    --------
    >>> check_arguments(ORDER, lambda wait, estimate, procs: 0.0)
    >>> check_arguments(ORDER, lambda wait, estimate: 0.0)
    Traceback (most recent call last):
    ...
    shadowtime.errors.PolicyError: the order function <lambda> ... takes (wait, estimate): ...
    """
    written = plain(function)
    if not inspect.isfunction(written):
        raise PolicyError(
            f"the {slot.name} must be a plain function {slot.wanted}, not "
            f"{type(written).__name__}: it is compiled"
        )
    signature = inspect.signature(written)
    kinds = [found.kind for found in signature.parameters.values()]
    positional = inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD
    if len(kinds) != len(slot.arguments) or not all(kind in positional for kind in kinds):
        raise PolicyError(
            f"the {slot.name} function {where(function)} takes {_shown(signature)}: it is handed "
            f"{len(slot.arguments)} arguments and no more, ({', '.join(slot.arguments)}); write "
            "constants into the function or beside it"
        )


def _shown(signature: inspect.Signature) -> str:
    return str(signature.replace(return_annotation=inspect.Signature.empty))
