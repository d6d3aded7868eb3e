"""What a user's own function did wrong, told once the compiled loop has stopped because of it.

An exception cannot pass through compiled code that runs without Python's lock, and who failed is
all that the loop knows. So the function is called again, as plain Python, with the same arguments:
that says what is wrong, and in which line.
"""

from __future__ import annotations

import math
import traceback
from typing import TYPE_CHECKING, Any

from shadowtime.errors import PolicyError
from shadowtime.kernel import fields as f
from shadowtime.kernel.registers import FAILED, NOW
from shadowtime.policy.functions import ORDER, plain, where
from shadowtime.policy.order import Custom

if TYPE_CHECKING:
    from collections.abc import Callable

    from shadowtime.kernel.state import State
    from shadowtime.policy import Policy


def raise_failure(policy: Policy, code: int, state: State, name_of: Callable[[int], str]) -> None:
    """End the run if a function of the user's own failed in it; ``name_of`` names a job."""
    from shadowtime.engine.events import BROKEN

    if code != BROKEN:
        return
    assert isinstance(policy.order, Custom)
    job = int(state.reg[FAILED])
    row = state.job[job]
    now = int(state.reg[NOW])
    arguments = (now - int(row[f.SUBMIT]), int(row[f.ESTIMATE]), int(row[f.NEED]))
    line, why = what_is_wrong(policy.order.function, arguments)
    given = ", ".join(
        f"{name}={value}" for name, value in zip(ORDER.arguments, arguments, strict=True)
    )
    raise PolicyError(
        f"{policy.name}: the {ORDER.name} function {where(policy.order.function, line)} failed "
        f"for job {name_of(job)} at {now} ({given}): {why}"
    )


def what_is_wrong(
    function: Callable[..., Any], arguments: tuple[int, ...]
) -> tuple[int | None, str]:
    """The line of the function that fails for these arguments, and the reason.

    Examples
    --------
    >>> what_is_wrong(lambda wait, estimate, procs: wait / procs, (5, 3, 0))[1]
    'ZeroDivisionError: division by zero'
    >>> what_is_wrong(lambda wait, estimate, procs: float("nan"), (5, 3, 1))
    (None, 'it returned nan, which is no number to sort by')
    """
    written = plain(function)
    try:
        value = written(*arguments)
        number = float(value)
    except Exception as error:
        file = written.__code__.co_filename
        lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__)
                 if frame.filename == file]  # fmt: skip
        return (lines[-1] if lines else None), f"{type(error).__name__}: {error}"
    if math.isnan(number):
        return None, "it returned nan, which is no number to sort by"
    return None, (
        f"compiled, it raised an error or returned nan; in plain Python it returns {number:g}: "
        "use arithmetic that is the same in both"
    )


def compile_failure(slot_name: str, function: Callable[..., Any], error: Any) -> PolicyError:
    """What the compiler has against a function: its line, and the reason in a sentence."""
    file = plain(function).__code__.co_filename
    place = getattr(error, "loc", None)
    line = place.line if place is not None and place.filename == file else None
    return PolicyError(
        f"the {slot_name} function {where(function, line)} cannot be compiled: "
        f"{reason_of(str(error))}; use plain arithmetic on its arguments"
    )


def reason_of(message: str) -> str:
    """The part of a compiler's message that says what is wrong.

    Examples
    --------
    >>> reason_of("Failed in nopython mode pipeline (step: x)\\nUntyped global name 'g': Cannot\\n")
    "Untyped global name 'g': Cannot"
    """
    lines = [line.strip() for line in message.splitlines() if line.strip()]
    lines = [line for line in lines if not line.startswith("Failed in ")] or ["no reason given"]
    calls = [line.removeprefix(">>>").strip() for line in lines if line.startswith(">>>")]
    first = lines[0].rstrip(":. ")
    return f"{first}: {calls[0]}" if calls and first.endswith("signature") else first
