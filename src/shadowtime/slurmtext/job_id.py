"""Job ids as Slurm prints them: plain, array task, waiting block of tasks, het component, step."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from shadowtime.errors import InputError
from shadowtime.types import UNKNOWN


@dataclass(frozen=True)
class JobId:
    """The parts of a job id: ``123``, ``123_7``, ``123_[1-9%5]``, ``123+1``, ``123.batch``."""

    number: int
    task: int = UNKNOWN
    tasks: int = 0
    """Array tasks that one line stands for: a block that has not been started."""
    component: int = UNKNOWN
    step: str = ""
    throttle: int = field(default=0, compare=False)
    """Tasks of a block that may run at once, 0 for no bound."""
    block: str = field(default="", compare=False)
    """The tasks of a block as they are written: ``1-9,20-30:2``."""


_JOB_ID = re.compile(r"(\d{1,15})(?:_(?:(\d{1,9})|\[([^\]|]*)\]?))?(?:\+(\d{1,6}))?(?:\.(\S+))?")
MOST_TASKS = 100_000
"""No block may stand for more tasks than this."""
_TASKS = re.compile(r"(\d{1,9})(?:-(\d{1,9}))?(?::(\d{1,9}))?")


def parse_job_id(text: str) -> JobId:
    """Split a job id.

    Examples
    --------
    >>> parse_job_id("123_[1-9,20-30:2%5]").tasks, parse_job_id("123.batch").step
    (15, 'batch')
    """
    if text.isascii() and text.isdigit() and len(text) <= 15:  # by far the most
        return JobId(int(text))
    match = _JOB_ID.fullmatch(text.strip())
    if not match:
        raise ValueError(f"{text[:40]!r} is not a job id like 123, 123_7 or 123.batch")
    number, task, block, component, step = match.groups()
    return JobId(
        number=int(number),
        task=int(task) if task else UNKNOWN,
        tasks=_count_tasks(block) if block is not None else 0,
        component=int(component) if component else UNKNOWN,
        step=step or "",
        throttle=_throttle(block or ""),
        block=(block or "").partition("%")[0],
    )


def tasks_of(block: str) -> list[int]:
    """The task numbers of a block; those that Slurm cut off are missing, and so are too many.

    Examples
    --------
    >>> tasks_of("1-3,20-24:2")
    [1, 2, 3, 20, 22, 24]
    """
    found: list[int] = []
    for part in block.split(","):
        match = _TASKS.fullmatch(part.strip())
        if match:
            low, high = int(match[1]), int(match[2] or match[1])
            found += range(low, min(high, low + MOST_TASKS) + 1, max(int(match[3] or 1), 1))
    return found[:MOST_TASKS]


def _throttle(block: str) -> int:
    last = block.partition("%")[2]
    return int(last) if last.isdigit() and len(last) < 10 else 0


def _count_tasks(block: str) -> int:
    """Tasks of ``1-9,20-30:2%5`` (5 at a time); Slurm may cut long lists off, so at least one."""
    count = 0
    for part in block.partition("%")[0].split(","):
        match = _TASKS.fullmatch(part.strip())
        if match:
            low, high = int(match[1]), int(match[2] or match[1])
            count += max(0, (high - low) // max(int(match[3] or 1), 1) + 1)
    return max(count, 1)


def parse_array(text: str) -> tuple[tuple[int, ...], int]:
    """Tasks and throttle of ``1-9:2%3``.

    Examples
    --------
    >>> parse_array("1-5:2,9%2")
    ((1, 3, 5, 9), 2)
    """
    inside, _, throttle = text.strip("[]").partition("%")
    tasks: list[int] = []
    for word in inside.split(","):
        match = re.fullmatch(r"(\d{1,9})(?:-(\d{1,9})(?::(\d{1,9}))?)?", word)
        if not match:
            raise InputError(f"{text!r} is not an array like 1-9:2%3")
        first, step = int(match[1]), int(match[3] or 1)
        last = int(match[2] or first)
        if last < first or step == 0:
            raise InputError(f"{text!r} is not an array like 1-9:2%3")
        if (last - first) // step + len(tasks) >= MOST_TASKS:
            raise InputError(f"{text!r} has more than {MOST_TASKS:,} tasks")
        tasks += range(first, last + 1, step)
    if throttle and not re.fullmatch(r"\d{1,9}", throttle):
        raise InputError(f"{text!r} is not an array like 1-9:2%3")
    return tuple(tasks), int(throttle or 0)
