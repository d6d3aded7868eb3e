"""How the live loop reports its decisions: as text, and as fields for machines."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from shadowtime.engine.python_policy import policy_parts
from shadowtime.live.log import LogLine
from shadowtime.live.port import Continue, Decision, Outcome, Resize, Start
from shadowtime.policy import Policy


class DecisionReports:
    """Reports every decision once, however often it is repeated, and every refusal once.

    Examples
    --------
    >>> reports = DecisionReports(print)
    >>> reports.of_shadow([Start(job="7", place=(("n1", 4),))])
    would start 7 on n1:4 (head)
    >>> reports.of_shadow([Start(job="7", place=(("n1", 4),))])
    """

    def __init__(self, tell: Callable[[str], None]) -> None:
        self.tell = tell
        self._decided: Sequence[Decision] = ()
        """What the last pass in shadow mode decided."""
        self._refused: set[str] = set()
        """What the last acting pass could not carry out, in words."""

    def of_shadow(self, decisions: Sequence[Decision]) -> None:
        """What would be done, unless the previous pass decided it too."""
        for decision in decisions:
            if decision not in self._decided:
                line = f"would {words(decision)}"
                self.tell(LogLine(line, carried_out=False, **parts_of(decision)))
        self._decided = decisions

    def of_outcomes(self, outcomes: Sequence[Outcome]) -> None:
        """What was done, and what was not and why."""
        refused = set()
        for outcome in outcomes:
            line = words(outcome.decision)
            if not outcome.done:
                line = f"{line}: not done, {outcome.why}"
                refused.add(line)
            if line not in self._refused:
                why = {} if outcome.done else {"why": outcome.why}
                parts = parts_of(outcome.decision)
                self.tell(LogLine(line, carried_out=outcome.done, **parts, **why))
        self._refused = refused


def described(policy: Policy) -> str:
    """A policy as a text that distinguishes it from others."""
    chosen = policy_parts(policy)
    parts = ", ".join(f"{slot}={part}" for slot, part in chosen.parameters.items())
    return f"{chosen.name}({parts})"


def words(decision: Decision) -> str:
    """A decision in words.

    Examples
    --------
    >>> words(Start(job="7", place=(("n1", 4), ("n2", 2))))
    'start 7 on n1:4,n2:2 (head)'
    >>> words(Start(job="7", place=(("n1", 4),), partition="long"))
    'start 7 on n1:4 in long (head)'
    >>> words(Resize("7", 4, place=(("n1", 4),)))
    'shrink 7 to n1:4'
    """
    said = f"{decision.kind} {decision.job}"
    if not isinstance(decision, Start | Resize | Continue):
        return said
    hosts = ",".join(f"{host}:{count}" for host, count in decision.place) or "no hosts"
    said += f" {'to' if isinstance(decision, Resize) else 'on'} {hosts}"
    if not isinstance(decision, Start):
        return said
    said += ", alone" if decision.alone else ""
    said += f" in {decision.partition}" if decision.partition else ""
    return f"{said} ({decision.reason.label})"


def parts_of(decision: Decision) -> dict[str, Any]:
    """A decision for logs that machines read.

    Examples
    --------
    >>> parts_of(Start(job="7", place=(("n1", 4),)))
    {'event': 'start', 'job': '7', 'hosts': {'n1': 4}, 'reason': 'head'}
    """
    parts: dict[str, Any] = {"event": decision.kind, "job": decision.job}
    if isinstance(decision, Start | Resize | Continue):
        parts["hosts"] = dict(decision.place)
    if isinstance(decision, Start):
        parts["reason"] = decision.reason.label
        parts |= {"partition": decision.partition} if decision.partition else {}
    return parts
