"""Commands to slurmctld: in one session, or job by job where a job keeps the session waiting.

While slurmctld has a job's record on its way to slurmdbd, it lets every change of that job wait for
five seconds and then refuses it. In one session all others would wait behind it.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from shadowtime.live.refusals import LATER
from shadowtime.live.runner import Commands, TimedOut

if TYPE_CHECKING:
    from collections.abc import Sequence

    from shadowtime.live.runner import Runner

A_REFUSAL, A_LINE = 5.5, 0.05
"""Seconds that slurmctld takes to refuse one change, and a line of a session on a busy machine."""
AT_ONCE = 32
"""Sessions at the same time."""


def session(run: Runner, lines: Sequence[str]) -> list[str]:
    """One session of scontrol; returns its complaints."""
    return _complaints(run(("scontrol",), text="".join(f"{line}\n" for line in lines)).err)


def send(run: Runner, jobs: Sequence[Sequence[str]]) -> list[str]:
    """Carry out the lines of each job in their order; returns the complaints.

    Rules
    -----
    Everything goes in one session. If that takes too long and slurmctld has refused a job for the
    moment, the session is given up, and the jobs it has not complained about are sent again at the
    same time, each in a session of its own that ends with the first complaint. Carrying out a line
    twice does no harm. A session that takes too long without such a complaint is an error.
    """
    lines = [line for job in jobs for line in job]
    hasty = run
    if isinstance(run, Commands):
        hasty = run.within(A_REFUSAL + A_LINE * len(lines))
    try:
        return session(hasty, lines)
    except TimedOut as error:
        complaints = _complaints(error.err)
        if not any(LATER in line for line in complaints):
            raise
    left = [job for job in jobs if not any(_names(line, job) for line in complaints)]
    with ThreadPoolExecutor(AT_ONCE) as pool:
        for more in pool.map(lambda job: _alone(run, job), left):
            complaints += more
    return complaints


def _alone(run: Runner, lines: Sequence[str]) -> list[str]:
    for line in lines:
        complaints = session(run, [line])
        if complaints:
            return complaints
    return []


def _complaints(text: str) -> list[str]:
    return [line for line in text.splitlines() if line.strip()]


def _names(complaint: str, lines: Sequence[str]) -> bool:
    """Whether a complaint is about the job of these lines, which all name it."""
    words = complaint.replace(":", " ").replace(",", " ").split()
    return lines[-1].split()[-1] in words
