"""How long a job will run: predictions that learn from the user's finished jobs.

FIXED: as given at submission (requested, actual, noisy). LAST: PV-EASY's Last Model, the share of
the request that the user's last finished job used, evaluated anew whenever it changes while the
job waits (spec 1.6). LAST_TWO: EASY++, the mean of the user's last two runs, once at submission.
The kill limit is never touched.
"""

from __future__ import annotations

from typing import Any

from shadowtime.kernel.fields import (
    BEFORE_RUN,
    ESTIMATE,
    FIRST_JOB,
    INITIAL,
    LAST_REQUEST,
    LAST_RUN,
    NEXT,
    PROCS,
    REQUEST,
    START,
    USER,
)
from shadowtime.kernel.jit import kernel
from shadowtime.kernel.queue import reestimate
from shadowtime.kernel.registers import ARRIVED, BIG, CLAMPED, LEARNER, NOBODY, NOW

FIXED = 0
LAST = 1
LAST_TWO = 2


@kernel
def predict(s: Any, job: int) -> int:
    """Prediction for a job from its user's history as it stands: within [1, request].

    One that had to be brought within is counted, every time it is made.
    """
    user = s.job[job, USER]
    request = s.job[job, REQUEST]
    if user == s.reg[NOBODY] or s.user[user, LAST_RUN] < 0:
        return max(1, request)
    if s.reg[LEARNER] == LAST:
        # Whole numbers: run / request of the last job times this request, to the nearest second.
        before = s.user[user, LAST_REQUEST]
        guess = (s.user[user, LAST_RUN] * request + before // 2) // before
    elif s.user[user, BEFORE_RUN] < 0:
        return max(1, request)
    else:
        guess = (s.user[user, LAST_RUN] + s.user[user, BEFORE_RUN]) // 2
    within = max(1, min(request, guess))
    if within != guess:
        s.reg[CLAMPED] += 1
    return within


@kernel
def learn_submit(s: Any, job: int) -> None:
    """Predict a job at its submission."""
    s.job[job, ESTIMATE] = predict(s, job)
    s.job[job, INITIAL] = s.job[job, ESTIMATE]
    user = s.job[job, USER]
    if job < s.user[user, FIRST_JOB]:
        s.user[user, FIRST_JOB] = job


@kernel
def learn_end(s: Any, job: int) -> None:
    """Take in how long a job ran, finished or killed at its limit (not when preempted)."""
    user = s.job[job, USER]
    if user == s.reg[NOBODY]:
        return
    s.user[user, BEFORE_RUN] = s.user[user, LAST_RUN]
    s.user[user, LAST_RUN] = s.reg[NOW] - s.job[job, START]
    s.user[user, LAST_REQUEST] = s.job[job, REQUEST]
    if s.reg[LEARNER] == LAST:
        refresh_user(s, user)


@kernel
def refresh_user(s: Any, user: int) -> None:
    """Predict all waiting jobs of a user anew."""
    job = s.user[user, FIRST_JOB]
    arrived = s.reg[ARRIVED]
    first = True
    while job < arrived:
        if s.wait[PROCS, job] != BIG:
            if first:
                s.user[user, FIRST_JOB] = job
                first = False
            reestimate(s, job, predict(s, job))
        job = s.job[job, NEXT]
    if first:
        s.user[user, FIRST_JOB] = job


@kernel
def repredict(s: Any, job: int) -> None:
    """A preempted job's estimate as it returns to the queue."""
    user = s.job[job, USER]
    if job < s.user[user, FIRST_JOB]:
        s.user[user, FIRST_JOB] = job
    s.job[job, ESTIMATE] = predict(s, job) if s.reg[LEARNER] == LAST else s.job[job, INITIAL]
