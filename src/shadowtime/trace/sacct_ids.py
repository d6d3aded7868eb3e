"""The job ids of many rows of an sacct export."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from shadowtime.trace.sacct_columns import are_digits
from shadowtime.trace.slurm_job_id import JobId, parse_job_id, tasks_of
from shadowtime.types import UNKNOWN

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from shadowtime.types import AnyArray, Ints


@dataclass(frozen=True, eq=False)
class Ids:
    """What the ids of rows say, by row.

    ``number`` is JobIDRaw; without that column that of JobID, and -1 for tasks of arrays, which
    share one. ``array`` and ``task`` are -1 outside arrays.
    """

    label: Sequence[str]
    number: Ints
    array: Ints
    task: Ints
    throttle: Ints
    step: AnyArray
    blocks: dict[int, JobId]
    """Rows that stand for several tasks of an array."""


def parse_ids(raw: Sequence[str], shown: Sequence[str]) -> Ids:
    """The columns JobIDRaw and JobID, one of which may hold empty texts only.

    Examples
    --------
    >>> ids = parse_ids(["7", "8", "9.batch"], ["7", "5_2", "9.batch"])
    >>> ids.number.tolist(), ids.array.tolist(), ids.task.tolist(), ids.step.tolist()
    ([7, 8, 9], [-1, 5, -1], [-1, 2, -1], [False, False, True])
    """
    n = len(raw)
    array, task, throttle = (np.full(n, value, np.int64) for value in (UNKNOWN, UNKNOWN, 0))
    step = np.zeros(n, bool)
    blocks: dict[int, JobId] = {}
    if are_digits(raw, 15):
        label: Sequence[str] = raw
        number = np.array(list(map(int, raw)), np.int64)
        odd = [row for row, one in enumerate(shown) if one and one != raw[row]]
    else:
        raw, shown = [one.strip() for one in raw], [one.strip() for one in shown]
        label = [one or other for one, other in zip(raw, shown, strict=True)]
        number = np.empty(n, np.int64)
        odd = list(range(n))
    tasks = _tasks([shown[row] for row in odd]) if label is raw else None
    if tasks is not None:
        array[odd], task[odd] = tasks
        odd = []
    for row in odd:
        raw_id, shown_id = raw[row].strip(), shown[row].strip()
        job = parse_job_id(label[row])
        other = parse_job_id(shown_id) if shown_id not in ("", raw_id) else job
        number[row] = job.number if raw_id else UNKNOWN
        if not raw_id and other.task < 0:
            number[row] = other.number + max(other.component, 0)
        if other.task >= 0 or other.tasks:
            array[row] = other.number
        task[row], throttle[row] = other.task, other.throttle
        step[row] = bool(job.step or other.step)
        if job.tasks or other.tasks:
            blocks[row] = job if job.tasks else other
    return Ids(label, number, array, task, throttle, step, blocks)


def _tasks(texts: Sequence[str]) -> tuple[Ints, Ints] | None:
    """Arrays and tasks of ids that are all like 12_3; None if one is not.

    Examples
    --------
    >>> _tasks(["12_3", "12_[4-9]"]), _tasks(["12_3", "12_4"])
    (None, (array([12, 12]), array([3, 4])))
    """
    if not texts:
        return None
    # As many marks as ids, and a mark before every second part: each id has its own.
    parts = "|".join(texts).replace("_", "|_").split("|")
    heads, tails = parts[0::2], [part[1:] for part in parts[1::2]]
    marks = "".join([part[:1] for part in parts[1::2]])
    if len(parts) != 2 * len(texts) or marks != "_" * len(texts):
        return None
    if not (are_digits(heads, 15) and are_digits(tails, 9)):
        return None
    return np.array(list(map(int, heads)), np.int64), np.array(list(map(int, tails)), np.int64)


def ids_at(ids: Ids, at: list[int], split: Mapping[int, list[int]]) -> Ids:
    """The ids of the rows ``at``; a row that stands for several tasks is there once for each."""
    label = [ids.label[row] for row in at]
    number, array, task, throttle = (
        column[at] for column in (ids.number, ids.array, ids.task, ids.throttle)
    )
    place = 0
    while split and place < len(at):
        row = at[place]
        if row not in split:
            place += 1
            continue
        block = ids.blocks[row]
        tasks = tasks_of(block.block)
        for one in tasks:
            label[place] = f"{block.number}_{one}"
            # The last keeps the array's number.
            number[place] = block.number if one == tasks[-1] else UNKNOWN
            array[place], task[place], throttle[place] = block.number, one, block.throttle
            place += 1
    return Ids(label, number, array, task, throttle, ids.step[at], {})
