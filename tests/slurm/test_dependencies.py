"""Whole runs of ``slurm`` keep dependencies: a job is in no pass before they are met."""

from __future__ import annotations

import numpy as np

import shadowtime as st
from shadowtime.cluster.site import Node, Site
from shadowtime.workload.request import Dependency, Request, Requests

FAST = "bf_interval=2,bf_resolution=1,batch_sched_delay=0"


def starts(
    *wishes: tuple[str, tuple[int, ...]] | None,
    parameters: str = "",
    failed: tuple[int, ...] = (),
    cancel_at: dict[int, int] | None = None,
) -> list[int]:
    """Starts of jobs of 20 s that are submitted at once on a machine with room for all."""
    count = len(wishes)
    site = Site(
        nodes=(Node(name="a", amounts=(count,)),),
        config={"SchedulerParameters": FAST + parameters},
    )
    work = st.Workload.build(submit=[0] * count, run=[20] * count, procs=[1] * count)
    status = np.ones(count, np.int64)
    status[[number - 1 for number in failed]] = 0
    cancelled = np.full(count, -1, np.int64)
    for number, when in (cancel_at or {}).items():
        cancelled[number - 1] = when
    depends = [
        Dependency(job=row, kind=wish[0], on=wish[1]) for row, wish in enumerate(wishes) if wish
    ]
    asks = Requests.of_jobs([Request(tasks=1)] * count, dependencies=depends, cancel_at=cancelled)
    made = st.simulate(work.replace(status=status, requests=asks), site, "slurm")
    return list(made.schedule.start.tolist())


def test_every_kind_waits_for_what_it_says() -> None:
    """Good ends, bad ends, any ends, starts; of several jobs all."""
    plain, good, bad, ended, begun, both = starts(
        None,
        ("afterok", (1,)),
        ("afternotok", (1,)),
        ("afterany", (2,)),
        ("after", (2,)),
        ("afterok", (1, 2)),
    )
    assert plain < 5 and 20 <= good < 30
    assert bad == -1
    assert 40 <= ended < 55 and good <= begun < good + 5 and 40 <= both < 55


def test_a_failed_job_and_a_cancelled_one_end_badly() -> None:
    """afterok of a failed job never starts, afternotok does; so after a job that left the queue."""
    _, good, bad, _, after_cancelled = starts(
        None,
        ("afterok", (1,)),
        ("afternotok", (1,)),
        ("afterok", (1,)),
        ("afterany", (4,)),
        failed=(1,),
        cancel_at={4: 30},
    )
    assert good == -1 and bad >= 20
    assert 30 <= after_cancelled < 40


def test_jobs_of_one_name_run_one_after_the_other() -> None:
    """singleton waits for every earlier job of the user and name."""
    first, second, third = starts(None, ("singleton", ()), ("singleton", ()))
    assert first < 5 and 20 <= second < 30 and 40 <= third < 55


def test_hopeless_jobs_wait_for_ever_or_are_cancelled() -> None:
    """kill_invalid_depend: what waited for the end of a hopeless job gets it."""
    wishes = (None, ("afternotok", (1,)), ("afterany", (2,)))
    assert starts(*wishes)[1:] == [-1, -1]
    first, hopeless, behind = starts(*wishes, parameters=",kill_invalid_depend")
    assert first < 5 and hopeless == -1 and 20 <= behind < 30
