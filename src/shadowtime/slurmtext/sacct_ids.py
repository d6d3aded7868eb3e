"""The job ids of many rows of an sacct export."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from shadowtime.slurmtext.job_id import JobId, parse_job_id, tasks_of
from shadowtime.slurmtext.sacct_columns import Known, one_by_one
from shadowtime.types import UNKNOWN, AnyArray, Ints

if TYPE_CHECKING:
    from shadowtime.slurmtext.sacct_texts import Texts

_AFTER = ("_", "+", ".")
"""What follows the digits of an id that is more than a number."""


class Labels:
    """Ids as numbers: of plain ones their own, of any other text one below 0.

    Examples
    --------
    >>> labels = Labels()
    >>> [labels.number(text) for text in ("17", "12_3", "017", "12_3")]
    [17, -2, -3, -2]
    """

    def __init__(self) -> None:
        self._odd: dict[str, int] = {}

    def number(self, text: str) -> int:
        """The number of an id."""
        if text.isascii() and text.isdigit() and len(text) <= 15 and str(int(text)) == text:
            return int(text)
        return self._odd.setdefault(text, -2 - len(self._odd))


@dataclass(frozen=True, eq=False)
class Ids:
    """What the ids of rows say, by row.

    ``number`` is JobIDRaw; without that column that of JobID, and -1 for tasks of arrays, which
    share one. ``array`` and ``task`` are -1 outside arrays, ``part`` (the component) outside
    heterogeneous jobs. ``label`` is the number of the id's
    text among :class:`Labels`; steps have none.
    """

    label: Ints
    number: Ints
    array: Ints
    task: Ints
    throttle: Ints
    part: Ints
    step: AnyArray
    blocks: dict[int, JobId]
    """Rows that stand for several tasks of an array."""


class _Column:
    """A column of ids: the number at the beginning, and what follows, read once for each text."""

    def __init__(self) -> None:
        self._ends: list[JobId] = []
        self._known = Known(self._end)
        self._end("")
        self._table = np.zeros((5, 0), np.int64)

    def _end(self, text: str) -> int:
        """The place of what follows the digits, -1 where the id must be read by itself."""
        if text and (not text.startswith(_AFTER) or text != text.strip()):
            return UNKNOWN
        try:
            self._ends.append(parse_job_id(f"0{text}"))
        except ValueError:
            return UNKNOWN
        return len(self._ends) - 1

    def parse(self, texts: Texts) -> tuple[AnyArray, AnyArray, Ints, Ints]:
        """Which are plain numbers, and which can be parsed; their numbers; task, tasks,
        component, throttle, is it a step (for all at once where none is more than a number)."""
        number, there = texts.numbers(15)
        plain = there.copy()
        end = np.zeros(len(texts), np.int64)
        more = np.flatnonzero(~there & (texts.size > 0))
        if len(more):
            some = texts[more]
            digits = some.digits_before()
            number[more], there[more] = some.part(0, digits).numbers(15)
            end[more] = self._known.column(some.part(digits, some.size - digits))
            there &= end >= 0
        if self._table.shape[1] < len(self._ends):
            rows = [(e.task, e.tasks, e.component, e.throttle, bool(e.step)) for e in self._ends]
            self._table = np.array(rows, np.int64).T.copy()
        ends = self._table[:, end] if len(more) else self._table[:, :1]
        return plain, there, number, ends


class SacctIds:
    """Reads the columns JobIDRaw and JobID, one of which may hold empty texts only.

    Examples
    --------
    >>> from shadowtime.slurmtext.sacct_texts import Texts
    >>> raw, shown = Texts.of(["7", "8", "9.batch"]), Texts.of(["7", "5_2", "9.batch"])
    >>> ids = SacctIds().parse(raw, shown)
    >>> ids.number.tolist(), ids.array.tolist(), ids.task.tolist(), ids.step.tolist()
    ([7, 8, 9], [-1, 5, -1], [-1, 2, -1], [False, False, True])
    """

    def __init__(self) -> None:
        self.labels = Labels()
        self._raw, self._shown = _Column(), _Column()

    def parse(self, raw: Texts, shown: Texts) -> Ids:
        """What the ids say. An id is that of JobIDRaw where there is one; JobID has its task."""
        plain, good, number, ends = self._raw.parse(raw)
        _, shown_good, shown_number, shown_ends = self._shown.parse(shown)
        has_raw, has_shown = raw.size > 0, shown.size > 0
        task, tasks, component, throttle, step = np.where(has_shown, shown_ends, ends)
        steps = (step > 0) | (has_raw & (ends[4] > 0))
        several = (tasks > 0) | (has_raw & (ends[1] > 0))
        array = np.where(has_shown, shown_number, number)
        array[(task < 0) & (tasks == 0)] = UNKNOWN
        alone = np.where(task < 0, shown_number + np.maximum(component, 0), UNKNOWN)
        plain &= (raw.block.data[raw.begin] != ord("0")) | (raw.size == 1)
        ids = Ids(
            label=np.where(plain, number, UNKNOWN),
            number=np.where(has_raw, number, alone),
            array=array,
            task=task,
            throttle=throttle,
            part=component,
            step=steps,
            blocks={},
        )
        odd = (has_raw & ~good) | (has_shown & ~shown_good) | ~(has_raw | has_shown)
        if odd.any() or several.any():
            rows = np.flatnonzero(odd | several).tolist()
            one_by_one(rows, lambda row: self._single(ids, row, raw[row], shown[row]))
        for row in np.flatnonzero(~plain & ~ids.step).tolist():
            ids.label[row] = self.labels.number(raw[row].strip() or shown[row].strip())
        return ids

    @staticmethod
    def _single(ids: Ids, row: int, raw: str, shown: str) -> int:
        """Store the id of one row."""
        raw_id, shown_id = raw.strip(), shown.strip()
        job = parse_job_id(raw_id or shown_id)
        other = parse_job_id(shown_id) if shown_id not in ("", raw_id) else job
        ids.number[row] = job.number if raw_id else UNKNOWN
        if not raw_id and other.task < 0:
            ids.number[row] = other.number + max(other.component, 0)
        ids.array[row] = other.number if other.task >= 0 or other.tasks else UNKNOWN
        ids.task[row], ids.throttle[row] = other.task, other.throttle
        ids.part[row] = other.component
        ids.step[row] = bool(job.step or other.step)
        if job.tasks or other.tasks:
            ids.blocks[row] = job if job.tasks else other
        return row


def ids_at(ids: Ids, at: Ints, split: Mapping[int, list[int]], labels: Labels) -> Ids:
    """The ids of the rows ``at``; a row that stands for several tasks is there once for each."""
    label, number, array, task, throttle, part = (
        column[at]
        for column in (ids.label, ids.number, ids.array, ids.task, ids.throttle, ids.part)
    )
    for row in split:
        block = ids.blocks[row]
        place = int(np.searchsorted(at, row))
        tasks = tasks_of(block.block)
        for one in tasks:
            label[place] = labels.number(f"{block.number}_{one}")
            # The last keeps the array's number.
            number[place] = block.number if one == tasks[-1] else UNKNOWN
            array[place], task[place], throttle[place] = block.number, one, block.throttle
            place += 1
    return Ids(label, number, array, task, throttle, part, ids.step[at], {})
