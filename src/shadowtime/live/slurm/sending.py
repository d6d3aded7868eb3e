"""Commands to slurmctld: in one session, or job by job if a job blocks the session.

While slurmctld is sending a job's record to slurmdbd, it delays every change of that job for five
seconds and then refuses it. In one session all other jobs would wait behind it.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

from shadowtime.live.port import PortError
from shadowtime.live.refusals import AGAIN_AFTER, LATER
from shadowtime.live.runner import Commands, Runner, TimedOut

BUSY, BUSY_TRIES, BUSY_PAUSE = "temporarily unavailable", 20, 0.05
"""How Slurm since 25.11 refuses a change of partition at random where there is no slurmdbd; how
often it is repeated, and after how many seconds."""
A_REFUSAL, A_LINE = 5.5, 0.05
"""Seconds that slurmctld takes to refuse one change, and a line of a session on a busy machine."""
PATIENCE = 3.0
"""How many times its time limit a session is allowed after one that was slow."""
AT_ONCE = 32
"""The number of simultaneous sessions."""


def session(run: Runner, lines: Sequence[str]) -> list[str]:
    """One session of scontrol; returns its error messages.

    Whatever a user has written into a job, it must not become a line of its own.
    """
    if strange := next((line for line in lines if not line.isprintable()), ""):
        raise PortError(f"a line for scontrol has control characters: {strange[:80]!r}")
    return _complaints(run(("scontrol",), text="".join(f"{line}\n" for line in lines)).err)


class Sender:
    """Sends commands, and remembers the jobs that slurmctld refuses temporarily.

    Rules
    -----
    Everything goes into one session. If that takes too long and slurmctld has refused a job
    temporarily, the session is abandoned, and the jobs without an error message are sent again at
    the same time, each in a separate session that ends with the first error message. Carrying out a
    line twice is harmless. A session that takes too long without such a message is an error; the
    next one is given more time.

    A job that was refused in this way is sent separately from then on, at the same time as the
    session, which does not wait behind it; less urgent commands (``rests``) skip it for half a
    minute. A job that goes to another partition is sent separately too: it must not be released if
    that is refused.
    """

    def __init__(self) -> None:
        self.refused: dict[str, float] = {}
        """When each such job was last refused, on a steady clock."""
        self._slow = False

    def rests(self, job: str, now: float) -> bool:
        """Whether a job was refused recently."""
        return now - self.refused.get(job, float("-inf")) < AGAIN_AFTER

    def send(self, run: Runner, jobs: Sequence[Sequence[str]], now: float) -> list[str]:
        """Carry out the lines of each job in their order; returns the error messages."""
        apart = [job for job in jobs if job_of(job) in self.refused or _moves(job)]
        with ThreadPoolExecutor(AT_ONCE) as pool:
            alone = [pool.submit(_alone, run, job) for job in apart]
            try:
                patient = self._slow and isinstance(run, Commands)
                complaints = send(run, [job for job in jobs if job not in apart], patient=patient)
            except TimedOut:
                self._slow = True
                raise
            self._slow = False
            for one in alone:
                complaints += one.result()
        later = [line for line in complaints if LATER in line]
        for job in jobs:
            if any(_names(line, job) for line in later):
                self.refused[job_of(job)] = now
            else:
                self.refused.pop(job_of(job), None)
        return complaints


def send(run: Runner, jobs: Sequence[Sequence[str]], *, patient: bool = False) -> list[str]:
    """The same for jobs that were never refused; see :class:`Sender`."""
    lines = [line for job in jobs for line in job]
    if not lines:
        return []
    hasty = run
    if isinstance(run, Commands):
        hasty = run.within(A_REFUSAL + A_LINE * len(lines))
        if patient:
            hasty = run.allowing(run.timeout * PATIENCE)
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
        for _ in range(BUSY_TRIES):
            if not any(BUSY in one for one in complaints):
                break
            time.sleep(BUSY_PAUSE)
            complaints = session(run, [line])
        if complaints:
            return complaints
    return []


def _moves(lines: Sequence[str]) -> bool:
    """Whether a job is sent to another partition."""
    return any(" Partition=" in line for line in lines)


def _complaints(text: str) -> list[str]:
    return [line for line in text.splitlines() if line.strip()]


def _names(complaint: str, lines: Sequence[str]) -> bool:
    """Whether an error message is about the job of these lines, which all name it."""
    words = complaint.replace(":", " ").replace(",", " ").split()
    return job_of(lines) in words


def job_of(lines: Sequence[str]) -> str:
    """The job that the lines are about.

    Examples
    --------
    >>> job_of(["release 7"]), job_of(["release 7", "update JobId=7 StartTime=now"])
    ('7', '7')
    """
    words = lines[-1].split()
    return words[1].removeprefix("JobId=") if words[0] == "update" else words[-1]
