"""The loop's log: lines for people that also have their parts, for logs that machines read."""

from __future__ import annotations

import contextlib
import json
import os
import sys
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal, TextIO

from shadowtime import private
from shadowtime.engine.python_policy import policy_parts
from shadowtime.live.port import Continue, Decision, Outcome, Resize, Start, Suspend
from shadowtime.policy import Policy
from shadowtime.printable import printable

LogFormat = Literal["text", "json"]


class LogLine(str):
    """A line with its parts: an ordinary string where it is printed.

    Examples
    --------
    >>> line = LogLine("start 7 on n1:4 (head)", event="start", job="7")
    >>> line, line.parts
    ('start 7 on n1:4 (head)', {'event': 'start', 'job': '7'})
    """

    parts: dict[str, Any]

    def __new__(cls, line: str, **parts: Any) -> LogLine:
        made = super().__new__(cls, line)
        made.parts = parts
        return made


class Log:
    """Writes a line for each report, to standard output or to a file.

    Rules
    -----
    ``text``: the local time and the line. ``json``: one object per line with ``time`` (UTC),
    ``event`` and ``message``, and ``job``, ``hosts``, ``reason`` or ``why`` where they apply. A
    file is opened for each line, so that it may be renamed or removed at any time and no signal is
    needed after that; only its owner can read it. A line that cannot be written goes to standard
    error: a full disk does not end the loop.

    Examples
    --------
    >>> log = Log(format="json", now=lambda: 0.0)
    >>> log(LogLine("start 7 on n1:4 (head)", event="start", job="7"))
    {"time":"1970-01-01T00:00:00.000Z","event":"start","message":"start 7 on n1:4 (head)","job":"7"}
    >>> log("the loop begins")
    {"time":"1970-01-01T00:00:00.000Z","event":"note","message":"the loop begins"}
    """

    def __init__(
        self,
        *,
        format: LogFormat = "text",
        path: Path | None = None,
        now: Callable[[], float] = time.time,
        out: TextIO | None = None,
    ) -> None:
        self.format, self.path, self.now, self.out = format, path, now, out

    def __call__(self, line: str) -> None:
        written = self._line(line)
        if self.path is None:
            print(written, file=self.out, flush=True)
            return
        try:
            handle = private.open_plain(self.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
            with os.fdopen(handle, "ab") as file:
                file.write(f"{written}\n".encode())
        except OSError:
            with contextlib.suppress(OSError):
                print(written, file=sys.stderr, flush=True)

    def _line(self, line: str) -> str:
        at = self.now()
        if self.format == "text":
            stamp = time.strftime("%Y-%m-%dT%H:%M:%S", time.localtime(at))
            return f"{stamp} {printable(line)}"
        stamp = datetime.fromtimestamp(at, UTC).isoformat(timespec="milliseconds")
        parts = dict(line.parts) if isinstance(line, LogLine) else {}
        values = {
            "time": stamp.replace("+00:00", "Z"),
            "event": parts.pop("event", "note"),
            "message": printable(line),
            **parts,
        }
        return json.dumps(values, separators=(",", ":"))


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
    if isinstance(decision, Resize):
        return f"shrink {decision.job} to {_hosts(decision)}"
    if isinstance(decision, Continue):
        return f"continue {decision.job} on {_hosts(decision)}"
    if not isinstance(decision, Start):
        return f"{'suspend' if isinstance(decision, Suspend) else 'stop'} {decision.job}"
    where = _hosts(decision)
    where += ", alone" if decision.alone else ""
    where += f" in {decision.partition}" if decision.partition else ""
    return f"start {decision.job} on {where} ({decision.reason.label})"


def _hosts(decision: Start | Resize | Continue) -> str:
    return ",".join(f"{host}:{count}" for host, count in decision.place) or "no hosts"


def parts_of(decision: Decision) -> dict[str, Any]:
    """A decision for logs that machines read.

    Examples
    --------
    >>> parts_of(Start(job="7", place=(("n1", 4),)))
    {'event': 'start', 'job': '7', 'hosts': {'n1': 4}, 'reason': 'head'}
    """
    if isinstance(decision, Resize):
        return {"event": "shrink", "job": decision.job, "hosts": dict(decision.place)}
    if isinstance(decision, Continue):
        return {"event": "continue", "job": decision.job, "hosts": dict(decision.place)}
    if not isinstance(decision, Start):
        kind = "suspend" if isinstance(decision, Suspend) else "stop"
        return {"event": kind, "job": decision.job}
    reason = decision.reason.label
    parts = {"event": "start", "job": decision.job, "hosts": dict(decision.place), "reason": reason}
    return parts | ({"partition": decision.partition} if decision.partition else {})
