"""Whole runs of ``slurm`` keep dependencies: a job is in no pass before they are met."""

from __future__ import annotations

from typing import Any

import hypothesis.strategies as draws
import numpy as np
from hypothesis import given

import shadowtime as st
from shadowtime.cluster.site import Node, Site
from shadowtime.slurm.job import Job
from shadowtime.slurm.submissions import Dependencies
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


def test_every_kind_waits_for_its_condition() -> None:
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
    """afterok of a failed or cancelled job never starts; afternotok does."""
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
    """kill_invalid_depend cancels such a job; jobs that waited for its end are released."""
    wishes = (None, ("afternotok", (1,)), ("afterany", (2,)))
    assert starts(*wishes)[1:] == [-1, -1]
    first, hopeless, behind = starts(*wishes, parameters=",kill_invalid_depend")
    assert first < 5 and hopeless == -1 and 20 <= behind < 30


class EveryHeldJob(Dependencies):
    """The same by definition: every held job is checked after every event."""

    def leave(self, row: int) -> None:
        self.end(row, cancelled=True)
        for held in list(self.held.values()):
            if row in held.rows:
                if held.job.tasks:
                    del held.job.tasks[held.rows.index(row)]
                held.rows.remove(row)
                del self._holder[row]
                if not held.rows:
                    self._let_go(held)

    def released(self, *, kill_invalid: bool) -> list[Job]:
        found = []
        again = True
        while again:
            again = False
            for held in list(self.held.values()):
                if self.met(held.rows):
                    self._let_go(held)
                    found.append(held.job)
                elif kill_invalid and self.hopeless(held.rows):
                    self._let_go(held)
                    for row in held.rows:
                        self.end(row, cancelled=True)
                    again = True
        return found


ASK: Any = None
"""Not used here."""
KINDS = ("after", "afterok", "afternotok", "afterany", "aftercorr", "singleton")


@draws.composite
def stories(
    draw: draws.DrawFn,
) -> tuple[int, list[Dependency], list[int], list[tuple[str, int]], bool]:
    """Jobs that depend on any others, also later ones and circles, and what becomes of them."""
    count = draw(draws.integers(2, 9))
    number = draws.integers(1, count + 1)  # the last is not in the log
    wish = draws.builds(
        Dependency,
        job=draws.integers(0, count - 1),
        kind=draws.sampled_from(KINDS),
        on=draws.lists(number, max_size=3, unique=True).map(tuple),
        any_of=draws.booleans(),
    )
    event = draws.tuples(
        draws.sampled_from(("hold", "start", "end", "cancel")), draws.integers(0, count)
    )
    bad = draw(draws.lists(draws.integers(0, count - 1), max_size=3, unique=True))
    return (
        count,
        draw(draws.lists(wish, max_size=12)),
        bad,
        draw(draws.lists(event, min_size=count, max_size=40)),
        draw(draws.booleans()),
    )


def what_is_released(kind: type[Dependencies], story: Any) -> list[list[int]]:
    """Which jobs are released after each event; the first two rows are tasks of one array."""
    count, wishes, bad, events, kill_invalid = story
    status = np.ones(count, np.int64)
    status[bad] = 0
    array = np.full(count, -1, np.int64)
    array[:2] = 1
    asks = Requests.of_jobs([Request(tasks=1)] * count, dependencies=wishes, array=array)
    work = st.Workload.build(submit=[0] * count, run=[9] * count, procs=[1] * count)
    depends = kind(work.replace(status=status, requests=asks), asks)
    found, held, left = [], set(), set()
    for what, row in events:
        first = row if row > 1 else 0
        if row >= count or (what == "hold") == (first in held):
            continue
        if what == "hold":
            held.add(first)
            rows = [0, 1] if first == 0 else [row]
            job = Job(id=first, ask=ASK, limit=60, tasks=[0, 1] if first == 0 else [])
            depends.hold(job, rows)
        elif what == "cancel":
            if row in left:
                continue
            left.add(row)
            depends.leave(row)
        else:
            getattr(depends, what)(row)
        found.append([job.id for job in depends.released(kill_invalid=kill_invalid)])
    return [*found, sorted(depends.held), sorted(depends.ended)]


@given(stories())
def test_only_dependents_are_looked_at_and_the_same_are_released(story: Any) -> None:
    """In the same order, after every event."""
    assert what_is_released(Dependencies, story) == what_is_released(EveryHeldJob, story)


def test_jobs_are_released_in_the_order_in_which_they_came() -> None:
    """Also one that waited for the end of a job that is cancelled in the same moment."""
    wishes = [
        Dependency(job=3, kind="afternotok", on=(3,)),
        Dependency(job=4, kind="afterany", on=(4,)),
        Dependency(job=5, kind="afterok", on=(3,)),
    ]
    events = [("hold", 2), ("hold", 3), ("hold", 4), ("hold", 5), ("start", 2), ("end", 2)]
    story = (6, wishes, [], events, True)
    expected = [[2], [], [], [], [], [4, 5], [], [2, 3]]
    assert what_is_released(Dependencies, story) == expected
    assert what_is_released(EveryHeldJob, story) == expected
