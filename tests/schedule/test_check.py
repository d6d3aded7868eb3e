"""Every proof: true schedules pass, the smallest false one fails, all equal a slow reference."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from conftest import examples
from schedule.tiny_worlds import World, fcfs, greedy, preemptive, state, worlds
from shadowtime.cluster import Cluster, Host
from shadowtime.errors import UsageError
from shadowtime.schedule import Attempts, Schedule
from shadowtime.schedule.check import CLAIMS, Report, check
from shadowtime.types import Reason
from shadowtime.workload import Workload

GREEDY = ("queue-by-arrival", "head-never-idle")
FAIR = (*GREEDY, "strictly-fair", "sunny-absorbing", "no-reservation-violation")


def ints(*values: int) -> np.ndarray:
    return np.array(values, np.int64)


def made(workload: Workload, start: list[int], **columns: object) -> Schedule:
    """A schedule with these starts, everything else as it should be."""
    begun = np.array(start, np.int64)
    n = len(workload)
    base = Schedule(
        job_id=workload.job_id,
        submit=workload.submit,
        start=begun,
        end=begun + workload.effective_run,
        procs=workload.procs,
        reason=np.full(n, Reason.RECORDED, np.int8),
        kills=np.zeros(n, np.int64),
        killed=(workload.run > workload.limit).astype(np.int8),
    )
    return base.replace(**columns)


def verdicts(report: Report) -> dict[str, str]:
    return {proof.name: proof.verdict for proof in report.proofs}


@given(worlds(memory=True))
@settings(max_examples=examples(80), deadline=None)
def test_true_schedules_pass(world: World) -> None:
    """Everything a greedy and an in-order schedule claim is proved, in two resources."""
    for make, claims in ((greedy, GREEDY), (fcfs, (*GREEDY, "arrival-order"))):
        report = check(make(world), world.workload, world.cluster, claims=claims)
        assert report.ok, str(report)
        assert all(report[claim].verdict == "proved" for claim in claims[1:])


@given(worlds())
@settings(max_examples=examples(150), deadline=None)
def test_preemptive_schedules_are_strictly_fair(world: World) -> None:
    """With preemption: attempts fit, capacity counts lost runs, all fairness claims hold."""
    report = check(preemptive(world), world.workload, world.cluster, claims=FAIR)
    assert report.ok, str(report)
    for claim in FAIR[1:]:
        assert report[claim].verdict == "proved"


@given(worlds(), st.data())
@settings(max_examples=examples(200), deadline=None)
def test_verdicts_equal_a_look_at_every_second(world: World, data: st.DataObject) -> None:
    """On falsified schedules each verdict equals that of a slow, obvious reference."""
    w, c = world.workload, world.cluster
    assume(len(w) > 0)
    schedule = data.draw(st.sampled_from([greedy, preemptive]))(world)
    shift = data.draw(st.lists(st.integers(-4, 4), min_size=len(w), max_size=len(w)))
    moved = np.maximum(schedule.start + np.where(schedule.kills > 0, 0, shift), w.submit)
    schedule = schedule.replace(start=moved, end=moved + w.effective_run)
    report = check(schedule, w, c, claims=("head-never-idle", "strictly-fair", "sunny-absorbing"))

    procs, total = w.procs.tolist(), c.procs
    over = idle = unfair = False
    for now in range(int(schedule.end.max()) + 1):
        running, waiting = state(schedule, now)
        used = sum(procs[row] for row in running)
        over |= used > total
        if waiting:
            head = min(waiting)
            idle |= procs[head] <= total - used
            sunny = sum(procs[row] for row in running if row < head)
            unfair |= procs[head] <= total - sunny
    a = schedule.attempts
    rows = {int(job): row for row, job in enumerate(schedule.job_id)}
    stopped = any(
        not any(other < rows[int(job)] for other in state(schedule, int(end) - 1)[1])
        for job, end, killed in zip(a.job_id, a.end, a.killed, strict=True)
        if killed
    )
    violated = {name: verdict == "violated" for name, verdict in verdicts(report).items()}
    assert violated["capacity"] == over
    assert violated["head-never-idle"] == idle
    assert violated["sunny-absorbing"] == stopped
    # A sunny job sent back to the queue is unfair too; its reference is `stopped`.
    if not stopped:
        assert violated["strictly-fair"] == unfair


@given(worlds(), st.data())
@settings(max_examples=examples(100), deadline=None)
def test_no_wrong_reason_passes(world: World, data: st.DataObject) -> None:
    """In submit order every reason and every first block follows: changing any one is noticed."""
    assume(len(world.workload) > 0)
    schedule = data.draw(st.sampled_from([greedy, preemptive]))(world)
    row = data.draw(st.integers(0, len(schedule) - 1))
    column = data.draw(st.sampled_from(["reason", "blocked_at"]))
    change = data.draw(st.integers(1, 3 if column == "blocked_at" else 2))
    values = getattr(schedule, column).copy()
    # HEAD, RESERVED, BACKFILLED in a circle; a preempting start is indeed first in order.
    assume(column == "blocked_at" or values[row] != Reason.PREEMPTING)
    values[row] = (
        values[row] + change if column == "blocked_at" else (values[row] + change - 1) % 3 + 1
    )
    false = schedule.replace(**{column: values})
    report = check(false, world.workload, world.cluster, claims=["queue-by-arrival"])
    assert report["reasons-consistent"].verdict == "violated"


def test_easy_is_not_strictly_fair() -> None:
    """The head waits for four processors; a later, backfilled job keeps one of them too long.

        4 |111.  |      1: 3 procs, asks 5 s, ends after 3
        3 |111222|2222  2: 4 procs, promised 5 s
        1 |33333 |      3: 1 proc, asks 5 s, backfilled at 0: fits before the promise
           0  3  5
    EASY keeps its promise (start 5 <= 5), yet without job 3 job 2 would have started at 3.
    """
    w = Workload.build(submit=[0, 0, 0], run=[3, 4, 5], procs=[3, 4, 1], request=[5, 4, 5])
    easy = made(
        w,
        [0, 5, 0],
        reason=np.array([Reason.HEAD, Reason.RESERVED, Reason.BACKFILLED], np.int8),
        promised=ints(-1, 5, -1),
        blocked_at=ints(-1, 0, -1),
    )
    claims = ("queue-by-arrival", "head-never-idle", "promises-kept", "no-reservation-violation")
    assert check(easy, w, Cluster.pool(4), claims=claims).ok
    report = check(easy, w, Cluster.pool(4), claims=(*claims, "strictly-fair"))
    assert report.first_violation is not None
    assert report.first_violation.name == "strictly-fair"
    assert report.first_violation.detail == (
        "at 3 s job 2 waits for 4 processors with 3 free and 1 held by later jobs, such as job 3"
    )


def test_a_backfilled_job_that_outlives_the_promise_is_a_reservation_violation() -> None:
    """Figure 1 (c) of the PV-EASY paper in small: job 3 should end by 3 and runs until 6."""
    w = Workload.build(submit=[0, 0, 0], run=[3, 4, 6], procs=[3, 4, 1], request=[3, 4, 9])
    late = made(w, [0, 6, 0], promised=ints(-1, 3, -1), blocked_at=ints(-1, 0, -1))
    report = check(late, w, Cluster.pool(4), claims=["no-reservation-violation"])
    assert report["no-reservation-violation"].verdict == "violated"
    assert "promised 3 s, started at 6 s" in report["no-reservation-violation"].detail
    # Benign, figure 1 (b): the job ahead of it ran longer than thought.
    w = Workload.build(submit=[0, 0], run=[6, 4], procs=[4, 4], request=[9, 4])
    benign = made(w, [0, 6], promised=ints(-1, 3), blocked_at=ints(-1, 0))
    report = check(benign, w, Cluster.pool(4), claims=["no-reservation-violation"])
    assert report["no-reservation-violation"].verdict == "proved"


PAIR = Workload.build(submit=[0, 2], run=[4, 3], procs=[2, 2], request=[4, 2])


@pytest.mark.parametrize(
    ("schedule", "proof", "words"),
    [
        (made(PAIR, [0, 3]), "capacity", "at 3 s 4 of 3 procs are in use: job 2, started at 3 s"),
        (made(PAIR, [0, 1]), "not-before-submit", "job 2 starts at 1 s, before its submission"),
        (made(PAIR.take([0]), [0]), "each-job-once", "job 2 of the trace is not in the schedule"),
        (
            made(PAIR, [0, 4], job_id=ints(1, 3)),
            "each-job-once",
            "job 2 of the trace is not in the schedule",
        ),
        (
            made(PAIR, [0, -1], end=ints(4, -1), reason=np.array([1, 2], np.int8)),
            "each-job-once",
            "job 2 never ran",
        ),
        (made(PAIR, [0, 4], procs=ints(2, 1)), "agrees-with-trace", "job 2 has procs 1"),
        (made(PAIR, [0, 4], submit=ints(0, 1)), "agrees-with-trace", "job 2 has submit 1 s"),
        (made(PAIR, [0, 4], end=ints(4, 7)), "limits-kept", "longer than its limit of 2 s"),
        (made(PAIR, [0, 4], end=ints(3, 6)), "limits-kept", "job 1 ran 3 s, but its run is 4 s"),
        (
            made(PAIR, [0, 4], killed=np.array([0, 0], np.int8)),
            "limits-kept",
            "with a run of 3 s, a limit of 2 s and killed = 0",
        ),
        (
            made(PAIR, [0, 4], end=ints(3, 6), penalised=ints(1, 0)),
            "limits-kept",
            "job 1 ran 3 s, shorter than its run of 4 s",
        ),
        (
            made(
                PAIR,
                [0, 5],
                end=ints(5, 7),
                limit=ints(6, 2),
                penalised=ints(1, 0),
                killed=np.array([1, 1], np.int8),
            ),
            "limits-kept",
            "job 1 ran 5 s, and is marked as killed at its limit of 6 s",
        ),
        (
            made(PAIR, [0, 4], reason=np.array([1, 3], np.int8)),
            "reasons-consistent",
            "job 2 started at 4 s as backfilled while no job was waiting",
        ),
        (
            made(PAIR, [0, 4], reason=np.array([1, 4], np.int8)),
            "reasons-consistent",
            "as preempting but no job was stopped then",
        ),
        (
            made(PAIR, [0, 4], reason=np.array([1, 1], np.int8), blocked_at=ints(-1, 2)),
            "reasons-consistent",
            "as head (blocked at 2 s) although it had been held up",
        ),
        (
            made(PAIR, [0, 4], reason=np.array([1, 2], np.int8), blocked_at=ints(-1, -1)),
            "reasons-consistent",
            "although it was never held up",
        ),
        (
            made(PAIR, [0, 4], reason=np.array([1, 2], np.int8), blocked_at=ints(-1, 4)),
            "reasons-consistent",
            "only then or later",
        ),
        (
            made(PAIR, [0, 4], reason=np.array([1, 2], np.int8), blocked_at=ints(-1, 1)),
            "reasons-consistent",
            "before its submission",
        ),
        (
            made(PAIR, [0, 5], promised=ints(-1, 4), claims=("promises-kept",)),
            "promises-kept",
            "job 2 was promised 4 s and started at 5 s (1 of 1 promises broken)",
        ),
        (
            made(PAIR, [5, 3], claims=("arrival-order",)),
            "arrival-order",
            "job 2 starts at 3 s, before job 1",
        ),
        (
            made(PAIR, [0, 5], claims=("head-never-idle",)),
            "head-never-idle",
            "at 4 s job 2 waits first in line for 2 processors while 3 are free",
        ),
    ],
)
def test_the_smallest_false_schedule(schedule: Schedule, proof: str, words: str) -> None:
    """With one thing wrong, exactly that proof fails first, and names job and numbers."""
    report = check(schedule, PAIR, Cluster.pool(3))
    assert not report.ok
    assert report[proof].verdict == "violated"
    assert words in report[proof].detail


def test_unknown_and_repeated_jobs_are_found() -> None:
    """Rows of other jobs, and two rows of one."""
    whole = made(PAIR, [0, 4])
    report = check(whole, PAIR.take([0]), Cluster.pool(3))
    assert report["each-job-once"].detail == "job 2 is not in the trace"
    rows = [0, 1, 1]
    columns = ("job_id", "submit", "start", "end", "procs", "reason", "kills", "killed")
    twice = whole.replace(**{name: getattr(whole, name)[rows] for name in columns})
    report = check(twice, PAIR, Cluster.pool(3))
    assert report["each-job-once"].detail == "job 2 has more than one row"


def test_a_shuffled_schedule_is_matched_by_id() -> None:
    """The order of rows does not matter."""
    whole = made(PAIR, [0, 4], place=("a", "b"))
    columns = ("job_id", "submit", "start", "end", "procs", "reason", "kills", "killed")
    turned = whole.replace(
        **{name: getattr(whole, name)[::-1] for name in columns}, place=("b", "a")
    )
    assert check(turned, PAIR, Cluster.pool(3)).ok


def preempted_pair(**changes: object) -> Schedule:
    """Job 2 tried from 2 to 3 (while no job waited), then from 4 on."""
    attempts = Attempts(
        job_id=ints(2, 2), start=ints(2, 4), end=ints(3, 6), killed=np.array([1, 0], np.int8)
    )
    return made(PAIR, [0, 4], kills=ints(0, 1), attempts=attempts).replace(**changes)


def attempts(*rows: tuple[int, int, int, int]) -> Attempts:
    job, start, end, killed = (ints(*column) for column in zip(*rows, strict=True))
    return Attempts(job_id=job, start=start, end=end, killed=killed.astype(np.int8))


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"kills": ints(0, 2)}, "job 2 has kills = 2 and 1 preempted attempts"),
        ({"attempts": attempts((9, 0, 1, 1))}, "job 9 has attempts but no row"),
        ({"attempts": attempts((2, 3, 2, 1), (2, 4, 6, 0))}, "from 3 to 2 s ends before it starts"),
        ({"attempts": attempts((2, 3, 5, 1), (2, 4, 6, 0))}, "from 3 to 5 s overlaps the next"),
        ({"attempts": attempts((2, 2, 3, 1))}, "was preempted, yet no later one follows"),
        (
            {"attempts": attempts((2, 2, 3, 0), (2, 3, 4, 1), (2, 4, 6, 0))},
            "ended by itself, yet another follows",
        ),
        ({"attempts": attempts((2, 2, 3, 1), (2, 5, 7, 0))}, "is not the schedule's own"),
        (
            {"attempts": attempts((2, 2, 4, 1), (2, 4, 6, 0))},
            "from 2 to 4 s was preempted when its run was already over",
        ),
    ],
)
def test_attempts_that_do_not_fit(changes: dict[str, object], words: str) -> None:
    """Attempts must agree with kills, with each other and with the last start."""
    report = check(preempted_pair(**changes), PAIR, Cluster.pool(4))
    assert report["attempts-consistent"].verdict == "violated"
    assert words in report["attempts-consistent"].detail


def test_lost_runs_count_against_capacity_and_sunshine() -> None:
    """The attempt from 2 to 3 fits beside job 1 on four processors, not on three."""
    assert check(preempted_pair(), PAIR, Cluster.pool(4)).ok
    report = check(preempted_pair(), PAIR, Cluster.pool(3))
    assert report["capacity"].detail.startswith("at 2 s 4 of 3 procs are in use")
    claims = ("strictly-fair", "sunny-absorbing")
    report = check(preempted_pair(), PAIR, Cluster.pool(4), claims=claims)
    assert report["sunny-absorbing"].detail == (
        "job 2 was preempted at 3 s, though at 2 s no earlier job was waiting"
    )
    assert "job 2 is back in the queue" in report["strictly-fair"].detail


def test_properties_that_cannot_be_proved_have_a_reason() -> None:
    """A bare schedule: what is missing is named, and nothing is violated."""
    bare = made(PAIR, [0, 4], missing=("reason", "kills", "killed"), killed=np.zeros(2, np.int8))
    report = check(bare, PAIR, Cluster.pool(3), claims=["promises-kept"])
    assert report.ok
    reasons = {proof.name: proof.detail for proof in report.open}
    assert reasons["attempts-consistent"] == "the schedule has no column kills"
    assert reasons["reasons-consistent"] == "the schedule has no column reason"
    assert reasons["promises-kept"] == "the schedule has no column promised"
    assert "strictly-fair" in {proof.name for proof in report.not_claimed}


def test_without_the_attempts_file_kills_are_a_violation() -> None:
    """kills > 0 and no attempts: nothing accounts for it; capacity and fairness stay open."""
    lacking = preempted_pair(attempts=Attempts.none(), reason=np.array([1, 1], np.int8))
    report = check(lacking, PAIR, Cluster.pool(3), claims=list(CLAIMS))
    open_proofs = {proof.name for proof in report.open}
    assert report["attempts-consistent"].detail.startswith("job 2 has kills = 1, and no attempts")
    assert {"capacity", "reasons-consistent"} <= open_proofs
    assert {"strictly-fair", "sunny-absorbing", "head-never-idle"} <= open_proofs


def test_a_recorded_log_with_unknown_starts_is_not_refused() -> None:
    """Jobs without a recorded start leave one proof open and do not disturb the others."""
    w = PAIR.replace(recorded_start=ints(0, -1))
    report = check(Schedule.recorded(w), w, Cluster.pool(3))
    assert report["each-job-once"].detail == ("1 jobs have no recorded start, the first is job 2")
    assert report["capacity"].verdict == "proved"


def test_an_unknown_claim_is_refused() -> None:
    """A claim that nothing proves is a mistake in the policy."""
    with pytest.raises(UsageError, match="unknown claim 'always-fast': known are queue-by-arrival"):
        check(made(PAIR, [0, 4]), PAIR, Cluster.pool(3), claims=["always-fast"])


def test_an_empty_schedule_is_fine() -> None:
    """No jobs, nothing violated."""
    none = Workload.build(submit=[], run=[], procs=[])
    assert check(made(none, []), none, Cluster.pool(1), claims=list(CLAIMS)).ok


def test_memory_is_a_resource_like_processors() -> None:
    """Two jobs fit by processors and not by memory."""
    w = Workload.build(submit=[0, 0], run=[5, 5], procs=[1, 1], demand={"memory": [3, 2]})
    both = made(w, [0, 0])
    assert "5 of 4 memory" in check(both, w, Cluster.pool(2, memory=4))["capacity"].detail
    assert check(both, w, Cluster.pool(2, memory=5)).ok
    silent = check(both, w, Cluster.pool(2, gpus=1))["capacity"]
    assert silent.verdict == "proved" and "says nothing of gpus" in silent.detail


HOSTS = Cluster(
    shape="hosts",
    resources=("procs", "memory"),
    hosts=(Host("a", (2, 8)), Host("b", (4, 4))),
)
ON_HOSTS = Workload.build(
    submit=[0, 0, 1], run=[5, 5, 5], procs=[2, 2, 2], demand={"memory": [4, 3, 2]}
)


@pytest.mark.parametrize(
    ("places", "words"),
    [
        (("a", "b", "a"), "at 1 s 4 of 2 procs are in use on a"),
        (("a", "b", "b"), "at 1 s 5 of 4 memory are in use on b"),
        (("a", "a:1 b:1", "b"), "job 2 spans 2 hosts (a:1 b:1)"),
        (("a", "c", "b"), "job 2: its place (c) names a host the cluster does not have"),
        (("a", "", "b"), "job 2 has no place"),
        (("a:1", "b", "b"), "job 1 takes 2 procs, its place adds up to 1"),
    ],
)
def test_hosts_are_proved_one_by_one(places: tuple[str, ...], words: str) -> None:
    """Each resource of each host, and a job inside one host."""
    report = check(made(ON_HOSTS, [0, 0, 1], place=places), ON_HOSTS, HOSTS)
    assert report["capacity-per-host"].verdict == "violated"
    assert report["capacity-per-host"].detail == words


def test_hosts_that_hold_and_hosts_that_cannot_be_judged() -> None:
    """A true placement passes; without the column place the proof is left open."""
    good = made(ON_HOSTS, [0, 0, 5], place=("a", "b", "b"))
    assert check(good, ON_HOSTS, HOSTS)["capacity-per-host"].verdict == "proved"
    assert check(good, ON_HOSTS, Cluster.pool(9, memory=9)).ok
    bare = check(good.replace(place=None), ON_HOSTS, HOSTS)["capacity-per-host"]
    assert (bare.verdict, bare.detail) == ("not proved", "the schedule has no column place")


def test_on_nodes_processors_are_counted_where_they_lie() -> None:
    """A job may spread over nodes; its place must list them."""
    nodes = HOSTS.replace(shape="nodes")
    for places, words in [
        (("a:1 b:1", "a:1 b:1", "b:2"), None),
        (("a:1 b:1", "b:2", "b:2"), "at 1 s 5 of 4 procs are in use on b"),
        (("a b", "b", "b"), "job 1: its place (a b) does not say how many processors are where"),
    ]:
        proof = check(made(ON_HOSTS, [0, 0, 1], place=places), ON_HOSTS, nodes)["capacity-per-host"]
        assert (proof.verdict == "proved") == (words is None)
        assert words is None or proof.detail == words
