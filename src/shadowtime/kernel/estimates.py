"""How long a job will run: predictions that learn from the user's finished jobs.

FIXED: as given at submission (requested, actual, noisy). LAST: PV-EASY's Last Model, the share of
the request that the user's last finished job used, evaluated again whenever it changes while the
job waits (spec: algorithms 1.6). LAST_TWO: EASY++, the mean of the user's last two runs, once at
submission. The kill limit is never touched.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from shadowtime.kernel import fields as f
from shadowtime.kernel import registers as r
from shadowtime.kernel.jit import kernel
from shadowtime.kernel.queue import reestimate

if TYPE_CHECKING:
    from shadowtime.kernel.state import State

FIXED = 0
LAST = 1
LAST_TWO = 2


@kernel
def predict(state: State, job: int) -> int:
    """Prediction for a job from its user's history as it stands: within [1, request].

    One that had to be brought within is counted, every time it is made.
    """
    user = state.job[job, f.USER]
    request = state.job[job, f.REQUEST]
    if user == state.reg[r.UNKNOWN_USER] or state.user[user, f.LAST_RUN] < 0:
        return max(1, request)
    if state.reg[r.LEARNER] == LAST:
        # Whole numbers: run / request of the last job times this request, to the nearest second.
        before = state.user[user, f.LAST_REQUEST]
        guess = (state.user[user, f.LAST_RUN] * request + before // 2) // before
    elif state.user[user, f.BEFORE_RUN] < 0:
        return max(1, request)
    else:
        guess = (state.user[user, f.LAST_RUN] + state.user[user, f.BEFORE_RUN]) // 2
    within = max(1, min(request, guess))
    if within != guess:
        state.reg[r.CLAMPED] += 1
    return within


@kernel
def left_of(state: State, job: int, whole: int) -> int:
    """What the next attempt of a job takes if the whole job takes ``whole``.

    A job that has outlived that is taken to need one more second of work.
    """
    if state.job[job, f.KILLS] == 0:
        return whole
    return max(1 + state.reg[r.OVERHEAD], whole - state.job[job, f.AHEAD])


@kernel
def learn_submit(state: State, job: int) -> None:
    """Predict a job at its submission."""
    state.job[job, f.ESTIMATE] = predict(state, job)
    state.job[job, f.INITIAL] = state.job[job, f.ESTIMATE]
    user = state.job[job, f.USER]
    if job < state.user[user, f.FIRST_JOB]:
        state.user[user, f.FIRST_JOB] = job


@kernel
def learn_end(state: State, job: int) -> None:
    """Take in how long a job ran, finished or killed at its limit (not when preempted)."""
    user = state.job[job, f.USER]
    if user == state.reg[r.UNKNOWN_USER]:
        return
    state.user[user, f.BEFORE_RUN] = state.user[user, f.LAST_RUN]
    state.user[user, f.LAST_RUN] = (
        state.reg[r.NOW] - state.job[job, f.START] + state.job[job, f.AHEAD]
    )
    state.user[user, f.LAST_REQUEST] = state.job[job, f.REQUEST]
    if state.reg[r.LEARNER] == LAST:
        refresh_user(state, user)


@kernel
def refresh_user(state: State, user: int) -> None:
    """Predict all waiting jobs of a user again."""
    job = state.user[user, f.FIRST_JOB]
    arrived = state.reg[r.ARRIVED]
    first = True
    while job < arrived:
        if state.wait[f.PROCS, job] != r.BIG:
            if first:
                state.user[user, f.FIRST_JOB] = job
                first = False
            reestimate(state, job, left_of(state, job, predict(state, job)))
        job = state.job[job, f.NEXT]
    if first:
        state.user[user, f.FIRST_JOB] = job


@kernel
def repredict(state: State, job: int) -> None:
    """A preempted job's estimate as it returns to the queue."""
    user = state.job[job, f.USER]
    if job < state.user[user, f.FIRST_JOB]:
        state.user[user, f.FIRST_JOB] = job
    whole = predict(state, job) if state.reg[r.LEARNER] == LAST else state.job[job, f.INITIAL]
    state.job[job, f.ESTIMATE] = left_of(state, job, whole)
