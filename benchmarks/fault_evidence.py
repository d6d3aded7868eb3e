"""Who caused it: evidence on a job under faults in the logs of slurmctld and of the loop.

Everything here is a function of recorded data, so that a case can be judged again later.
"""

from __future__ import annotations

import re
import time
from typing import TYPE_CHECKING

from shadowtime.live.slurm.late import DELAY
from shadowtime.slurmtext.hostlist import expand

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

AT_ONCE = 2.0
"""Seconds between the report of a stop and the end of a job that the stop did not prevent."""
PACKED = 3.0
"""The most seconds between slurmctld's snapshot of its jobs and the end of saving it."""
LAUNCHES = 5.0
"""Seconds that Slurm takes at most from an allocation to the script."""
CLEANED = 60.0
"""Seconds that nodes take at most to clean up after a job before Slurm delays it."""

Mark = tuple[str, float]
"""The begin or the end of a run, as the job wrote it, and when."""


def label(job: str) -> str:
    """How slurmctld's log names a job, as an expression.

    Examples
    --------
    >>> [bool(re.search(label("2_1"), f"JobId=2{rest}")) for rest in ("_1(67)", "_12(7)", "")]
    [True, False, False]
    >>> [bool(re.search(label("2"), f"JobId=2{rest} ")) for rest in ("", "_1(67)", "7")]
    [True, False, False]
    """
    return rf"JobId={re.escape(job)}(?![\d_])"


def seconds_of(stamp: str) -> float:
    """A stamp of a log, which is local time."""
    return time.mktime(time.strptime(stamp, "%Y-%m-%dT%H:%M:%S"))


def was_forgotten(
    job: str, run: Sequence[Mark], *, unsaved: Iterable[tuple[float, float]], log: str
) -> bool:
    """Whether a killed slurmctld did not know of the begin or the end of a run.

    They fell into the seconds that it had not saved (``unsaved``), or the run's allocation did, in
    slurmctld's ``log``: the script may begin after the kill. Or its successor recovered the job
    with its running script after that had ended, by the same log.

    Examples
    --------
    >>> log = "[2026-11-16T14:42:10.343] sched: Allocate JobId=136 NodeList=n13"
    >>> at = seconds_of("2026-11-16T14:42:10")
    >>> run = [("begin", at + 0.6), ("end", at + 4.6)]
    >>> was_forgotten("136", run, unsaved=[(at - 2, at + 0.4)], log=log)
    True
    >>> was_forgotten("136", run, unsaved=[(at - 9, at - 1)], log=log)
    False
    """
    unsaved = list(unsaved)
    line = re.compile(rf"\[(\S+?)(\.\d+)\] sched: Allocate {label(job)}")
    begin = run[0][1]
    allocated = [seconds_of(stamp) + float(part) for stamp, part in line.findall(log)]
    moments = [when for _, when in run]
    moments += [when for when in allocated if begin - LAUNCHES <= when <= begin]
    if any(a - PACKED <= when <= b for when in moments for a, b in unsaved):
        return True
    line = re.compile(rf"\[(\S+?)\.\d+\] Recovered {label(job)}.* StepId=batch")
    return any(seconds_of(stamp) > run[-1][1] for stamp in line.findall(log))


def was_requeued(job: str, log: str) -> bool:
    """Whether slurmctld has put a job back into the queue.

    It holds one whose launch failed. While the run that it had forgotten is being cleaned up it
    says so in place of the hold, and calls that an operator's afterwards.
    """
    return bool(re.search(rf"Requeuing {label(job)}", log))


def is_unchangeable(job: str, log: str) -> bool:
    """Whether slurmctld refuses every change of a job, a release too.

    A slurmctld that is killed while a job's record is on its way to slurmdbd believes for
    ever that it is on its way.
    """
    about = re.compile(rf"(waited 5 seconds) for {label(job)}|complete {label(job)}")
    last = ""
    for found in about.finditer(log):
        last = found[1] or ""
    return bool(last)


def lost_at_launch(shown: str, without_daemon: Iterable[tuple[str, float, float]]) -> bool:
    """Whether slurmd was killed as it was about to launch a job; ``shown`` is scontrol's line.

    Slurm counts such a job as running until its time limit and does not run it again.
    """
    words = dict(word.split("=", 1) for word in shown.split() if "=" in word)
    try:
        start = seconds_of(words["StartTime"])
    except (KeyError, ValueError):
        return False
    return any(
        name in expand(words.get("NodeList", "")) and killed - LAUNCHES <= start <= back + 1
        for name, killed, back in without_daemon
    )


def stops_of(job: str, log: str) -> list[float]:
    """When the loop stopped a job, to the second, by its own log.

    Examples
    --------
    >>> log = "2026-11-16T10:00:00 start 7 on n1:4 (head)\\n2026-11-16T10:00:05 stop 7\\n"
    >>> stops_of("7", log) == [seconds_of("2026-11-16T10:00:05")]
    True
    """
    lines = (line.partition(" ") for line in log.splitlines())
    return [seconds_of(when) for when, _, what in lines if what == f"stop {job}"]


def marked_stops(job: str, log: str) -> list[float]:
    """The same by slurmctld's log: a loop that is killed at that moment does not report it.

    Examples
    --------
    >>> log = "[2026-11-16T10:00:05.190] _update_job: setting admin_comment to shadowtime?pin=n1"
    >>> log += "&limit=60&stopped=1 for JobId=7"
    >>> marked_stops("7", log) == [seconds_of("2026-11-16T10:00:05")], marked_stops("8", log)
    (True, [])
    """
    line = re.compile(rf"\[(\S+?)\.\d+\] .*shadowtime\?\S*stopped=1 for {label(job)}")
    return [seconds_of(stamp) for stamp in line.findall(log)]


def was_stopped_as_it_ended(ended: float, stops: Iterable[float]) -> bool:
    """Whether the policy stopped a job so close to its end that Slurm had not heard of that."""
    return any(-1 <= ended - when <= AT_ONCE for when in stops)


def delayed_until(job: str, log: str) -> float:
    """Until when Slurm would not start a job that it has requeued, by slurmctld's log; 0: never.

    At the gate a lease has replaced that begin time, and the loop keeps to it.

    Examples
    --------
    >>> log = "[2026-11-16T09:55:38.051] Requeuing JobId=27\\n"
    >>> delayed_until("27", log) - seconds_of("2026-11-16T09:55:38"), delayed_until("2", log)
    (121.0, 0.0)
    """
    found = re.findall(rf"^\[(\S+?)\.\d+\] Requeuing {label(job)}", log, re.MULTILINE)
    return seconds_of(found[-1]) + DELAY if found else 0.0


def is_delayed_by_slurm(eligible: float, now: float, stops: Iterable[float]) -> bool:
    """Whether Slurm does not start a job before a time ahead, and that is not the loop's doing.

    Slurm delays every requeued job by two minutes, and keeps to that when it is released. Of a job
    that it has requeued itself they are Slurm's; of one that the loop has stopped the loop skips
    them, and one that it leaves waiting for them stands still.

    Examples
    --------
    >>> is_delayed_by_slurm(1121.0, 1005.0, []), is_delayed_by_slurm(1121.0, 1130.0, [])
    (True, False)
    >>> is_delayed_by_slurm(1121.0, 1005.0, [997.0])
    False
    >>> is_delayed_by_slurm(1121.0, 1005.0, [700.0])
    True
    """
    return eligible > now and all(stop < eligible - DELAY - CLEANED for stop in stops)
