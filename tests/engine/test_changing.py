"""Jobs that change on a pool equal a slow walk through the specification, job by job."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as hst

import shadowtime as st
from conftest import examples, written_on
from naive import changing as naive
from shadowtime.cluster import Host
from shadowtime.cluster.spec import parse_machine as parse_cluster
from shadowtime.engine.live_pass.decide import refuse
from shadowtime.errors import PolicyError, UsageError
from shadowtime.metrics import measure
from shadowtime.policy import parse_policy
from shadowtime.report import explain
from shadowtime.report.levels import busy
from shadowtime.report.rows import lay_out
from shadowtime.schedule import read, write
from shadowtime.schedule.check import check

PROCS, MEMORY = 8, 10
JOB: dict[str, Any] = {
    "submit": 0, "procs": 4, "run": 20, "request": 30, "kind": "serial", "least": 1, "most": 8,
    "cost": 2, "checkpoint": 0, "beta": 1.0, "serial": 0.1, "parallelism": 1.0, "sigma": 0.0,
    "memory": 0,
}  # fmt: skip
SPEEDS = {1000: 1.0, 700: 0.5, 400: 0.3}
TABLE = "1:1 2:1.75 4:2.5"


@st.resize
def equipartition(now, jobs, free):  # type: ignore[no-untyped-def]
    """Equal shares; whoever came first gets what is left over."""
    left = free.level[0, 0]
    count = 0
    for i in range(len(jobs.size)):
        jobs.size[i] = 0
        if jobs.least[i] <= left:
            jobs.size[i] = jobs.least[i]
            left -= jobs.least[i]
            count += 1
    for i in range(len(jobs.size)):
        if jobs.size[i] > 0:
            more = min(left // count, jobs.most[i] - jobs.size[i])
            jobs.size[i] += more
            left -= more
            count -= 1


@st.resize(speeds=SPEEDS)
def unsteady(now, jobs, free):  # type: ignore[no-untyped-def]
    """Sizes, stops and speeds by numbers that look random."""
    left = free.level[0, 0]
    for i in range(len(jobs.size)):
        draw = (now * 7 + jobs.submit[i] * 13 + jobs.procs[i] * 5 + i) % 11
        wanted = min(jobs.most[i], max(jobs.least[i], draw - 2))
        jobs.size[i] = 0
        if (draw != 0 or i == 0) and jobs.least[i] <= left:
            jobs.size[i] = min(wanted, left)
            left -= jobs.size[i]
            jobs.speed[i] = 1000 - 300 * (draw % 3)


@st.resize(speeds=SPEEDS)
def halting(now, jobs, free):  # type: ignore[no-untyped-def]
    """Some jobs are suspended, and some of these stopped or continued in another size."""
    left = free.level[0, 0]
    going = False
    for i in range(len(jobs.size)):
        draw = (now * 7 + jobs.submit[i] * 13 + jobs.procs[i] * 5 + i) % 11
        has = jobs.held[i] + jobs.suspended[i]
        size = has if has > 0 and draw % 2 == 0 else min(jobs.most[i], max(jobs.least[i], draw))
        last = i == len(jobs.size) - 1 and not going
        if size > left or (draw == 1 and not last):
            jobs.size[i] = 0
            if has > 0 and draw != 1:
                jobs.size[i], jobs.speed[i] = jobs.least[i], 0
            if last and jobs.least[i] <= left:
                jobs.size[i], jobs.speed[i] = jobs.least[i], 1000
        elif has > 0 and draw < 6 and not last:
            jobs.size[i], jobs.speed[i] = size, 0
        else:
            jobs.size[i], jobs.speed[i] = size, 1000 - 300 * (draw % 3)
        if jobs.size[i] > 0 and jobs.speed[i] > 0:
            left -= jobs.size[i]
            going = True


@st.speed(speeds=SPEEDS)
def short_first(now, jobs, i):  # type: ignore[no-untyped-def]
    """The long ones stand still while a short one is there."""
    return 0 if jobs.request[i] > 40 and jobs.request.min() <= 40 else 700


@st.speed(speeds=SPEEDS)
def by_queue(now, jobs, i):  # type: ignore[no-untyped-def]
    """Slower the shorter the queue is."""
    return max(400, 1000 - 300 * max(0, 3 - len(jobs.procs)))


def naive_equipartition(now: int, jobs: list[naive.Job]) -> dict[int, tuple[int, int]]:
    left, size = PROCS, {}
    for job in jobs:
        size[job.id] = job.least if job.least <= left else 0
        left -= size[job.id]
    there = [job for job in jobs if size[job.id]]
    for k, job in enumerate(there):
        more = min(left // (len(there) - k), job.most - job.least)
        size[job.id] += more
        left -= more
    return {job.id: (size[job.id], 1000) for job in jobs}


def naive_unsteady(now: int, jobs: list[naive.Job]) -> dict[int, tuple[int, int]]:
    left, found = PROCS, {}
    for i, job in enumerate(jobs):
        draw = (now * 7 + job.submit * 13 + job.procs * 5 + i) % 11
        found[job.id] = (0, 1000)
        if (draw or i == 0) and job.least <= left:
            size = min(min(job.most, max(job.least, draw - 2)), left)
            found[job.id] = (size, 1000 - 300 * (draw % 3))
            left -= size
    return found


def naive_halting(now: int, jobs: list[naive.Job]) -> dict[int, tuple[int, int]]:
    left, found, going = PROCS, {}, False
    for i, job in enumerate(jobs):
        draw = (now * 7 + job.submit * 13 + job.procs * 5 + i) % 11
        size = job.size if job.size and draw % 2 == 0 else min(job.most, max(job.least, draw))
        last = job is jobs[-1] and not going
        if size <= left and (draw != 1 or last):
            halts = job.size and draw < 6 and not last
            found[job.id] = size, 0 if halts else 1000 - 300 * (draw % 3)
        elif last and job.least <= left:
            found[job.id] = job.least, 1000
        else:
            found[job.id] = (job.least, 0) if job.size and draw != 1 else (0, 1000)
        if found[job.id][1] and found[job.id][0]:
            left -= found[job.id][0]
            going = True
    return found


def naive_short_first(now: int, jobs: list[naive.Job]) -> dict[int, tuple[int, int]]:
    """The long ones stand still while a short one is there."""
    short = any(job.request <= 40 for job in jobs)
    return naive_easy(now, jobs, {job.id: 0 if short and job.request > 40 else 700 for job in jobs})


def naive_paced(now: int, jobs: list[naive.Job]) -> dict[int, tuple[int, int]]:
    """Slower the shorter the queue is."""
    speed = max(400, 1000 - 300 * max(0, 3 - len(jobs)))
    return naive_easy(now, jobs, {job.id: speed for job in jobs})


Plan = tuple[float, ...]
"""From, until, processors, memory."""


def fits(plans: list[Plan], procs: int, start: float, end: float, memory: int = 0) -> bool:
    """True if so many processors and so much memory are free all the time."""
    times = [start, *(plan[0] for plan in plans if start < plan[0] < end)]
    there = [[plan[2:] for plan in plans if plan[0] <= t < plan[1]] for t in times]
    return all(
        sum(plan[0] for plan in now) + procs <= PROCS
        and sum(sum(plan[1:]) for plan in now) + memory <= MEMORY
        for now in there
    )


def naive_easy(
    now: int, jobs: list[naive.Job], speeds: dict[int, int]
) -> dict[int, tuple[int, int]]:
    """EASY: the first that does not fit gets the earliest start, and nobody delays it."""
    found = {job.id: (job.size, speeds[job.id]) for job in jobs}
    going = [job for job in jobs if job.size and not job.halted]
    plans: list[Plan] = [
        (now, now + job.seconds_at(now, job.size, speeds[job.id]), job.size, job.memory)
        for job in going
        if speeds[job.id]
    ]
    keep = [job for job in jobs if job.halted or (job in going and not speeds[job.id])]
    plans += [(now, float("inf"), 0, job.memory) for job in keep]
    blocked = False
    for job in jobs:
        if job in going or not speeds[job.id]:
            continue
        found[job.id] = (job.size, 0)
        speed = speeds[job.id]
        seconds, memory = job.seconds_at(now, job.procs, speed), 0 if job.halted else job.memory
        if fits(plans, job.procs, now, now + seconds, memory):
            found[job.id] = (job.procs, speed)
            plans.append((now, now + seconds, job.procs, memory))
        elif not blocked:
            blocked = True
            ends = sorted(plan[1] for plan in plans)
            start = next(t for t in ends if fits(plans, job.procs, t, t + seconds, memory))
            plans.append((start, start + seconds, job.procs, memory))
    return found


@hst.composite
def logs(draw: hst.DrawFn) -> list[dict[str, Any]]:
    """A few jobs of all kinds."""
    jobs: list[dict[str, Any]] = []
    submit = 0
    for number in range(draw(hst.integers(1, 9))):
        submit += draw(hst.integers(0, 20))
        procs = draw(hst.integers(1, PROCS))
        kind = draw(hst.sampled_from(["rigid", "linear", "serial", "downey", "table"]))
        job: dict[str, Any] = {
            "id": number + 1, "submit": submit, "procs": procs, "run": draw(hst.integers(0, 60)),
            "kind": kind, "least": procs, "most": procs,
            "cost": draw(hst.sampled_from([0, 0, 1, 4])),
            "checkpoint": draw(hst.sampled_from([0, 0, 1, 7])),
            "beta": draw(hst.sampled_from([0.0, 0.5, 1.0])),
            "serial": draw(hst.sampled_from([0.0, 0.1, 0.5, 1.0])),
            "parallelism": draw(hst.sampled_from([1.0, 2.5, 6.0])),
            "sigma": draw(hst.sampled_from([0.0, 0.5, 1.0, 2.0])), "memory": 0,
        }  # fmt: skip
        job["request"] = max(1, job["run"] + draw(hst.integers(-5, 30)))
        if kind != "rigid":
            job["least"] = draw(hst.integers(1, procs))
            job["most"] = draw(hst.integers(procs, PROCS))
        jobs.append(job)
    return jobs


def workload_of(jobs: list[dict[str, Any]]) -> st.Workload:
    def column(name: str, *kinds: str, otherwise: float = -1.0) -> Any:
        return np.array([job[name] if job["kind"] in kinds else otherwise for job in jobs])

    curved = ("linear", "serial", "downey", "table")
    extra = {
        "serial": column("serial", "serial"),
        "parallelism": column("parallelism", "downey"),
        "sigma": column("sigma", "downey"),
        "speedup": np.array([0 if job["kind"] == "table" else -1 for job in jobs]),
        "min_procs": column("least", *curved),
        "max_procs": column("most", *curved),
        "resize_cost": np.array([job["cost"] for job in jobs]),
        "checkpoint": np.array([job["checkpoint"] for job in jobs]),
        "beta": np.array([job["beta"] for job in jobs]),
        "power": np.array([100 * job["procs"] for job in jobs]),
    }
    columns: Any = {
        name: [job[name] for job in jobs] for name in ("submit", "run", "request", "procs")
    }
    if any(job["memory"] for job in jobs):
        columns["demand"] = {"memory": [job["memory"] for job in jobs]}
    made = st.Workload.build(**columns, extra=extra)
    return made.replace(names={**made.names, "speedup": (TABLE,)})


def naive_of(jobs: list[dict[str, Any]]) -> list[naive.Job]:
    points = {1: Fraction(1), 2: Fraction(7, 4), 4: Fraction(5, 2)}

    def curve(job: dict[str, Any]) -> Any:
        return {
            "serial": naive.amdahl(job["serial"]),
            "downey": naive.downey(job["parallelism"], job["sigma"]),
            "table": naive.table(points),
        }.get(job["kind"], naive.amdahl(0.0))

    names = ("id", "submit", "run", "procs", "request", "least", "most")
    more = ("cost", "checkpoint", "beta", "memory")
    cut = [job | {"run": min(job["run"], job["request"])} for job in jobs]  # at its limit
    return [
        naive.Job(**{name: job[name] for name in names + more}, speedup=curve(job)) for job in cut
    ]


@pytest.mark.parametrize(
    ("part", "decide"),
    [
        (equipartition, naive_equipartition),
        (unsteady, naive_unsteady),
        (halting, naive_halting),
        (by_queue, naive_paced),
        (short_first, naive_short_first),
    ],
    ids=["equipartition", "unsteady", "halting", "paced", "short-first"],
)
def test_equals_naive(part: Any, decide: naive.Decide) -> None:
    """Starts, ends and every piece, and the proofs of check hold."""
    all_equal(st.easy(backfill=part), decide)


def test_suspended_jobs_keep_their_memory() -> None:
    """EASY at speeds that suspends, on a pool that counts memory too."""
    all_equal(st.easy(backfill=short_first), naive_short_first, memory=True)


def all_equal(policy: Any, decide: naive.Decide, *, memory: bool = False) -> None:
    """A policy equals a walk on random jobs."""

    @given(logs(), hst.lists(hst.integers(1, MEMORY), min_size=9, max_size=9))
    @settings(max_examples=examples(150), deadline=None)
    def equal(jobs: list[dict[str, Any]], asked: list[int]) -> None:
        if memory:
            jobs = [job | {"memory": m} for job, m in zip(jobs, asked, strict=False)]
        workload, walked = workload_of(jobs), naive_of(jobs)
        cluster = parse_cluster(f"pool:{PROCS},memory={MEMORY}" if memory else f"pool:{PROCS}")
        if not naive.follow(walked, PROCS, decide):  # what a suspended job keeps is in the way
            assert memory
            with pytest.raises(PolicyError, match="never ends job"):
                st.simulate(workload, cluster, policy)
            return
        made = st.simulate(workload, cluster, policy).schedule
        assert made.start.tolist() == [job.start for job in walked]
        assert made.end.tolist() == [job.end for job in walked]
        assert made.kills.tolist() == [job.stops for job in walked]
        a = made.attempts
        if a.procs is not None:
            assert a.speed is not None and a.work is not None
            columns = (a.job_id, a.start, a.end, a.killed, a.procs, a.speed, a.work)
            found = sorted(zip(*(column.tolist() for column in columns), strict=True))
            mine = {row[0] for row in found}
            assert found == sorted(
                (job.id, *piece) for job in walked for piece in job.pieces if job.id in mine
            )
        for job in walked:  # who has no pieces never changed
            if a.procs is None or job.id not in a.job_id:
                assert all(piece[2:5] == (0, job.procs, 1000) for piece in job.pieces)
        report = check(made, workload, cluster)
        assert report.ok, report.first_violation

    equal()


def naive_shares(now: int, jobs: list[naive.Job]) -> dict[int, tuple[int, int]]:
    """Equipartition of docs/ideas/malleable.md."""
    size = {job.id: 0 for job in jobs}
    for job in sorted(jobs, key=lambda job: job.size == 0):
        if job.least + sum(size.values()) <= PROCS:
            size[job.id] = job.least
    there = [job for job in jobs if size[job.id]]
    while True:
        left = PROCS - sum(size.values())
        there = [job for job in there if size[job.id] < job.most]
        if not there or left < len(there):
            break
        for job in there:
            size[job.id] += min(left // len(there), job.most - size[job.id])
    for job in there[:left]:
        size[job.id] += 1
    return {job.id: (size[job.id], 1000) for job in jobs}


def naive_shrinking(now: int, jobs: list[naive.Job]) -> dict[int, tuple[int, int]]:
    """Malleable backfilling of docs/ideas/malleable.md."""
    size = {job.id: job.size for job in jobs}
    waiting = [job for job in jobs if not job.size]
    by_start = sorted((job for job in jobs if job.size), key=lambda job: job.start)
    latest = sorted(by_start, key=lambda job: -job.start)

    def left() -> int:
        return PROCS - sum(size.values())

    while waiting:
        shrinkable = [job for job in [*latest, *jobs] if size[job.id] > job.least]
        able = {job.id: size[job.id] - job.least for job in shrinkable}
        if left() + sum(able.values()) < waiting[0].least:
            break
        job = waiting.pop(0)
        for other in shrinkable:
            size[other.id] -= max(0, min(able[other.id], job.least - left()))
        size[job.id] = job.least
    if waiting:
        plans: list[Plan] = [
            (now, now + job.seconds_at(now, size[job.id], 1000), size[job.id])
            for job in jobs
            if size[job.id]
        ]
        reserved = False
        for job in waiting:
            seconds = job.seconds_at(now, job.least, 1000)
            if fits(plans, job.least, now, now + seconds):
                size[job.id] = job.least
                plans.append((now, now + seconds, job.least))
            elif not reserved:
                reserved = True
                ends = sorted(plan[1] for plan in plans)
                at = next(t for t in ends if fits(plans, job.least, t, t + seconds))
                plans.append((at, at + seconds, job.least))
    fresh = [] if waiting else [job for job in jobs if not job.size]
    for job in [*fresh, *by_start]:  # the clock of those that start now still stands at -1
        if size[job.id]:
            size[job.id] += max(0, min(left(), job.procs - size[job.id]))
    return {job.id: (size[job.id], 1000) for job in jobs}


def naive_harmless(now: int, jobs: list[naive.Job]) -> dict[int, tuple[int, int]]:
    """The speeds of docs/ideas/speed-scaling.md."""
    speed = {}
    calm = sum(not job.size for job in jobs) <= 4
    for job in jobs:
        speed[job.id] = job.speed if job.size else 1000
        for slow in (800, 600) if calm and not job.size else ():
            response = now - job.submit + job.seconds_at(now, job.procs, slow)
            if response <= 2.0 * max(600, job.request):
                speed[job.id] = slow
    return naive_easy(now, jobs, speed)


def naive_aside(now: int, jobs: list[naive.Job]) -> dict[int, tuple[int, int]]:
    """The policy of docs/guides/changing-jobs.md that suspends: short 20 s, long more than 40 s."""
    found = {job.id: (job.size, job.speed if job.size else 1000) for job in jobs}

    def left() -> int:
        return PROCS - sum(size for size, speed in found.values() if speed)

    for job in jobs:
        if job.size or job.request > 20:
            continue
        for other in reversed(jobs):
            goes = other.size and not other.halted and found[other.id][1]
            if goes and other.request > 40 and left() < job.procs:
                found[other.id] = (other.size, 0)
        if job.procs <= left():
            found[job.id] = (job.procs, 1000)
    for job in jobs:
        if found[job.id][0] == 0 or job.halted:
            size = job.size or job.procs
            if size > left():
                break
            found[job.id] = (size, 1000)
    return found


GUIDE = "../guides/changing-jobs.md"


@pytest.mark.parametrize(
    ("page", "file", "name", "decide"),
    [
        ("malleable.md", "malleable.py", "equipartition", naive_shares),
        ("malleable.md", "malleable.py", "shrink_to_start", naive_shrinking),
        ("speed-scaling.md", "pace.py", "harmless", naive_harmless),
        (GUIDE, "halt.py", "short_first(short=20, long=40)", naive_aside),
    ],
)
def test_pages_equal_naive(
    page: str, file: str, name: str, decide: naive.Decide, tmp_path: Path
) -> None:
    """The policies on the pages of ideas equal a few lines of plain Python, piece by piece."""
    policy = parse_policy(f"{written_on(page, file, tmp_path)}:{name}")
    all_equal(policy, decide)


@pytest.mark.parametrize(
    ("size", "speed", "message"),
    [
        (99, 1000, "gives job 1 at 0 99 processors, and it may have 1 to 4, or 0 to wait"),
        (4, 500, "gives job 1 at 0 the speed 500, and declared are"),
        (4, 0, "gives job 1 at 0 the speed 0 though it waits: only running jobs are suspended"),
        (0, 1000, "never ends job 1: nothing is left to wait for"),
    ],
)
def test_wrong_answers_are_named(size: int, speed: int, message: str) -> None:
    """The job, the instant and what is permitted."""

    @st.resize(compiled=False)
    def wrong(now: int, jobs: Any, free: Any) -> None:
        jobs.size[0], jobs.speed[0] = size, speed

    serial = {"serial": np.array([0.0])}
    jobs = st.Workload.build(submit=[0], run=[5], procs=[2], extra=serial)
    with pytest.raises(PolicyError, match=message):
        st.simulate(jobs, "pool:4", st.easy(backfill=wrong))


def test_too_many_processors_together() -> None:
    """All sizes together exceed the machine."""

    @st.resize(compiled=False)
    def wrong(now: int, jobs: Any, free: Any) -> None:
        jobs.size[:] = 3

    serial = {"serial": np.array([0.0, 0.0])}
    jobs = st.Workload.build(submit=[0, 0], run=[5, 5], procs=[2, 2], extra=serial)
    with pytest.raises(PolicyError, match="job 2 at 0 3 processors, and all sizes together"):
        st.simulate(jobs, "pool:4", st.easy(backfill=wrong))


@pytest.mark.parametrize(
    ("machine", "parts", "message"),
    [
        ("hosts", {}, "defined on a pool of processors, not on hosts"),
        ("pool:8", {"order": "sjf"}, "sort them in the function"),
        ("pool:8", {"estimate": "last-two"}, "known before the run"),
    ],
)
def test_refused(machine: str, parts: dict[str, str], message: str) -> None:
    """Where changing jobs are not defined, one sentence says so."""
    jobs = st.Workload.build(submit=[0], run=[5], procs=[2])
    cluster: Any = machine
    if machine == "hosts":
        cluster = st.Cluster(shape="hosts", hosts=(Host("a", (4,)), Host("b", (4,))))
    with pytest.raises(PolicyError, match=message):
        st.simulate(jobs, cluster, st.easy(backfill=equipartition, **parts))


def test_live_refuses() -> None:
    """Only a loop over equal nodes of Slurm changes sizes."""
    with pytest.raises(PolicyError, match="one partition of equal nodes of Slurm"):
        refuse(st.easy(backfill=equipartition))


def test_files_keep_pieces(tmp_path: Path) -> None:
    """What is written is read back, and a falsified piece is found."""
    jobs = workload_of([JOB | {"id": n + 1, "submit": 3 * n} for n in range(4)])
    cluster = st.Cluster.pool(PROCS)
    made = st.simulate(jobs, cluster, st.easy(backfill=equipartition)).schedule
    for name in ("s.csv", "s.parquet"):
        write(made, tmp_path / name)
        back = read(tmp_path / name)
        for column in ("procs", "speed", "draw", "work", "kept"):
            mine, theirs = (getattr(one.attempts, column) for one in (made, back))
            assert mine.tolist() == theirs.tolist()
    a = made.attempts
    assert a.procs is not None and a.work is not None
    for change, rule in (
        ({"procs": a.procs + PROCS}, "capacity"),
        ({"work": a.work + 1}, "work-conserved"),
        ({"end": a.end - (a.end < made.end.max())}, "attempts-consistent"),
    ):
        wrong = check(made.replace(attempts=replace(a, **change)), jobs, cluster)
        violated = [proof.name for proof in wrong.proofs if proof.verdict == "violated"]
        assert rule in violated


def test_metrics_charts_and_words_follow_pieces() -> None:
    """Energy and use by sizes and speeds, a bar for each piece, and every change told."""
    jobs = workload_of([JOB | {"id": n + 1, "submit": 3 * n} for n in range(3)])
    cluster = st.Cluster.pool(PROCS)
    made = st.simulate(jobs, cluster, st.easy(backfill=unsteady)).schedule
    a = made.attempts
    assert a.procs is not None and a.draw is not None and len(np.unique(a.job_id)) == 3
    found = measure(made, jobs, cluster)
    watts = 400 * a.draw / 1e6
    assert found["energy_kwh"] == pytest.approx(float((watts * (a.end - a.start)).sum()) / 3.6e6)
    level = busy(made)
    assert int(level.value.max()) <= PROCS
    assert int((level.value[:-1] * np.diff(level.at)).sum()) == int(
        (a.procs * (a.end - a.start)).sum()
    )
    drawn = lay_out(made, cluster)
    assert int((drawn.width * drawn.unit).sum()) == int(a.procs.sum())
    assert (made.wait >= 0).all() and (made.wait + made.worked == made.end - made.submit).all()
    words = " ".join(explain(jobs, made, 1).lines)
    assert "Its size and speed:" in words and "it began on" in words
    arrival = int(jobs.submit[2])
    there = (a.start <= arrival) & (arrival < a.end) & (a.job_id != 3)
    assert f"ran on {int(a.procs[there].sum())} processor" in " ".join(explain(jobs, made, 3).lines)


def suspended_once() -> tuple[st.Workload, st.Cluster, Any]:
    """A long job stands still from 10 to 15, while a short one runs on its processors."""

    @st.resize(compiled=False)
    def short_first(now: int, jobs: Any, free: Any) -> None:
        jobs.size[:] = jobs.procs
        jobs.speed[:] = 1000
        if len(jobs.procs) > 1:
            jobs.speed[0] = 0

    power = {"power": np.array([400, 400])}
    jobs = st.Workload.build(submit=[0, 10], run=[20, 5], procs=[4, 4], extra=power)
    return jobs, st.Cluster.pool(4), st.easy(backfill=short_first)


def test_a_suspended_job_gives_its_processors_back() -> None:
    """Rows, use, energy, chart and words of a job that stands still; what is falsified is found."""
    jobs, cluster, policy = suspended_once()
    made = st.simulate(jobs, cluster, policy).schedule
    assert (made.start.tolist(), made.end.tolist()) == ([0, 10], [25, 15])
    a = made.attempts
    assert a.procs is not None and a.speed is not None and a.draw is not None
    assert list(zip(a.start, a.end, a.procs, a.speed, a.draw, strict=True)) == [
        (0, 10, 4, 1000, 10**6), (10, 15, 0, 0, 0), (15, 25, 4, 1000, 10**6),
    ]  # fmt: skip
    assert made.kills.tolist() == [0, 0] and made.wait.tolist() == [5, 0]
    found = measure(made, jobs, cluster)
    assert found["energy_kwh"] == pytest.approx(400 * 25 / 3.6e6)
    assert busy(made).value.tolist() == [4, 4, 4, 0]
    drawn = lay_out(made, cluster)
    assert sorted(drawn.runs.start.tolist()) == [0, 10, 15]
    assert (drawn.width * drawn.unit).tolist() == [4, 4, 4]
    words = " ".join(explain(jobs, made, 1).lines)
    assert "it was suspended and gave its processors back, as 1 job started (2)" in words
    assert "it continued on 4 processors at 100 %, as 1 job ended (2)" in words
    assert check(made, jobs, cluster).ok
    for change, rule in (
        ({"procs": np.array([4, 4, 4])}, "attempts-consistent"),
        ({"speed": np.array([1000, 1000, 1000])}, "attempts-consistent"),
        ({"speed": np.array([1000, 0, 0]), "procs": np.array([4, 0, 0])}, "attempts-consistent"),
        ({"overhead": np.array([0, 2, 0])}, "work-conserved"),
    ):
        wrong = check(made.replace(attempts=replace(a, **change)), jobs, cluster)
        assert rule in [proof.name for proof in wrong.proofs if proof.verdict == "violated"]


def test_a_session_suspends_and_continues() -> None:
    """What a caller decides gives the schedule of the function."""
    jobs, cluster, policy = suspended_once()
    session = st.session(jobs, cluster, speeds={1000: 1.0})
    with pytest.raises(UsageError, match="job 1 cannot have the speed 0: only running jobs"):
        session.resize(0, 4, 0)
    session.resize(0, 4)
    session.advance()
    session.resize(1, 4)
    session.resize(0, 4, 0)
    session.advance()
    assert session.runs.tolist() == [True]
    session.resize(0, 4, 1000)
    session.advance()
    made = st.simulate(jobs, cluster, policy).schedule
    assert session.schedule().end.tolist() == made.end.tolist()


def test_what_a_suspended_job_keeps_is_not_there_for_others() -> None:
    """Memory stays with it: in the function's error, in a session, and in the proof."""
    jobs, _, policy = suspended_once()
    both = jobs.replace(
        demand=np.array([[4, 3], [4, 2]]), resources=("procs", "memory"), extra=jobs.extra
    )
    with pytest.raises(PolicyError, match="all jobs that run or are suspended hold more memory"):
        st.simulate(both, "pool:4,memory=4", policy)
    made = st.simulate(both, "pool:4,memory=5", policy).schedule
    assert made.end.tolist() == [25, 15]
    assert check(made, both, parse_cluster("pool:4,memory=5")).ok
    wrong = check(made, both, parse_cluster("pool:4,memory=4"))
    assert "capacity" in [proof.name for proof in wrong.proofs if proof.verdict == "violated"]
    session = st.session(both, "pool:4,memory=4", speeds={1000: 1.0})
    session.resize(0, 4)
    session.advance()
    session.resize(0, 4, 0)
    session.resize(1, 4)
    with pytest.raises(UsageError, match="all jobs together hold 5 memory at 10"):
        session.advance()
