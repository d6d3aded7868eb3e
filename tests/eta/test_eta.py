"""Start estimates: what is learned, how futures are drawn, which ranges hold."""

from __future__ import annotations

import math
import random
from dataclasses import replace

import numpy as np
import pytest

import shadowtime as st
from eta import naive_shares as naive
from shadowtime.cluster.site import Association, Node, Partition, Qos, Site
from shadowtime.engine.site.simulate import simulate_site
from shadowtime.errors import UsageError
from shadowtime.eta.arrivals import DAY, future
from shadowtime.eta.asking import ask_start, parse_request
from shadowtime.eta.draws import part_of_user, remaining, uniforms
from shadowtime.eta.held import pieces_on
from shadowtime.eta.on_log import predict_log
from shadowtime.eta.present import Arrived, LogAt, Present, Running, Waiting
from shadowtime.eta.ranges import Corrections, Estimate, Instant, estimates_of, order_statistic
from shadowtime.eta.scores import accuracy
from shadowtime.eta.shares import Observed, Shares
from shadowtime.eta.starts import Drawn, How, draw_starts
from shadowtime.policy import parse_policy
from shadowtime.workload.request import Request


@pytest.mark.parametrize("seed", range(20))
def test_shares_are_those_of_the_slow_reference(seed: int) -> None:
    """Point by point over the whole chain: levels, fading, weights, jobs that still run."""
    rng = random.Random(seed)
    seen = [
        Observed(
            rng.choice("abc"), rng.choice([60, 64, 3600, 7200]), rng.choice([1, 4]),
            round(rng.random(), 3), rng.random() < 0.8, k,
        )
        for k in range(rng.choice([0, 1, 5, 80, 700]))
    ]  # fmt: skip
    rng.shuffle(seen)
    shares = Shares(seen)
    for _ in range(10):
        job = (rng.choice("abcd"), rng.choice([60, 3600]), rng.choice([1, 4]))
        made, slow = shares.of(*job), naive.distribution(seen, job)
        assert math.isclose(made.sums[-1], 1.0) and math.isclose(sum(w for _, w in slow), 1.0)
        for _ in range(10):
            u, above = rng.random(), rng.choice([0.0, rng.random(), 0.9999])
            assert made.at(u, above=above) == pytest.approx(naive.quantile(slow, u, above))


def test_the_share_of_a_user_outweighs_that_of_all() -> None:
    """Whose jobs always use a tenth is expected to use a tenth, whatever others do."""
    seen = [Observed(f"u{k % 7}", 3600, 4, 0.9) for k in range(200)]
    seen += [Observed("eva", 3600, 4, 0.1) for _ in range(30)]
    assert Shares(seen).of("eva", 3600, 4).at(0.5) == 0.1
    assert Shares(seen).of("new", 3600, 4).at(0.5) == 0.9


def test_long_runs_are_not_taken_for_the_usual_because_they_are_seen_longer() -> None:
    """Half use a twentieth of the limit, half all of it, and one begins a minute: of those that
    run nearly all are long, and of those that ended lately too many."""
    now, limit = 100_000, 6000
    seen = [
        Observed("eva", limit, 4, min(ran, run) / limit, ended=run <= ran, start=now - ran)
        for k in range(300)
        for run, ran in [((300, 6000)[k % 2], 60 * (300 - k))]
    ]
    known = Shares(seen).of("eva", limit, 4)
    mean = float((known.points * known.weights).sum())
    assert mean == pytest.approx((0.05 + 1) / 2, abs=0.06)


def present(**changes: object) -> Present:
    site = Site(nodes=tuple(Node(name=f"n{k}", amounts=(4,)) for k in range(2)))
    return replace(Present(now=10_000, machine=site), **changes)


def runs(ran: int, limit: int = 1000, name: str = "1") -> Running:
    pieces = (Request(max_nodes=1, tasks=4, wanted=("n0",)),)
    return Running(id=name, user="eva", limit=limit, cpus=4, start=10_000 - ran, pieces=pieces)


@pytest.mark.parametrize("ran", [0, 400, 999, 1000, 1500])
def test_a_running_job_ends_after_now_and_by_its_limit(ran: int) -> None:
    """Given what has elapsed; one that is over its limit ends within a check and KillWait."""
    for seed in range(50):
        (left,), _ = remaining(
            present(running=(runs(ran),)), Shares([]), np.random.default_rng(seed), kill_wait=30
        )
        assert 1 <= left <= (1000 - ran if ran < 1000 else 60)


def test_jobs_of_a_user_end_alike() -> None:
    """About half of the variance is common to a user, little to all."""
    rng = np.random.default_rng(3)
    pairs = np.array([uniforms(["eva", "eva", "tom"], rng) for _ in range(3000)])
    same, other = np.corrcoef(pairs.T)[0, 1:]
    assert 0.4 < same < 0.6 and -0.02 < other < 0.15
    assert abs(pairs.mean() - 0.5) < 0.02


def arrived(submit: int, run: int = 50) -> Arrived:
    return Arrived(user="eva", limit=100, request=Request(), submit=submit, run=run)


def test_submissions_are_those_of_a_past_day_at_this_time() -> None:
    """Shifted by whole days, within the reach; a job without an end gets a drawn run time."""
    now = 20 * DAY
    past = [arrived(now - d * DAY + 100 * d, run=-1 if d == 1 else d) for d in range(15, 0, -1)]
    made = [future(past, now, 2000, Shares([]), np.random.default_rng(k)) for k in range(60)]
    times = {tuple(one.submit - now for one in each) for each in made}
    assert times == {(100 * d,) for d in range(1, 15)}
    assert all(1 <= one.run <= 100 for each in made for one in each)


def test_without_a_day_of_history_gaps_are_drawn() -> None:
    """At the rate of the last submissions, perhaps not for long; with few of them none."""
    past = [arrived(10_000 - 10 * k) for k in range(50, 0, -1)]

    def counts(**given: int) -> list[int]:
        rngs = map(np.random.default_rng, range(1000))
        return [len(future(past, 10_000, 1000, Shares([]), rng, **given)) for rng in rngs]

    # Seen for 500 s: it goes on for another 500 in half of the cases, for 549 of 1000 on average.
    assert np.mean(counts()) == pytest.approx(55, abs=5) and np.median(counts()) < 65
    assert set(counts(until=11_000)) <= {98, 99, 100, 101} and max(counts(until=10_100)) == 10
    assert future(past[:5], 10_000, 1000, Shares([]), np.random.default_rng(1)) == []


def test_how_many_and_which_jobs_come_differs_between_futures() -> None:
    """What was seen is a sample too: another week would have brought another rate."""
    rng = np.random.default_rng(4)
    times = np.cumsum(rng.exponential(10, 50)).astype(int).tolist()
    past = [arrived(10_000 - at) for at in reversed(times)]
    made = [
        len(future(past, 10_000, 2000, Shares([]), np.random.default_rng(k), until=12_000))
        for k in range(100)
    ]
    assert np.std(made) > 1.5 * math.sqrt(np.mean(made))  # of a known rate it would be the root


@pytest.mark.parametrize(("common", "low", "high"), [(0.0, 0.0, 0.15), (0.7, 0.4, 0.9)])
def test_how_alike_a_users_jobs_are_is_learned(common: float, low: float, high: float) -> None:
    """From random shares and from users whose habits change from time to time."""
    rng = np.random.default_rng(7)
    habit = {}
    seen = []
    for k in range(400):
        if k % 20 == 0:
            habit = {name: rng.standard_normal() for name in "abcde"}
        user = "abcde"[int(rng.integers(5))]
        z = math.sqrt(common) * habit[user] + math.sqrt(1 - common) * rng.standard_normal()
        seen.append(Observed(user, 3600, 4, 0.5 * (1 + math.erf(z / math.sqrt(2)))))
    assert low <= part_of_user(seen) <= high
    assert part_of_user(seen[:15]) == 0.45


@pytest.mark.parametrize("flags", ["", "NO_FAIR_TREE"])
@pytest.mark.parametrize("since", [2, 25, 50])
def test_usage_goes_on_from_what_accounting_shows(flags: str, since: int) -> None:
    """The tick after now ranks users as if the model had run all the time."""
    config = {
        "PriorityType": "priority/multifactor", "PriorityWeightFairShare": "1000",
        "PriorityCalcPeriod": "00:01:00", "PriorityDecayHalfLife": "00:20:00",
        "PriorityFlags": flags, "BOOT_TIME": "1970-01-01T00:00:00",
        "SchedulerParameters": "bf_interval=3,bf_resolution=1",
    }  # fmt: skip
    used = {"eva": 9_000.0, "tom": 9_100.0}
    users = [Association(account="all", user=name, usage=usage) for name, usage in used.items()]
    site = Site(
        nodes=tuple(Node(name=f"n{k}", amounts=(4,)) for k in range(2)),
        config=config, associations=(Association(account="all", usage=18_100.0), *users),
    )  # fmt: skip
    now = 6_001 + since  # ticks at 1 s past every minute
    held = Request(max_nodes=1, tasks=4, wanted=("n0",), account="all")
    job = Running(id="1", user="eva", limit=900, cpus=4, start=now - 600, pieces=(held,))
    both = replace(held, wanted=(), nodes=2, max_nodes=2, tasks=8)
    waiting = tuple(
        Waiting(id=user, user=user, limit=60, request=both, priority=500) for user in ("eva", "tom")
    )
    at = Present(now=now, machine=site, running=(job,), waiting=waiting)
    # eva's job is charged 4 cpus x 60 s at the next tick, which puts tom before her.
    found = draw_starts(at, How(draws=9, submissions=False))
    assert (found.waits[:, 1] < found.waits[:, 0]).all()


def test_ranges_of_exchangeable_draws_hold_in_four_of_five_cases() -> None:
    """Order statistics, not quantiles of the sample: those would lose some points."""
    rng = np.random.default_rng(5)
    for draws in (9, 19, 39):
        waits, real = rng.exponential(100, (draws, 20_000)), rng.exponential(100, 20_000)
        low, high = order_statistic(waits, 0.1), order_statistic(waits, 0.9)
        assert np.mean((real >= low) & (real <= high)) == pytest.approx(0.8, abs=0.012)


def test_a_draw_that_never_starts_is_later_than_all_others() -> None:
    drawn = Drawn(jobs=("1", "2"), waits=np.array([[5.0, math.inf]] * 5 + [[9.0, 3.0]] * 4))
    first, second = estimates_of(drawn)
    assert (first.expected, first.latest, second.expected) == (5, 9, math.inf)
    assert (first.within_hour, round(second.within_hour, 2)) == (1.0, 0.44)


def test_ends_are_corrected_by_experience() -> None:
    """Ranges that were too narrow widen, of width zero too; the median stays."""
    late = Instant(expected=[100.0, 200.0], earliest=[100.0, 200.0], latest=[100.0, 200.0],
                   real=[400.0, 50.0])  # fmt: skip
    learned = Corrections.learn([late] * 30)
    one = learned.apply(Estimate(job="7", expected=150, earliest=150, latest=150, within_hour=1))
    assert one.earliest < 100 and one.latest > 300 and one.expected == 150
    unlearned = Corrections.learn([]).apply(one)
    assert unlearned == one


def drawn_log(seed: int, jobs: int = 120) -> tuple[Site, st.Workload]:
    """A site with its own schedule as the record: users who use their own shares of limits."""
    rng = np.random.default_rng(seed)
    site = Site(nodes=tuple(Node(name=f"n{k}", amounts=(8,)) for k in range(2)))
    user = rng.integers(1, 5, jobs)
    limit = rng.choice([300, 600, 1200], jobs)
    share = np.clip(user / 5 + rng.normal(0, 0.1, jobs), 0.02, 1)
    log = st.Workload.build(
        submit=np.sort(rng.integers(0, 20_000, jobs)), run=np.maximum(1, limit * share).astype(int),
        request=limit, procs=rng.choice([1, 2, 4, 8, 16], jobs), user=user,
        names={"user": ("", "a", "b", "c", "d", "e")},
    )  # fmt: skip
    made = st.simulate(log, site, "slurm").schedule
    return site, log.replace(recorded_start=made.start)


def test_nothing_later_is_known() -> None:
    """The same present and the same answer, whatever happens afterwards in the log."""
    site, jobs = drawn_log(1)
    when = int(jobs.submit[60])
    later = jobs.recorded_start > when
    other = jobs.replace(
        run=np.where(later | (jobs.recorded_start + jobs.run > when), jobs.request, jobs.run),
        recorded_start=np.where(later, jobs.recorded_start + 999, jobs.recorded_start),
    )
    one, two = LogAt(jobs, site).present(when), LogAt(other, site).present(when)
    assert one == two and one.waiting and one.ended
    how = How(draws=9)
    assert np.array_equal(draw_starts(one, how).waits, draw_starts(two, how).waits)


def test_most_starts_of_a_log_lie_in_the_ranges() -> None:
    """Of logs that were not used to build it, whose users differ."""
    rows = []
    for seed in (11, 12):
        site, jobs = drawn_log(seed)
        for each in predict_log(jobs, site, How(draws=19), instants=10):
            rows += each.scored
    total = accuracy(rows)[-1]
    assert total.ours.count > 50
    assert 0.7 <= total.inside <= 0.95
    assert abs(total.ours.bias) < total.ours.median


def test_a_request_is_answered_with_what_would_start_earlier() -> None:
    """A partition with free nodes, a limit that fits before a planned start."""
    nodes = tuple(Node(name=f"n{k}", amounts=(4,)) for k in range(3))
    site = Site(
        nodes=nodes,
        partitions=(
            Partition(name="batch", nodes=("n0", "n1"), default=True, max_time=7200),
            Partition(name="free", nodes=("n2",), max_time=7200),
            Partition(name="short", nodes=("n2",), max_time=60),
        ),
        config={"SchedulerType": "sched/backfill", "SchedulerParameters": "bf_interval=3"},
    )
    busy = tuple(
        Running(
            id=str(k), user="eva", limit=7200, cpus=4, start=10_000,
            pieces=(Request(max_nodes=1, tasks=4, wanted=(f"n{k}",), partitions=("batch",)),),
        )
        for k in range(2)
    )  # fmt: skip
    now = Present(now=10_000, machine=site, running=busy)
    job = parse_request("-n 4 -t 60", site, user="tom")
    found = ask_start(now, job, How(draws=9))
    assert found.estimate.expected > 600
    (best, *_) = found.alternatives
    assert best.change == "-p free" and best.expected < 60
    assert all("short" not in one.change for one in found.alternatives)


def test_python_answers_as_the_command_does() -> None:
    """st.estimate of a site is a start, of a function still a part of a policy."""
    site, jobs = drawn_log(2)
    at = LogAt(jobs, site)
    when = next(int(t) for t in jobs.submit.tolist() if len(at.present(int(t)).waiting) > 2)
    job = at.present(when).waiting[1].id
    found = st.estimate((site, jobs), job, at=when, draws=9)
    assert found.job == job and found.earliest <= found.expected <= found.latest
    answer = st.estimate((site, jobs), request="-n 2 -t 10", at=when, draws=9)
    assert answer.estimate.expected >= 0
    with pytest.raises(UsageError, match="does not wait at that moment"):
        st.estimate((site, jobs), 1, at=when)
    with pytest.raises(UsageError, match="name a job"):
        st.estimate((site, jobs))
    assert st.estimate(lambda now, job: job.request) is not None


def test_waiting_jobs_keep_their_present_order() -> None:
    """Jobs that exclude each other start in the order of their priorities in every draw."""
    site = Site(nodes=(Node(name="n0", amounts=(4,)),))
    waiting = tuple(
        Waiting(id=str(k), user="eva", limit=100, request=Request(tasks=4)) for k in (7, 3, 5)
    )
    found = draw_starts(Present(now=10_000, machine=site, waiting=waiting), How(draws=19))
    assert found.jobs == ("7", "3", "5")
    assert (np.diff(found.waits, axis=1) > 0).all()


def long_queue(count: int) -> Present:
    """Four nodes that are taken, and jobs of all widths that wait for them."""
    rng = random.Random(3)
    names = [f"n{k}" for k in range(4)]
    site = Site(nodes=tuple(Node(name=name, amounts=(8,)) for name in names))
    running = tuple(
        Running(
            id=f"r{k}", user="u", limit=3600, cpus=8, start=50_000 - 600 * k,
            pieces=(Request(max_nodes=1, tasks=8, wanted=(name,)),),
        )
        for k, name in enumerate(names)
    )  # fmt: skip
    waiting = tuple(
        Waiting(
            id=f"w{k}", user=f"u{k % 3}", limit=rng.choice([900, 3600, 7200]),
            request=Request(tasks=rng.choice([1, 4, 8]), max_nodes=1),
        )
        for k in range(count)
    )  # fmt: skip
    return Present(now=50_000, machine=site, running=running, waiting=waiting)


def test_a_long_queue_is_estimated_by_quicker_passes() -> None:
    """They start jobs about when Slurm's own passes do (spec: estimates 1.3)."""
    at = long_queue(60)
    exact = How(draws=9, submissions=False)
    quick = replace(exact, deep=59)
    assert exact.stand_in(at.machine, 60) == "" != quick.stand_in(at.machine, 60)
    slow, fast = (np.median(draw_starts(at, how).waits, axis=0) for how in (exact, quick))
    assert np.median(slow) > 3600
    assert np.median(np.abs(fast - slow)) < 0.1 * np.median(slow)
    assert abs(fast.mean() / slow.mean() - 1) < 0.1


@pytest.mark.parametrize("weight", ["0", "1000"])
def test_a_long_queue_with_factors_is_estimated(weight: str) -> None:
    """With weights in the order of priorities; without any, as they wait."""
    at = long_queue(12)
    assert isinstance(at.machine, Site)
    config = {"PriorityType": "priority/multifactor", "PriorityWeightAge": weight}
    at = replace(at, machine=at.machine.replace(config=config))
    how = How(draws=1, submissions=False, deep=0)
    assert ("multifactor" in how.stand_in(at.machine, 12)) == (weight != "0")
    assert np.isfinite(draw_starts(at, how).waits).all()


def test_ends_far_ahead_are_rounded_and_near_ones_are_not() -> None:
    """By 3 % of how far they lie ahead at most (spec: estimates 1.3)."""
    runs = [3, 20, 31, 101, 1000, 5000, 90_001]
    site = Site(nodes=tuple(Node(name=f"n{k}", amounts=(1,)) for k in range(len(runs))))
    after = [500_000] * len(runs)  # each of these starts when one of the first ends
    jobs = st.Workload.build(submit=[7] * 14, run=runs + after, procs=[1] * 14)
    exact, coarse = (
        simulate_site(jobs, site, parse_policy("easy"), coarse_from=since).start[7:] - 7
        for since in (0, 7)
    )
    assert exact.tolist() == runs
    assert coarse[:3].tolist() == runs[:3]
    off = np.abs(coarse - exact) / np.array(runs)
    assert 0 < off.max() <= 1 / 32


def test_a_job_that_may_preempt_starts_by_preempting() -> None:
    """The running job leaves all its nodes at once, and the one that waited longer still waits."""
    site = Site(
        nodes=tuple(Node(name=f"n{k}", amounts=(4,)) for k in range(3)),
        qos=(Qos(name="high", preempts=("low",)), Qos(name="low")),
        config={"PreemptType": "preempt/qos", "PreemptMode": "REQUEUE"},
    )
    held = {"n0": 4, "n1": 4, "n2": 4}
    like = Request(nodes=3, max_nodes=3, tasks=12, qos="low")
    pieces = pieces_on(held, nodes=held, like=like)
    assert [one.wanted for one in pieces] == [("n0", "n1", "n2")]
    assert len(pieces_on({**held, "n2": 3}, nodes=held, like=like)) == 3
    now = Present(
        now=10_000,
        machine=site,
        running=(Running(id="1", user="eva", limit=7200, cpus=12, start=9_000, pieces=pieces),),
        waiting=(
            Waiting(id="2", user="tom", limit=600, request=replace(like, qos="low")),
            Waiting(id="3", user="ann", limit=600, request=replace(like, qos="high")),
        ),
    )
    found = draw_starts(now, How(draws=9))
    later, soon = found.waits.T
    assert (soon < 120).all() and (later > soon).all()


def test_a_requeued_job_waits_for_its_next_start() -> None:
    """Its lost run is a run; behind it the job waits, and may start when Slurm lets it."""
    site = Site(nodes=(Node(name="n0", amounts=(4,)),))
    log = st.Workload.build(
        submit=[0, 5], run=[30, 20], request=[60, 60], procs=[4, 4], recorded_start=[200, 40]
    ).replace(lost_runs={1: ((2, 40),)})
    at = LogAt(log, site)
    assert [(one.id, one.start - at.epoch) for one in at.present(20).running] == [("1", 2)]
    behind = at.present(50)
    assert [(one.id, one.begin - at.epoch) for one in behind.waiting] == [("1", 40 + 121)]
    assert [at.run_at(0, when) for when in (1, 39, 40, 999)] == [
        (2, 40), (2, 40), (200, 230), (200, 230)
    ]  # fmt: skip
