"""Start estimates: arrays, reservations and failures, as they were known at the moment."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

import shadowtime as st
from shadowtime.cluster.site import Node, Outage, Reservation, Site
from shadowtime.eta.held import pieces_on
from shadowtime.eta.present import Array, LogAt, Present, Running, Waiting
from shadowtime.eta.starts import How, draw_starts
from shadowtime.workload.request import Request, Requests

NOW = 10_000
SITE = Site(nodes=tuple(Node(name=f"n{k}", amounts=(4,)) for k in range(3)))


def runs(name: str, *, node: str = "n0", array: int = -1, **changes: object) -> Running:
    return Running(
        id=name, user="eva", limit=1000, cpus=4, start=NOW - 400,
        pieces=(replace(Request(max_nodes=1, tasks=4, wanted=(node,)), **changes),),
        array=Array(array),
    )  # fmt: skip


def waits(name: str, array: Array, **changes: object) -> Waiting:
    request = replace(Request(max_nodes=1, tasks=4), **changes)
    return Waiting(id=name, user="eva", limit=1000, request=request, array=array)


@pytest.mark.parametrize("deep", [400, 0])
def test_tasks_that_run_count_against_the_throttle(deep: int) -> None:
    """Two nodes are free, but a task runs and one may: the others follow one after the other."""
    tasks = tuple(waits(str(k), Array(7, k, 1)) for k in (2, 3))
    busy = (replace(runs("1", array=7), array=Array(7, -1, 1)),)
    now = Present(now=NOW, machine=SITE, running=busy, waiting=tasks)
    first, second = draw_starts(now, How(draws=9, deep=deep)).waits.T
    assert first.min() > 0 and (second > first).all() and np.isfinite(second).all()
    free = replace(
        now, waiting=tuple(replace(one, array=Array(7, k)) for k, one in enumerate(tasks))
    )
    assert draw_starts(free, How(draws=9, deep=deep)).waits.max() < 60


def test_the_tasks_of_an_array_wait_together() -> None:
    """Accounting says when the turn of each came, which nobody knows before."""
    asked = Requests.of_jobs(
        [Request(tasks=4)] * 4, array=[1, 1, 1, -1], task=[1, 2, 3, -1], throttle=[1, 1, 1, 0],
        begin=[-1, 50, 90, 70],
    )  # fmt: skip
    jobs = st.Workload.build(
        submit=[0, 0, 0, 5], run=[50, 40, 30, 9], procs=[4] * 4, request=[60] * 4,
        recorded_start=[0, 51, 91, 70], requests=asked,
    )  # fmt: skip
    at = LogAt(jobs, SITE)
    seen = at.present(20)
    assert [one.id for one in seen.waiting] == ["2", "3"] and len(seen.past) == 3
    assert [one.array for one in seen.waiting] == [Array(1, 2, 1), Array(1, 3, 1)]
    assert [one.array.number for one in seen.running] == [1]
    late = [one.submit - at.epoch for one in at.present(75).past]
    assert late == [0, 0, 0, 70]  # it entered the queue only then


def test_later_failures_and_reservations_are_not_known() -> None:
    """A node that is out takes nothing; whether and when it returns is not known either."""
    jobs = st.Workload.build(
        submit=[0, 5], run=[500, 20], procs=[12, 12], request=[600, 60],
        recorded_start=[0, 600],
    )  # fmt: skip
    site = SITE.replace(outages=(Outage(node="n0", begin=100, end=200),))
    site = site.replace(
        reservations=(Reservation(name="r", nodes=("n1",), begin=300, end=999, known_at=150),)
    )
    at = LogAt(jobs, site)
    before, within, after = (at.present(when).machine for when in (50, 120, 250))
    assert not before.outages and not before.reservations
    assert [one.end > 10**6 for one in within.outages] == [True] and not within.reservations
    assert not after.outages and len(after.reservations) == 1


def test_what_runs_inside_a_reservation_keeps_its_nodes() -> None:
    """Another job of the reservation waits for them; pieces carry the reservation's name."""
    asked = Request(reservation="r")
    assert [one.reservation for one in pieces_on({"n0": 4}, nodes={"n0": 4}, like=asked)] == ["r"]
    own = Reservation(name="r", nodes=("n0",), begin=NOW - 500, end=NOW + 9000, users={"eva"})
    site = SITE.replace(reservations=(own,))
    now = Present(
        now=NOW, machine=site, running=(runs("1", reservation="r"),),
        waiting=(waits("2", Array(-1), reservation="r", wanted=("n0",)),),
    )  # fmt: skip
    found = draw_starts(now, How(draws=9)).waits
    assert found.min() > 0 and found.max() < 700


def test_what_runs_into_a_reservation_of_others_holds_its_node_until_then() -> None:
    """It began before the reservation was made: nobody else gets the node now or during it."""
    maintenance = Reservation(name="m", nodes=("n0",), begin=NOW + 100, end=NOW + 5000)
    site = SITE.replace(reservations=(maintenance,))
    only = waits("2", Array(-1), wanted=("n0",))
    now = Present(now=NOW, machine=site, running=(runs("1"),), waiting=(only,))
    found = draw_starts(now, How(draws=9)).waits
    assert (found >= 5000).all() and math.isfinite(found.max())
    short = replace(only, limit=50)  # it could be over before, were the node free
    first = draw_starts(replace(now, waiting=(short,)), How(draws=9)).waits
    assert first.min() > 0
