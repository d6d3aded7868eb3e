"""Dependencies of jobs that Slurm holds: it evaluates them only about once a minute."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cached_property

OVER = frozenset(
    ("COMPLETED", "FAILED", "CANCELLED", "TIMEOUT", "NODE_FAIL", "PREEMPTED", "BOOT_FAIL",
     "DEADLINE", "OUT_OF_MEMORY")
)  # fmt: skip
"""States of jobs that have ended; one that is completing has not."""
_ONE = re.compile(r"(after\w*):(\d+)(_\*|_\d+)?(?:\+\d+)?\((\w+)\)")


class Ends:
    """How the jobs in Slurm's memory have ended, by job and by array.

    Examples
    --------
    >>> seen = Ends([("7", "COMPLETED"), ("8_1", "FAILED"), ("8_2", "RUNNING")])
    >>> seen.met("afterok:7(unfulfilled)"), seen.met("afterany:8_*(unfulfilled)")
    (True, False)
    >>> seen.met("afterany:9(unfulfilled)"), seen.met("singleton(unfulfilled)")
    (False, False)
    >>> seen.met("afterany:7(unfulfilled),afterok:8_1(unfulfilled)")
    False
    >>> seen.met("afterany:7(unfulfilled)?afterok:8_1(unfulfilled)")
    True
    """

    def __init__(self, jobs: Iterable[tuple[str, str]]) -> None:
        self._jobs = jobs

    @cached_property
    def _of(self) -> dict[str, set[str]]:
        """The states by job and by array, collected when the first dependency is examined."""
        found: dict[str, set[str]] = {}
        for job, state in self._jobs:
            array, _, task = job.partition("_")
            found.setdefault(job, set()).add(state)
            if task:
                found.setdefault(array, set()).add(state)
        return found

    def met(self, dependency: str) -> bool:
        """Whether a dependency that Slurm reports as unfulfilled has been met since; False if
        unsure.

        A job whose dependencies are met starts as soon as it is released.
        """
        either = "?" in dependency
        parts = re.split(r"[,?]", dependency)
        found = [self._one(part) for part in parts]
        return any(found) if either else bool(found) and all(found)

    def _one(self, part: str) -> bool:
        match = _ONE.fullmatch(part.strip())
        if match is None:
            return False
        kind, job, task, what = match.groups()
        if what == "fulfilled":
            return True
        states = self._of.get(job if task in (None, "_*") else f"{job}{task}")
        if not states or not states <= OVER:
            return False
        if kind == "afterany":
            return True
        if kind == "afterok":
            return states == {"COMPLETED"}
        return kind == "afternotok" and "COMPLETED" not in states
