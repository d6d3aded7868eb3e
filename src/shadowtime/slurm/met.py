"""What jobs were last passed over for, by job, on an array that compiled passes write."""

from __future__ import annotations

import numpy as np

from shadowtime.types import Ints


class Met:
    """Slurm's words (sacct's Reason) by job id.

    Examples
    --------
    >>> met = Met()
    >>> met[7] = "QOSMaxJobsPerUserLimit"
    >>> met[7], met[8], 7 in met, 8 in met
    ('QOSMaxJobsPerUserLimit', '', True, False)
    >>> int(met.numbers[met.slot(7)]), met.word(0)
    (0, 'QOSMaxJobsPerUserLimit')
    """

    def __init__(self) -> None:
        self.numbers: Ints = np.full(64, -1, np.int64)
        """By the slot of a job: the number of the reason, -1 where there is none."""
        self._slots: dict[int, int] = {}
        self._words: list[str] = []
        self._codes: dict[str, int] = {}
        self.changes = 0
        """How often :meth:`__setitem__` gave a job another reason."""

    def slot(self, job: int) -> int:
        """The place of a job in ``numbers``."""
        found = self._slots.get(job)
        if found is None:
            found = self._slots[job] = len(self._slots)
            if found == len(self.numbers):
                self.numbers = np.concatenate([self.numbers, np.full(found, -1, np.int64)])
        return found

    def number(self, reason: str) -> int:
        """The number of a reason."""
        if reason not in self._codes:
            self._codes[reason] = len(self._words)
            self._words.append(reason)
        return self._codes[reason]

    def word(self, number: int) -> str:
        """The reason of a number."""
        return self._words[number] if number >= 0 else ""

    def __getitem__(self, job: int) -> str:
        slot = self._slots.get(job)
        return "" if slot is None else self.word(int(self.numbers[slot]))

    def __setitem__(self, job: int, reason: str) -> None:
        slot, number = self.slot(job), self.number(reason)
        if self.numbers[slot] != number:
            self.numbers[slot] = number
            self.changes += 1

    def __contains__(self, job: int) -> bool:
        slot = self._slots.get(job)
        return slot is not None and self.numbers[slot] >= 0
