"""What would have been different: against the verifier on edited workloads, and link by link."""

from __future__ import annotations

import numpy as np
import pytest

from conftest import examples
from shadowtime.cluster import Cluster
from shadowtime.engine import simulate
from shadowtime.errors import InputError, UsageError
from shadowtime.policy import parse_policy
from shadowtime.schedule.runs import runs
from shadowtime.study.counterfactual.chain import Via
from shadowtime.study.counterfactual.otherwise import Otherwise, otherwise
from shadowtime.study.counterfactual.variation import Variation
from shadowtime.types import NO_LIMIT, UNKNOWN
from shadowtime.verify.follow import follow
from shadowtime.workload import Workload
from shadowtime.workload.request import Dependency, Request, Requests
from verify.campaign import random_worlds


def expected(jobs: Workload, machine, policy) -> dict[int, int]:
    """The starts by the verifier, which shares nothing with the engine."""
    made = follow(jobs, machine, policy)
    return dict(zip(jobs.job_id.tolist(), [row.start for row in made.rows], strict=True))


@pytest.mark.parametrize(
    ("shape", "policy"),
    [("pool", "easy"), ("pool", "conservative"), ("hosts", "easy"), ("site", "easy")],
)
def test_every_number_is_that_of_the_edited_log(shape: str, policy: str) -> None:
    """Without each job in turn: starts, counts and sums, one job after the other."""
    chosen = parse_policy(policy)
    compared = 0
    for jobs, machine in random_worlds(shape, examples(40)):
        if len(jobs) < 2:
            continue
        before = expected(jobs, machine, chosen)
        made = simulate(jobs, machine, chosen)
        for gone in range(min(len(jobs), 4)):
            target = int(jobs.job_id[-1] if gone < len(jobs) - 1 else jobs.job_id[0])
            edited = jobs.take(np.arange(len(jobs)) != gone)
            after = expected(edited, machine, chosen)
            found = otherwise(
                jobs, machine, chosen, made, target,
                Variation.of(without=int(jobs.job_id[gone])), engine=simulate,
            )  # fmt: skip
            assert (found.before, found.after) == (before[target], after[target])
            others = [
                (before[job], after[job])
                for job in after
                if job != target and before[job] != after[job]
            ]
            both = [(old, new) for old, new in others if min(old, new) >= 0]
            assert found.earlier == sum(new < old for old, new in both)
            assert found.later == sum(new > old for old, new in both)
            assert found.earlier_s == sum(old - new for old, new in both if new < old)
            assert found.later_s == sum(new - old for old, new in both if new > old)
            assert found.start_now == sum(old < 0 for old, _ in others)
            assert found.start_no_more == sum(new < 0 for _, new in others)
            assert found.affected == len(others)
            _true(found, jobs, made, simulate(edited, machine, chosen), int(jobs.job_id[gone]))
            compared += bool(found.chain)
    assert compared > 0


def _true(found: Otherwise, jobs: Workload, old, new, gone: int) -> None:
    """Every link says what both schedules show, and the chain leads from the change to the job."""
    if found.before == found.after:
        assert found.chain == ()
        return
    assert found.chain[0].job == gone and found.chain[0].via is Via.CHANGED
    assert found.chain[-1].job == found.job
    assert len({link.job for link in found.chain}) == len(found.chain)
    for cause, link in zip(found.chain, found.chain[1:], strict=False):
        assert link.before != link.after and cause.at <= link.at
        assert link.at == min(one for one in (link.before, link.after) if one >= 0)
        early = old if link.at == link.before else new
        late = new if early is old else old
        assert link.in_old_run == (late is old) or link.via is Via.EARLIER
        if link.via is Via.HELD:
            assert link.until in _ends(late, cause.job, link.at)
            assert not _ends(early, cause.job, link.at)
            assert link.procs == int(jobs.procs[jobs.job_id == cause.job][0])
        if link.via in (Via.AHEAD, Via.QUEUED):
            [row] = np.flatnonzero(late.job_id == cause.job)
            begun = int(late.start[row])
            assert late.submit[row] <= link.at and (begun < 0 or begun > link.at)
            if link.via is Via.AHEAD:
                assert late.blocked_at[row] <= link.at and link.promised == late.promised[row]


def _ends(schedule, job: int, now: int) -> list[int]:
    """When the runs of a job that cover a time end."""
    every = runs(schedule)
    mine = schedule.job_id[every.row] == job
    alive = mine & (every.since <= now) & (now < every.until)
    return every.until[alive].tolist()


# Four processors. Job 1 takes three until 100; job 2 needs four: promised 100, starts 100; job 3 is
# backfilled; job 4 would delay job 2 and waits until 130.
JOBS = Workload.build(
    submit=[0, 10, 20, 30], run=[100, 30, 50, 200], request=[100, 60, 50, 200],
    procs=[3, 4, 1, 1], user=[1, 2, 1, 3], names={"user": ("", "ada", "bob", "eva")},
)  # fmt: skip
POOL = Cluster.pool(4)
EASY = parse_policy("easy")


def changed(job: int, **given) -> Otherwise:
    made = simulate(JOBS, POOL, EASY)
    return otherwise(JOBS, POOL, EASY, made, job, Variation.of(**given), engine=simulate)


def test_without_a_user() -> None:
    found = changed(4, without="user=ada")
    assert found.taken_away == 2 and (found.before, found.after) == (130, 40)
    assert found.chain[0].job in (1, 3)


def test_the_job_itself_stays() -> None:
    assert changed(3, without="user=ada").taken_away == 1


@pytest.mark.parametrize(
    ("field", "value", "start"),
    [("procs", 1, 10), ("submit", "-10s", 0), ("submit", "+2m", 130), ("request", "1m", 100)],
)
def test_the_job_changed(field: str, value, start: int) -> None:
    """Job 2: narrower it starts at once; earlier it is first; later job 4 goes before it."""
    found = changed(2, if_={field: value})
    assert found.before == 100 and found.after >= start - 1
    varied = Variation.of(if_=f"{field}={value}").apply(JOBS, 2, POOL)
    rows = {row: one.start for row, one in enumerate(follow(varied, POOL, EASY).rows)}
    assert found.after == rows[int(np.flatnonzero(varied.job_id == 2)[0])]


def test_a_shorter_request_kills() -> None:
    """Before job 2's promise: it goes first, and is stopped after 30 s."""
    found = changed(4, if_="request=30")
    assert found.killed and (found.before, found.after) == (130, 70)


def test_a_request_does_not_limit_what_nothing_limits() -> None:
    free = JOBS.replace(limit=np.full(4, NO_LIMIT, np.int64))
    varied = Variation.of(if_="request=50").apply(free, 4)
    assert varied.limit.tolist() == [NO_LIMIT] * 4 and varied.request[3] == 50


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"without": 2}, "job 2 is the one to explain"),
        ({"without": 9}, "--without 9: workload has no such job"),
        ({"without": "user=eve"}, "--without: no job has user eve: did you mean eva?"),
        ({"if_": "procs"}, "--if 'procs': write FIELD=VALUE"),
        ({"if_": "procs=0"}, "write a number of processors from 1"),
        ({"if_": "colour=3"}, "there is no field 'colour'"),
        ({"if_": "request=soon"}, "--if request=soon: write a length of time"),
        ({"if_": "submit=2h"}, "write how much earlier or later"),
        ({"if_": "submit=-1h"}, "before the log's clock begins"),
        ({"if_": ["procs=1", "procs=2"]}, "each field can be changed once"),
    ],
)
def test_errors(given: dict, sentence: str) -> None:
    with pytest.raises(UsageError, match=sentence.replace("?", r"\?").replace("'", ".")):
        changed(2, **given)


def test_a_job_that_fits_nowhere_is_rejected() -> None:
    with pytest.raises(InputError, match="8"):
        changed(2, if_="procs=8")


def test_on_a_site_tasks_and_nodes_change() -> None:
    asked = Requests.of_jobs(
        [Request(nodes=4, tasks=8, cpus_per_task=2, max_nodes=4), Request()],
        dependencies=[Dependency(job=1, kind="afterok", on=(1,))],
    )
    jobs = Workload.build(submit=[0, 5], run=[9, 9], procs=[16, 1], requests=asked)
    made = Variation.of(if_="procs=4").apply(jobs, 1)
    assert made.requests is not None and made.procs.tolist() == [4, 1]
    one = made.requests[0]
    assert (one.tasks, one.nodes, one.max_nodes, one.cpus) == (2, 1, 1, 4)
    assert made.requests[1] == Request() and made.requests.dependencies[0].job == 1
    with pytest.raises(UsageError, match="2 cpus each"):
        Variation.of(if_="procs=3").apply(jobs, 1)
    assert Variation.of(without=2).apply(jobs, 1).job_id.tolist() == [1]


def test_a_job_that_never_starts() -> None:
    """A cancelled job, which would have started without the job in its way."""
    jobs = Workload.build(
        submit=[0, 5], run=[90, 9], procs=[4, 1], extra={"cancel_at": np.array([-1, 30])}
    )
    made = simulate(jobs, POOL, EASY)
    found = otherwise(jobs, POOL, EASY, made, 2, Variation.of(without=1), engine=simulate)
    assert (found.before, found.after) == (UNKNOWN, 5)
    assert [link.job for link in found.chain] == [1, 2]
