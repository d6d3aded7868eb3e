"""Which jobs count: everything is simulated, only jobs submitted inside the window are scored."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import numpy as np

from shadowtime.errors import UsageError
from shadowtime.types import AnyArray, Ints

UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}
_AMOUNT = re.compile(r"([0-9]{1,12})\s*(s|m|h|d|w|j|jobs)?", re.IGNORECASE)


@dataclass(frozen=True, kw_only=True)
class Window:
    """A warm-up and a cool-down, by time or by number of jobs; part of every result.

    Rules
    -----
    A job is scored if it is submitted at least ``warmup_s`` after the first submission and at
    least ``cooldown_s`` before the last, is not among the first ``warmup_jobs`` nor the last
    ``cooldown_jobs``, and is submitted in [``since``, ``until``) where these are given. The window
    depends on the submissions alone, so it is the same for every policy.

    Examples
    --------
    >>> Window.parse("1h:2").mask(np.array([0, 3600, 7200, 9000, 9001])).tolist()
    [False, True, True, False, False]
    >>> str(Window.all()), str(Window.parse("7d:1d"))
    ('all jobs', 'without the first 7 d and the last 1 d')
    """

    warmup_s: int = 0
    cooldown_s: int = 0
    warmup_jobs: int = 0
    cooldown_jobs: int = 0
    since: int | None = None
    until: int | None = None

    def __post_init__(self) -> None:
        if min(self.warmup_s, self.cooldown_s, self.warmup_jobs, self.cooldown_jobs) < 0:
            raise UsageError("a warm-up or cool-down cannot be negative")
        if self.since is not None and self.until is not None and self.since >= self.until:
            raise UsageError(f"a window from {self.since} s to {self.until} s holds nothing")

    @staticmethod
    def all() -> Window:
        """Every job."""
        return ALL

    @staticmethod
    def parse(text: str) -> Window:
        """``WARMUP:COOLDOWN``, each a time (``90s 5m 2h 7d 1w``) or a number of jobs (``500``).

        ``all`` is every job; a side may be left empty or out.
        """
        if text.strip().lower() in ("", "all", "all jobs"):
            return ALL
        sides = text.split(":")
        if len(sides) > 2:
            raise UsageError(f"the window {text!r} has more than two sides: write 7d:1d")
        found: dict[str, int] = {}
        for name, side in zip(("warmup", "cooldown"), sides, strict=False):
            if not side.strip():
                continue
            match = _AMOUNT.fullmatch(side.strip())
            if match is None:
                raise UsageError(
                    f"{side.strip()!r} in the window {text!r} is neither a time (90s 5m 2h 7d 1w) "
                    "nor a number of jobs: write 7d:1d or 1000:0"
                )
            amount, unit = int(match[1]), (match[2] or "j").lower()
            by_jobs = unit in ("j", "jobs")
            found[f"{name}_{'jobs' if by_jobs else 's'}"] = amount * UNITS.get(unit, 1)
        return Window(**found)

    def mask(self, submit: Ints) -> AnyArray:
        """The scored jobs among jobs with these submit times (in order)."""
        n = len(submit)
        scored = np.zeros(n, bool)
        scored[self.warmup_jobs : max(n - self.cooldown_jobs, 0)] = True
        if n and self.warmup_s:
            scored &= submit >= submit[0] + self.warmup_s
        if n and self.cooldown_s:
            scored &= submit <= submit[-1] - self.cooldown_s
        if self.since is not None:
            scored &= submit >= self.since
        if self.until is not None:
            scored &= submit < self.until
        return scored

    def bounds(self, submit: Ints) -> tuple[int, int]:
        """The stretch of time the window stands for: from its first to its last submission.

        A side given as a time counts as that time, not as the next submission inside.
        """
        n = len(submit)
        if n == 0:
            return 0, 0
        begin = max(int(submit[0]) + self.warmup_s, int(submit[min(self.warmup_jobs, n - 1)]))
        end = min(
            int(submit[-1]) - self.cooldown_s, int(submit[max(n - 1 - self.cooldown_jobs, 0)])
        )
        if self.since is not None:
            begin = max(begin, self.since)
        if self.until is not None:
            end = min(end, self.until)
        return begin, max(begin, end)

    @property
    def closes_early(self) -> bool:
        """Something is cut off at the end."""
        return bool(self.cooldown_s or self.cooldown_jobs) or self.until is not None

    def as_dict(self) -> dict[str, Any]:
        """For results: the sentence, and what was asked for."""
        asked = {
            name: value
            for name in ("warmup_s", "cooldown_s", "warmup_jobs", "cooldown_jobs", "since", "until")
            if (value := getattr(self, name)) not in (0, None) or (value == 0 and name == "since")
        }
        return {"scored": str(self), **asked}

    def __str__(self) -> str:
        first = _amounts(self.warmup_s, self.warmup_jobs)
        last = _amounts(self.cooldown_s, self.cooldown_jobs)
        cut = [f"the first {part}" for part in first] + [f"the last {part}" for part in last]
        text = f"without {' and '.join(cut)}" if cut else ""
        if self.since is not None or self.until is not None:
            since = "the first job" if self.since is None else f"{self.since} s"
            until = "the last" if self.until is None else f"{self.until} s"
            text = f"{text}, submitted from {since} to {until}".lstrip(", ")
        return text or "all jobs"


def _amounts(seconds: int, jobs: int) -> list[str]:
    parts = []
    if seconds:
        unit = next(u for u in ("w", "d", "h", "m", "s") if seconds % UNITS[u] == 0 and u != "w")
        parts.append(f"{seconds // UNITS[unit]} {unit}")
    if jobs:
        parts.append(f"{jobs} jobs")
    return parts


ALL = Window()


def seconds_of(text: str, *, option: str) -> int:
    """A length of time: 90s, 5m, 36h, 2d, 1w; ``option`` is what the error names.

    Examples
    --------
    >>> seconds_of("2d", option="--max-limit"), seconds_of("90", option="--max-limit")
    (172800, 90)
    """
    match = re.fullmatch(r"(\d{1,10})\s*([smhdw]?)", text.strip().lower())
    if match is None or int(match[1]) == 0:
        raise UsageError(f"{option}: write a length of time, such as 90m, 36h or 2d")
    return int(match[1]) * UNITS[match[2] or "s"]
