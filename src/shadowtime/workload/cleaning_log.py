"""Which lines of a log are still in, and what each cleaning rule has done so far."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from shadowtime.errors import InputError
from shadowtime.workload.repeats import fresh_ids
from shadowtime.workload.rules import RULES, explain

if TYPE_CHECKING:
    from shadowtime.types import AnyArray, Ints
    from shadowtime.workload.raw import RawTrace


def _switch(rule: str, choice: str) -> str:
    """How the command line asks for a rule."""
    return f"--cancelled {choice}" if rule == "cancelled" else f"--rule {rule}={choice}"


class CleaningLog:
    """Which lines are still in, and what each rule has done so far."""

    def __init__(self, raw: RawTrace) -> None:
        self.raw = raw
        self.kept = np.ones(len(raw), bool)
        self.counts: dict[str, int] = {}

    def drop(self, rule: str, mask: AnyArray, *, refuse: bool = False) -> None:
        hit = mask & self.kept
        if refuse:
            self._refuse(
                hit, f"{rule}_dropped", f"{_switch(rule, 'drop')} drops and counts such jobs"
            )
        self.counts[f"{rule}_dropped"] = int(hit.sum())
        self.kept &= ~hit

    def repair(self, rule: str, mask: AnyArray, column: Ints, value: Ints | int) -> Ints:
        hit = mask & self.kept
        self.counts[rule] = int(hit.sum())
        return np.where(hit, value, column)

    def unique(self, identical: AnyArray, *, refuse: bool) -> Ints:
        """Leave out identical lines; the job numbers, made unique among the lines kept."""
        if refuse:
            self._refuse(
                identical, "repeated_line_dropped", "--rule repeated=renumber drops such lines"
            )
        self.counts["repeated_line_dropped"] = int(identical.sum())
        self.kept &= ~identical
        job_id, repeated, missing = fresh_ids(self.raw["job_id"], self.kept)
        if refuse:
            hint = "--rule repeated=renumber gives such jobs new numbers"
            self._refuse(repeated, "repeated_id_renumbered", hint)
            self._refuse(missing, "missing_id_renumbered", hint)
        self.counts["repeated_id_renumbered"] = int(repeated.sum())
        self.counts["missing_id_renumbered"] = int(missing.sum())
        return job_id

    def sorted(self, submit: Ints, job_id: Ints, *, refuse: bool) -> Ints:
        """Places of the lines kept, in (submit, id) order."""
        at = np.flatnonzero(self.kept)
        if len(at) == 0:
            raise InputError(
                f"no job is left of {len(self.raw)}: {self._told()}", path=self.raw.path
            )
        times = submit[at]
        late = times < np.maximum.accumulate(times)
        if refuse and bool(late.any()):
            hit = np.zeros(len(self.raw), bool)
            hit[at[late]] = True
            self._refuse(
                hit, "out_of_order_sorted", "--rule out_of_order=sort sorts and counts them"
            )
        self.counts["out_of_order_sorted"] = int(late.sum())
        return at[np.lexsort((job_id[at], times))]

    def _refuse(self, hit: AnyArray, rule: str, hint: str) -> None:
        if bool(hit.any()):
            first = int(np.argmax(hit))
            raise InputError(
                f"{RULES[rule]}: {int(hit.sum())} of them, the first is job "
                f"{int(self.raw['job_id'][first])}",
                path=self.raw.path,
                line=int(self.raw.line[first]),
                hint=f"Fix the log, or give another switch: {hint}.",
            )

    def _told(self) -> str:
        told = [f"{count} {explain(rule)}" for rule, count in self.counts.items() if count]
        return "; ".join(told) or "the log is empty"
