"""One decision from a snapshot is what the simulation decides at that instant."""

from __future__ import annotations

import pytest
from hypothesis import given, settings

from conftest import examples
from engine.site_worlds import sites, workloads
from shadowtime.cluster.site import Node, Site
from shadowtime.engine import simulate
from shadowtime.engine.site.live_pass import decide_site
from shadowtime.engine.site.plans import Freed, Run, SiteJobs
from shadowtime.policy import parse_policy
from shadowtime.workload import Workload


def tasks_of(schedule, site, row: int) -> dict[str, int]:
    return {site.nodes[node].name: tasks for node, tasks in schedule.place.tasks_of(row)}


@pytest.mark.parametrize("policy", ["easy", "lxfw(reserve=2)", "greedy", "easy-sjbf"])
def test_a_snapshot_is_decided_like_the_simulation(policy: str) -> None:
    chosen = parse_policy(policy)

    @given(workloads(plain=True), sites(plain=True))
    @settings(max_examples=examples(15), deadline=None)
    def equal(workload, site) -> None:
        made = simulate(workload, site, chosen)
        for now in sorted(set(made.start.tolist()) - {-1}):
            seen = (workload.submit <= now) & ((made.start < 0) | (made.end > now))
            rows = seen.nonzero()[0].tolist()
            place = {row: i for i, row in enumerate(rows)}
            running = {
                place[row]: Run(start=int(made.start[row]), tasks=tasks_of(made, site, row))
                for row in rows
                if 0 <= made.start[row] < now
            }
            snapshot = SiteJobs(now=now, jobs=workload.take(seen), running=running)
            found = decide_site(chosen, site, snapshot)
            expected = {
                place[row]: tasks_of(made, site, row) for row in rows if made.start[row] == now
            }
            assert {row: run.tasks for row, run in found.starts.items()} == expected

    equal()


@given(workloads(plain=True), sites(plain=True))
@settings(max_examples=examples(15), deadline=None)
def test_promises_are_remembered_between_decisions(workload, site) -> None:
    chosen = parse_policy("conservative")
    workload = workload.replace(submit=workload.submit * 0, run=workload.request)
    made = simulate(workload, site, chosen)
    promises: dict[int, Run] = {}
    running: dict[int, Run] = {}
    now: int | None = 0
    for _ in range(3 * len(workload) + 3):
        if now is None:
            break
        ends = {row: run.start + int(workload.request[row]) for row, run in running.items()}
        running = {row: run for row, run in running.items() if ends[row] > now}
        done = [row for row in ends if ends[row] <= now]
        if done:
            break  # rows of the snapshot would change: one stretch without ends is enough here
        found = decide_site(
            chosen, site, SiteJobs(now=now, jobs=workload, running=running, promises=promises)
        )
        for row, run in found.starts.items():
            assert made.start[row] == now
            assert run.tasks == tasks_of(made, site, row)
        running |= found.starts
        promises = dict(found.promises)
        now = found.wake


@pytest.mark.parametrize("place", ["best-fit", "first-fit"])
def test_a_run_of_single_decisions_is_the_simulation(place: str) -> None:
    """Each decision sees what came free early and moves the promises that can gain."""
    chosen = parse_policy(f"conservative(place={place})")

    @given(workloads(plain=True), sites(plain=True))
    @settings(max_examples=examples(15), deadline=None)
    def equal(workload, site) -> None:
        made = simulate(workload, site, chosen)
        length = [max(1, int(asked)) for asked in workload.request]
        promises: dict[int, Run] = {}
        running: dict[int, Run] = {}
        times = set(workload.submit.tolist())
        gone: set[int] = set()
        left: list[Freed] = []
        asked: dict[int, int] = {}
        while times:
            now = min(times)
            times.discard(now)
            ended = {row for row in running if int(made.end[row]) <= now}
            freed = [
                Freed(nodes=tuple(run.tasks), begin=now, end=run.start + length[row])
                for row, run in running.items()
                if row in ended and run.start + length[row] > now
            ]
            gone |= ended
            running = {row: run for row, run in running.items() if row not in ended}
            seen = workload.submit <= now
            seen[sorted(gone)] = False
            rows = seen.nonzero()[0].tolist()
            place_of = {row: i for i, row in enumerate(rows)}
            if not rows:
                continue
            found = decide_site(
                chosen,
                site,
                SiteJobs(
                    now=now,
                    jobs=workload.take(seen),
                    running={place_of[row]: run for row, run in running.items()},
                    promises={place_of[row]: run for row, run in promises.items()},
                    freed=[*left, *freed],
                    asked={place_of[row]: count for row, count in asked.items()},
                ),
            )
            left = list(found.freed)
            asked = {rows[at]: count for at, count in found.asked.items()}
            starts = {rows[at]: run for at, run in found.starts.items()}
            expected = [row for row in rows if made.start[row] == now]
            assert {row: run.tasks for row, run in starts.items()} == {
                row: tasks_of(made, site, row) for row in expected
            }
            running |= starts
            promises = {rows[at]: run for at, run in found.promises.items()}
            times |= {int(made.end[row]) for row in starts if made.end[row] > now}
            if found.wake is not None and found.wake > now:
                times.add(found.wake)

    equal()


@given(workloads(plain=True, most=14), sites(plain=True))
@settings(max_examples=examples(15), deadline=None)
def test_a_bounded_sweep_goes_on_in_the_next_decision(workload, site) -> None:
    """Small steps until nothing is left: promises only move earlier, and the sweep ends."""
    chosen = parse_policy("conservative")
    workload = workload.replace(submit=workload.submit * 0)
    first = decide_site(chosen, site, SiteJobs(now=0, jobs=workload))
    if not first.starts or not first.promises:
        return
    gone = min(first.starts)
    stays = workload.job_id != workload.job_id[gone]
    rows = stays.nonzero()[0].tolist()
    place = {row: i for i, row in enumerate(rows)}
    running = {place[row]: run for row, run in first.starts.items() if row != gone}
    promises = {place[row]: run for row, run in first.promises.items()}
    end = max(1, int(workload.request[gone]))
    freed = [Freed(nodes=tuple(first.starts[gone].tasks), begin=0, end=end)]
    asked: dict[int, int] = {}
    unfinished = False
    jobs = workload.take(stays)
    for _ in range(60 + len(jobs) ** 2):  # every move may let every other job move
        found = decide_site(
            chosen,
            site,
            SiteJobs(
                now=0,
                jobs=jobs,
                running=running,
                promises=promises,
                freed=freed,
                asked=asked,
                unfinished=unfinished,
            ),
            effort=1,
        )
        unfinished = found.unfinished
        running |= found.starts
        for row, run in promises.items():
            assert row in found.starts or found.promises[row].start <= run.start
        promises, asked = dict(found.promises), dict(found.asked)
        freed = list(found.freed)
        if not unfinished:
            break
    else:
        raise AssertionError("the sweep does not end")


def test_a_bounded_sweep_leaves_no_room_idle() -> None:
    """The last of sixty jobs fits into what came free although the sweep stops after the first."""
    site = Site(nodes=(Node(name="a", amounts=(4,)),))
    count = 60
    jobs = Workload.build(
        submit=range(count + 2), run=[200, *[10] * count, 50], procs=[3, *[4] * count, 1]
    )
    plans = {row: Run(start=190 + 10 * row, tasks={"a": 4}) for row in range(1, count + 1)}
    seen = SiteJobs(
        now=100,
        jobs=jobs,
        running={0: Run(start=0, tasks={"a": 3})},
        promises={**plans, count + 1: Run(start=900, tasks={"a": 1})},
        freed=[Freed(nodes=("a",), begin=100, end=200)],
    )
    found = decide_site(parse_policy("conservative"), site, seen, effort=1)
    assert found.unfinished
    assert found.starts == {count + 1: Run(start=100, tasks={"a": 1})}
