"""A job without suitable hosts blocks no other: it is set aside or left out of the pass."""

from __future__ import annotations

import random

import pytest

from live.fakes import NODES, FakeClock, FakeSlurm, queue_line
from live.test_loop import a_loop, obedient
from shadowtime.cluster import Cluster, Host
from shadowtime.engine.live_pass import Memory, Note
from shadowtime.live.deciding import NO_HOSTS_NOW, decide_with_hosts
from shadowtime.live.placing import NOWHERE, TOO_BIG, Empty, first_fit
from shadowtime.live.port import RunningJob, Snapshot, Start, WaitingJob
from shadowtime.live.refusals import AGAIN_AFTER, TRIES
from shadowtime.policy import parse_policy

POLICIES = ("fcfs", "easy", "easy-sjbf", "easy++", "easy-last", "pv-easy", "conservative")
FOUR = Cluster(shape="nodes", hosts=tuple(Host(f"n{k}", (4,)) for k in range(1, 5)))


def waits(job: str, procs: int = 4, **more: object) -> WaitingJob:
    given = {"submit": int(job), "request": 60} | more
    return WaitingJob(id=job, need=(procs,), **given)


def decided(policy: str, state: Snapshot) -> dict[str, tuple[tuple[str, int], ...]]:
    made = decide_with_hosts(parse_policy(policy), state, Memory())
    return {d.job: d.place for d in made.decisions if isinstance(d, Start)}


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize(
    ("nowhere", "why"),
    [
        (waits("1", 64), TOO_BIG),
        (waits("1", only=("none",)), NOWHERE),
        (waits("1", nodes=3, only=("n1", "n2")), TOO_BIG),
    ],
    ids=["wider than usable", "on no node", "on more nodes than it accepts"],
)
def test_a_job_that_fits_nowhere_stops_no_other(policy: str, nowhere: WaitingJob, why: str) -> None:
    """It is set aside with the reason, and keeps its place in the queue."""
    state = Snapshot(now=9, cluster=FOUR, waiting=(nowhere, waits("2"), waits("3", 12)))
    made = decide_with_hosts(
        parse_policy(policy), state, Memory(jobs={"1": Note(since=1, kills=2)})
    )
    assert [d.job for d in made.decisions] == ["2", "3"]
    assert made.aside == {"1": why}
    assert made.decided.memory.jobs["1"] == Note(since=1, kills=2)


def test_what_fits_is_what_first_fit_finds_on_empty_hosts() -> None:
    """Random jobs on random machines, with memory by node and by processor."""
    draw = random.Random(5)
    for _ in range(2000):
        hosts = tuple(
            Host(f"n{k}", (draw.choice((2, 4, 8)), draw.choice((10, 20)))) for k in range(4)
        )
        machine = Cluster(shape="nodes", resources=("procs", "memory"), hosts=hosts)
        chunk = draw.choice((1, 1, 2))
        job = WaitingJob(
            id="1",
            submit=0,
            request=9,
            need=(chunk * draw.randint(1, 12), draw.randint(0, 60)),
            nodes=draw.choice((0, 0, 1, 2, 5)),
            chunk=chunk,
            alone=draw.random() < 0.2,
            only=draw.choice(((), (), ("n1",), ("n0", "n3"), ("none",))),
            each=draw.choice(((), (0, draw.randint(0, 25)))),
        )
        free = {host.name: list(host.capacity) for host in hosts}
        assert (Empty(machine).why_nowhere(job) == "") == bool(first_fit(job, free, free)), job


@pytest.mark.parametrize("policy", ["easy", "easy-sjbf", "easy++", "pv-easy", "conservative"])
def test_a_job_whose_hosts_are_busy_leaves_its_room_to_others(policy: str) -> None:
    """Twelve processors are free, but not on n1: jobs that do not delay it take them."""
    run = RunningJob(
        id="9", submit=0, need=(4,), request=100, start=0, place=(("n1", 4),), ours=False
    )
    state = Snapshot(
        now=9,
        cluster=FOUR,
        running=(run,),
        waiting=(waits("1", only=("n1",)), waits("2", 8), waits("3", 4)),
    )
    assert decided(policy, state) == {"2": (("n2", 4), ("n3", 4)), "3": (("n4", 4),)}
    made = decide_with_hosts(parse_policy(policy), state, Memory())
    assert made.blocked == {"1": NO_HOSTS_NOW}
    assert "1" in made.decided.memory.jobs


def test_without_backfilling_no_job_overtakes_it() -> None:
    """fcfs keeps the order among the jobs that fit somewhere."""
    run = RunningJob(id="9", submit=0, need=(4,), request=100, start=0, place=(("n1", 4),))
    waiting = (waits("1"), waits("2", only=("n1",)), waits("3"))
    state = Snapshot(now=9, cluster=FOUR, running=(run,), waiting=waiting)
    assert decided("fcfs", state) == {"1": (("n2", 4),)}


def test_a_job_that_waits_for_its_hosts_is_not_overtaken_for_ever() -> None:
    """Two whole nodes are free at 40: no job may use one of them beyond that."""
    runs = tuple(
        RunningJob(id=f"9{k}", submit=0, need=(2,), request=40, start=0, place=((f"n{k}", 2),))
        for k in range(1, 5)
    )
    head = waits("1", 8, nodes=2, alone=True)
    long, short = waits("2", 2, request=500), waits("3", 2, request=20)
    state = Snapshot(now=9, cluster=FOUR, running=runs, waiting=(head, long, short))
    assert decided("easy", state) == {"2": (("n1", 2),), "3": (("n2", 2),)}
    three = tuple(waits(str(k), 2, request=500) for k in range(2, 5))
    state = Snapshot(now=9, cluster=FOUR, running=runs, waiting=(head, *three))
    found = decided("easy", state)
    assert set(found) == {"2", "3"} or set(found) == {"2"}, "two nodes are left for the head"
    assert "n4" not in {host for place in found.values() for host, _ in place}


def test_the_first_job_is_in_no_ones_way() -> None:
    """The second needs a host that the first gets; the first still starts."""
    waiting = (waits("1", 8), waits("2", only=("n2",)), waits("3"))
    state = Snapshot(now=9, cluster=FOUR, waiting=waiting)
    assert decided("easy", state) == {"1": (("n1", 4), ("n2", 4)), "3": (("n3", 4),)}


def test_thousands_that_want_one_busy_node_cost_few_passes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Jobs that ask for the same are left out together."""
    from shadowtime.live import deciding

    made = []
    real = deciding.decide
    monkeypatch.setattr(deciding, "decide", lambda *a, **k: made.append(1) or real(*a, **k))
    run = RunningJob(id="0", submit=0, need=(4,), request=100, start=0, place=(("n1", 4),))
    crowd = tuple(waits(str(k), 1, only=("n1",)) for k in range(1, 3000))
    state = Snapshot(now=9999, cluster=FOUR, running=(run,), waiting=(*crowd, waits("5000")))
    assert decided("easy", state) == {"5000": (("n2", 4),)}
    assert len(made) == 2


def test_the_loop_reports_jobs_set_aside_once_and_goes_on() -> None:
    """On Slurm: -x ALL, a constraint no node has, more nodes than there are."""
    queue = queue_line("1", Feature="big|small") + queue_line("2", NumCPUs=999) + queue_line("3")
    fake, reported = FakeSlurm(queue, NODES), []
    obedient(fake)
    loop = a_loop(fake, FakeClock(), tell=reported.append)
    for _ in range(3):
        step = loop.step()
    assert fake.sent == ["update JobId=3 ReqNodeList=n1 StartTime=now"]
    assert step.aside == {"1": NOWHERE, "2": TOO_BIG}
    assert [line for line in reported if "set aside" in line] == [
        f"1 is set aside: {NOWHERE}",
        f"2 is set aside: {TOO_BIG}",
    ]


def test_a_start_that_is_always_refused_leaves_its_room_to_others() -> None:
    """After three refusals it is set aside for half a minute, or until it is changed."""
    fake, clock = FakeSlurm(queue_line("7", NumCPUs=64) + queue_line("8"), NODES), FakeClock()
    loop = a_loop(fake, clock)
    for _ in range(TRIES):
        assert [o.decision.job for o in loop.step().outcomes] == ["7"]
        clock.sleep(1)
    obedient(fake)
    fake.on_tell, carry_out = lambda line: carry_out(line) if "8" in line else None, fake.on_tell
    step = loop.step()
    assert [(o.decision.job, o.done) for o in step.outcomes] == [("8", True)]
    assert "refused 3 times" in step.aside["7"]
    fake.queue = queue_line("7", NumCPUs=64)
    assert loop.step().decisions == ()
    clock.sleep(AGAIN_AFTER)
    assert [d.job for d in loop.step().decisions] == ["7"]


def test_of_two_equal_jobs_with_room_for_one_the_first_starts() -> None:
    """Both were blocked, and stayed so, where the pool as a whole had room for the second."""
    jobs = tuple(
        WaitingJob(id=name, submit=0, need=(4,), request=9, only=("n1",)) for name in ("1", "2")
    )
    made = decide_with_hosts(
        parse_policy("easy"), Snapshot(now=1, cluster=FOUR, waiting=jobs), Memory()
    )
    assert [(one.job, one.place) for one in made.decisions] == [("1", (("n1", 4),))]
    assert set(made.blocked) == {"2"}
