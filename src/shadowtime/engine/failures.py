"""What a user's own function did wrong, reported once the compiled loop has stopped for it.

An exception cannot pass through compiled code that runs without Python's lock; the job is
all that the loop knows. So the function is called again, as plain Python, with the same arguments:
the exception then names what is wrong, and the line.
"""

from __future__ import annotations

import math
import re
import traceback
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from shadowtime.engine.columns import record_of
from shadowtime.engine.events import BROKEN
from shadowtime.engine.series import series_record
from shadowtime.errors import PolicyError, suggested
from shadowtime.kernel import record
from shadowtime.kernel.choice import SELECT, SELECT_BROKE, Free, Queue
from shadowtime.kernel.registers import FAILED, NOW
from shadowtime.kernel.slots import LEARN_TIMER, PLACE, SLOT_SHIFT
from shadowtime.kernel.state import State
from shadowtime.policy import Policy
from shadowtime.policy.functions import LEARN, TIMER, in_words, plain, takes_series, where
from shadowtime.policy.written import ALL, KEYS
from shadowtime.workload import Workload

if TYPE_CHECKING:
    from shadowtime.engine.custom import Own
    from shadowtime.engine.uses import Use

RECORDS: dict[str, Any] = {kind.__name__: kind for kind in (record.Job, record.Node, Queue, Free)}
"""What functions are handed, by the names under which the compiler reports them."""
UNKNOWN_FIELD = re.compile(rf"Unknown attribute '(\w+)' of type ({'|'.join(RECORDS)})\(")


def raise_failure(
    policy: Policy, code: int, state: State, own: Own | None, name_of: Callable[[int], str]
) -> None:
    """End the run if a function of the user's own failed in it; ``name_of`` names a job."""
    if code != BROKEN:
        return
    assert own is not None
    slot, job = divmod(int(state.reg[FAILED]), 1 << SLOT_SHIFT)
    now = int(state.reg[NOW])
    if slot in (SELECT, SELECT_BROKE):
        raise own.chooser.failure(policy, slot, job, now, name_of)
    name = name_of(job) if slot < LEARN_TIMER else ""  # a timer fails for a row of the memory
    raise failure_of(policy, slot, state.job, own, job, now, name)


def refuse_failed(policy: Policy, state: State, own: Own | None, workload: Workload) -> None:
    """End a run that went on after a failure, with its first one."""
    if own is not None and state.reg[FAILED] >= 0:
        raise_failure(policy, BROKEN, state, own, lambda job: str(workload.job_id[job]))


def failure_of(
    policy: Policy, slot: int, table: Any, own: Own, job: int, now: int, name: str
) -> PolicyError:
    """What went wrong in a slot for the job in row ``job``."""
    line, why, found, given = None, "", None, ""
    for use in own.uses:
        if use.slot != slot:
            continue
        if use.takes is TIMER:
            return timer_failure(policy, use, own, job, now)
        row = record_of(now, table, own.fact, job, own.columns)
        at = -1 if use.whose == ALL else own.fact[job, use.whose]
        user = own.memory[at, use.column : use.column + use.width].copy()
        handed: tuple[Any, ...] = (now, row, user, float(now))
        node = None
        if slot == PLACE:
            node = plain(record.node_record)(own.offers, int(own.offers[1]))  # type: ignore[index]
            handed = (now, row, type(node)(*map(int, node)), user)
        arguments = handed[: use.handed]
        if takes_series(use.function):
            arguments = (*arguments, series_record(own.series, use.series))
        shown = {"wait": row.wait, "estimate": row.estimate, "procs": row.procs}
        if not use.takes.by_record:
            arguments = tuple(shown.values())
        else:
            shown = {"submit": row.submit} | shown
            if node is not None:
                shown |= {"node.number": int(node.number), "node.room": int(node.room)}
            arguments += use.values
        given = ", ".join(f"{name}={value}" for name, value in shown.items())
        found = use
        line, why, in_python = what_is_wrong(
            use.function, arguments, answers=use.takes is not LEARN
        )
        if in_python:
            break
    assert found is not None
    return PolicyError(
        f"{policy.name}: the {found.takes.name} function {where(found.function, line)} failed "
        f"for job {name} at {now} ({given}): {why}"
    )


def timer_failure(policy: Policy, use: Use, own: Own, row: int, now: int) -> PolicyError:
    """What went wrong in a timer for a row of the memory."""
    user = own.memory[row, use.column : use.column + use.width].copy()
    more = (series_record(own.series, use.series),) if takes_series(use.function) else ()
    line, why, _ = what_is_wrong(use.function, (now, user, *more), answers=False)
    whose = "all jobs" if use.whose == ALL else f"{KEYS[use.whose]} {whose_row(own, use, row)}"
    return PolicyError(
        f"{policy.name}: the timer function {where(use.function, line)} failed at {now} for the "
        f"memory of {whose}: {why}"
    )


def whose_row(own: Own, use: Use, row: int) -> int:
    """The user, account or executable that a row of the memory belongs to, by number."""
    column = (record.USER, record.ACCOUNT, record.EXECUTABLE)[use.whose]
    found = own.fact[own.fact[:, record.ROW + use.whose] == row, column]
    return int(found[0]) if len(found) else -1


class Wrong(NamedTuple):
    """What a function does wrong: its line, the reason, whether it fails in Python as well."""

    line: int | None
    why: str
    in_python: bool = True


def what_is_wrong(
    function: Callable[..., Any], arguments: tuple[Any, ...], *, answers: bool = True
) -> Wrong:
    """The line of the function that fails for these arguments, and the reason.

    Examples
    --------
    >>> what_is_wrong(lambda wait, estimate, procs: wait / procs, (5, 3, 0)).why
    'ZeroDivisionError: division by zero'
    >>> what_is_wrong(lambda wait, estimate, procs: float("nan"), (5, 3, 1))
    Wrong(line=None, why='it returned nan, which is no number to sort by', in_python=True)
    """
    written = plain(function)
    try:
        value = written(*arguments)
        number = float(value) if answers else 0.0
    except Exception as error:
        file = written.__code__.co_filename
        lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__)
                 if frame.filename == file]  # fmt: skip
        return Wrong(lines[-1] if lines else None, in_words(error))
    if math.isnan(number):
        return Wrong(None, "it returned nan, which is no number to sort by")
    return Wrong(
        None,
        f"compiled, it raised an error or returned nan; in plain Python it returns {number:g}: "
        "use arithmetic that is the same in both",
        in_python=False,
    )


def compile_failure(slot_name: str, function: Callable[..., Any], error: Any) -> PolicyError:
    """Why a function cannot be compiled: its line, and the reason in a sentence."""
    file = plain(function).__code__.co_filename
    place = getattr(error, "loc", None)
    line = place.line if place is not None and place.filename == file else None
    reason = reason_of(str(error))
    if unknown := UNKNOWN_FIELD.match(reason):
        name, of = unknown[1], RECORDS[unknown[2]]
        reason = f"{of.__name__} has no attribute {name!r}. {suggested(name, of._fields)}"
    else:
        reason += "; use plain arithmetic on its arguments"
    return PolicyError(
        f"the {slot_name} function {where(function, line)} cannot be compiled: {reason}"
    )


def reason_of(message: str) -> str:
    """The part of a compiler's message that names the problem.

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
