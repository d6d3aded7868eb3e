"""Functions of a user's own in every slot decide as the slow reference does, compiled or not."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from hypothesis import given, settings

import shadowtime as st
from conftest import examples
from engine.worlds import assert_followed, assert_same, simulated, worlds
from naive.shorthand import frame
from shadowtime.cluster import Cluster, Host
from shadowtime.engine import simulate
from shadowtime.engine.live_pass import Ended, Memory, RunningJob, Snapshot, WaitingJob
from shadowtime.engine.live_pass.decide import decide
from shadowtime.errors import PolicyError
from shadowtime.policy import parse_policy
from shadowtime.workload import Workload

CATALOGUE = [
    "wfp3",
    "unicef",
    "f1",
    "f1(weight=2)",
    "f2",
    "f3",
    "f4",
    "saf",
    "spt",
    "sqf",
    "saf-wait(hours=0.002)",
    "easy-saf",
    "easy-saf(reserve=2)",
    "relaxed",
    "relaxed(factor=2, order=lxf)",
    "selective",
    "selective(threshold=1.3, order=fcfs)",
    "dynamic-conservative",
]
EXAMPLES = settings(max_examples=examples(60), deadline=None)


@pytest.mark.parametrize("policy", CATALOGUE)
@EXAMPLES
@given(world=worlds())
def test_catalogue(policy, world):
    """The papers' policies that are functions, on a pool of processors."""
    assert_followed(*world, policy)


@pytest.mark.parametrize("policy", ["f1", "easy-saf", "relaxed", "selective"])
@EXAMPLES
@given(world=worlds(resources=2, overruns=True))
def test_two_resources_and_overruns(policy, world):
    """The same where memory counts and jobs outlive their request."""
    assert_followed(*world, policy)


@st.order(memory=2)
def fair(now, job, user, weight=3.0):
    return job.wait - weight * user[0] / (1 + user[1])


@fair.learn
def add_use(now, job, user):
    user[0] += job.ran * job.procs


@fair.learn(on="start")
def count_start(now, job, user):
    user[1] += 1


def slow_start(now, job, user):
    user[1] += 1


@st.estimate(memory=2)
def mean_run(now, job, user):
    return user[1] / user[0] if user[0] >= 1 else job.request


@mean_run.learn
def add_run(now, job, user):
    user[0] += 1
    user[1] += job.ran


@st.estimate(memory=1)
def optimistic(now, job, user):
    return 9.5 * user[0] - 4


@optimistic.learn(on="submit")
def count(now, job, user):
    user[0] += 1


@st.order(memory=2)
def decayed(now, job, user):
    return job.wait - user[0]


@decayed.learn
def add_work(now, job, user):
    user[0] += job.ran * job.procs


@decayed.learn(on="timer", every=7)
def decay(now, user):
    user[0] = user[0] / 2 + now % 3


@st.backfill_key
def widest(now, job, user):
    return job.procs + 0.001 * job.wait


@st.backfill_test
def short(now, job, limit=7):
    return job.estimate < limit


@st.reserve
def every_other(now, job, step=2):
    return job.submit % step == 0


@st.plan
def late(now, job, user, start, seconds=5):
    return start + seconds


def test_short(now, job, user):
    return job.estimate < 7


test_short.__test__ = False

OWN = {
    "fair": (
        {"order": fair},
        {
            "order": lambda now, job, user: job.wait - 3.0 * user[0] / (1 + user[1]),
            "learn": {"end": add_use, "start": slow_start},
        },
    ),
    "mean-run": ({"estimate": mean_run}, {"predict": mean_run.function, "learn": {"end": add_run}}),
    "optimistic": (
        {"estimate": optimistic},
        {"predict": optimistic.function, "learn": {"submit": count}},
    ),
    "mean-run in order": (
        {"estimate": mean_run, "order": "sjf"},
        {
            "predict": mean_run.function,
            "learn": {"end": add_run},
            "order": lambda now, job, user: -job.estimate,
        },
    ),
    "timer": (
        {"order": decayed},
        {
            "order": decayed.function,
            "learn": {"end": add_work, "timer": (7, decay)},
        },
    ),
    "key": ({"backfill": widest}, {"key": widest.function}),
    "test": ({"backfill": short}, {"test": test_short}),
    "test and depth": ({"backfill": short, "reserve": 3}, {"test": test_short, "depth": 3}),
    "key and test": (
        {"backfill": widest.where(short)},
        {"key": widest.function, "test": test_short},
    ),
    "reserve": (
        {"reserve": every_other(step=3)},
        {"reserve": lambda now, job, user: job.submit % 3 == 0},
    ),
    "plan": ({"reserve": late}, {"plan": lambda now, job, user, start: start + 5}),
}


@pytest.mark.parametrize("name", OWN)
@EXAMPLES
@given(world=worlds())
def test_each_slot(name, world):
    """Order, backfill key and test, reserve, plan, estimate, and what they learn."""
    parts, twin = OWN[name]
    assert_same(simulated(*world, st.easy(**parts)), frame(*world, **twin))


JOBS = Workload.build(
    job_id=[11, 12, 13, 14, 15, 16],
    submit=[0, 1, 2, 3, 15, 16],
    run=[9, 5, 4, 2, 3, 4],
    procs=[3, 4, 1, 2, 4, 2],
    request=[9] * 6,
    user=[1, 2, 1, 2, 1, 2],
)
POOL = Cluster.pool(4)


def test_the_record_holds_what_the_log_knows():
    """Account, partition, QOS, executable, memory and GPUs; -1 where nothing is known."""
    jobs = Workload.build(
        submit=[0, 0, 0],
        run=[5, 5, 5],
        procs=[2, 2, 2],
        demand={"memory": [3, 1, 2], "gpus": [1, 1, 1]},
        user=[5, 5, 5],
        group=[7, 7, 7],
        queue=[1, 3, 2],
        partition=[4, 4, 4],
        executable=[2, 9, 2],
    )

    @st.order
    def all_of_it(now, job):
        known = job.user == 5 and job.account == 7 and job.partition == 4 and job.gpus == 1
        return job.qos * 100 + job.memory * 10 if known and job.nodes == -1 else -1.0

    run = simulate(jobs, Cluster.pool(2, memory=9, gpus=9), st.easy(order=all_of_it))
    assert run.start.tolist() == [10, 0, 5]


def test_memory_may_be_of_the_executable():
    """Memory can be kept by executable: both jobs of executable 2 share a row."""
    jobs = Workload.build(
        submit=[0, 10, 20], run=[3, 4, 5], procs=[4, 4, 4], request=[50] * 3,
        user=[1, 2, 3], executable=[2, 8, 2],
    )  # fmt: skip

    @st.estimate(memory=1, by="executable")
    def last(now, job, user):
        return user[0] if user[0] > 0 else job.request

    @last.learn
    def _(now, job, user):
        user[0] = job.ran

    seen = []
    for step in (1, 2, 3):
        part = jobs.take(range(step))
        late = part.replace(submit=part.submit)
        made = simulate(late, POOL, st.easy(estimate=last))
        seen.append(made.counters["clamped_predictions"])
    assert seen == [0, 0, 0]
    wide = Workload.build(
        submit=[0, 10, 11], run=[3, 9, 9], procs=[4, 4, 4], request=[50] * 3,
        user=[1, 2, 3], executable=[2, 8, 2],
    )  # fmt: skip
    made = simulate(wide, POOL, st.easy(estimate=last, order="sjf"))
    assert made.promised.tolist() == [-1, -1, 60]


def helper(job):
    return job.procs


def calls_another(now, job, user):
    return -helper(job)


def test_functions_may_call_others():
    """Plain functions beside it are compiled with it."""
    run = simulate(JOBS, POOL, st.easy(order=st.order(calls_another)))
    assert run.start.tolist() == simulate(JOBS, POOL, parse_policy("sqf")).start.tolist()


@st.order
def by_user(now, job, user):
    return 1 / (job.user - 1)


@st.estimate(memory=1)
def nan(now, job, user):
    return float("nan") if job.procs == 1 else 5


@st.backfill_key
def root(now, job):
    if job.procs == 1:
        raise ValueError("no serial jobs")
    return job.procs


@st.estimate(memory=1)
def fine(now, job, user):
    return job.request


@fine.learn
def learns_badly(now, job, user):
    user[0] = 1 / (job.procs - 3)


FAILURES = {
    "order": (by_user, r"the order function by_user .*test_slots.py:\d+\) failed for job 11 at 0"),
    "estimate": (nan, "the estimate function nan .* failed for job 13 at 2 .*returned nan"),
    "backfill": (root, "the backfill key function root .* job 13 .*ValueError: no serial jobs"),
    "learn": (fine, "the learn function learns_badly .* job 11 at 9 .*ZeroDivisionError"),
}


@pytest.mark.parametrize("slot", FAILURES)
def test_a_failure_names_slot_job_and_line(slot):
    """In every slot: the run ends with one sentence."""
    part, message = FAILURES[slot]
    with pytest.raises(PolicyError, match=message):
        simulate(JOBS, POOL, st.easy(**{part.slot: part}))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: st.order(lambda now, job, user, *more: 0), r"\*more"),
        (lambda: st.order(lambda now, job, weight="x": 0), "weight='x': a parameter must be"),
        (lambda: st.order(lambda now: 0), "takes .now.: other arguments cannot be filled"),
        (lambda: st.plan(lambda now, job: 0), r"write function\(now, job, user, start\)"),
        (lambda: st.estimate(lambda job, now: 0), "other arguments cannot be filled"),
        (lambda: st.order(memory=65)(lambda now, job: 0), "memory=65 must lie between 0 and 64"),
        (lambda: st.order(memory=1, by="host")(lambda now, job: 0), "by='host' must be one of"),
        (lambda: fair(wait=2), "fair has no parameter 'wait'. Known: weight"),
        (lambda: fair(weight=float("nan")), "fair.weight must be a finite number"),
        (lambda: short(limit=2.5), "short.limit must be a whole number"),
        (lambda: widest.learn(add_run), "declare the memory"),
        (lambda: st.order(lambda now, job, user: user[0]), "uses user, but has no memory"),
        (lambda: st.plan(lambda now, job, user, start: start + user[1]), r"@st.plan\(memory=2\)"),
        (lambda: st.backfill_key(lambda now, job, user: sum(user)), r"@st.backfill_key\(memory"),
        (lambda: st.easy(order=lambda now, job, user: user[0]), "uses user, but has no memory"),
        (lambda: st.easy(order=parse_policy), "plain function|takes"),
    ],
)
def test_what_cannot_stand_in_a_slot_is_refused(make, message):
    """Rejected where it is defined, before anything is compiled."""
    with pytest.raises(PolicyError, match=message):
        make()


def test_parameters_come_from_the_command_line(tmp_path):
    """``my.py:name(a=2)``: a part, or a policy of the file, with parameters."""
    file = tmp_path / "mine.py"
    file.write_text(
        "import shadowtime as st\n"
        "@st.order\n"
        "def narrow(now, job, weight=1.0, deep=False):\n"
        "    return -weight * job.procs\n"
        "four = st.easy(order=narrow, reserve=4)\n"
    )
    assert parse_policy(f"{file}:narrow").parameters["order"] == "narrow"
    made = parse_policy(f"{file}:narrow(weight=-1, deep=yes)")
    assert (made.name, made.order.settings()) == (
        "narrow(weight=-1, deep=yes)",
        {"weight": -1.0, "deep": True},
    )
    wide = parse_policy(f"{file}:four(weight=-1, reserve=2)")
    assert (str(wide.order), str(wide.reserve)) == ("narrow(weight=-1)", "2")
    for text, message in (
        ("narrow(widht=2)", "no parameter 'widht'"),
        ("narrow(weight=x)", "weight must be a number, not 'x'"),
    ):
        with pytest.raises(PolicyError, match=message):
            parse_policy(f"{file}:{text}")


def compiled_again(tmp_path: Path, code: str) -> dict[str, int]:
    """Run code in a fresh process; what it compiled, counted."""
    script = (
        "import json, sys\n"
        "from numba.core import event\n"
        "class Count(event.Listener):\n"
        "    n = 0\n"
        "    def on_start(self, e): self.n += 1\n"
        "    def on_end(self, e): pass\n"
        "seen = Count()\n"
        "event.register('numba:compile', seen)\n"
        f"{code}\n"
        "print(json.dumps({'compiled': seen.n, 'start': int(run.start.sum())}))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=tmp_path, env=os.environ,
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    return json.loads(done.stdout)


CODE = """
import shadowtime as st
from shadowtime.engine import simulate
from shadowtime.cluster import Cluster
from shadowtime.policy import parse_policy
from shadowtime.workload import Workload
jobs = Workload.build(submit=[0, 1, 2], run=[9, 5, 4], procs=[4, 3, 2])
run = simulate(jobs, Cluster.pool(4), parse_policy('mine.py:mine'))
"""


def test_a_second_process_compiles_nothing(tmp_path):
    """Compiled functions are cached by content: different code or values, different entry."""
    mine = tmp_path / "mine.py"
    text = (
        "import shadowtime as st\nSCALE, SALT = {scale}, {salt}\n"
        "@st.order\ndef mine(now, job, user):\n"
        "    return SCALE * job.procs + 0 * SALT\n"
    )
    salt = time.time_ns() % 10**12  # code that no cache has seen
    mine.write_text(text.format(scale=-1, salt=salt))
    first = compiled_again(tmp_path, CODE)
    assert first["compiled"] > 0
    assert compiled_again(tmp_path, CODE) == {"compiled": 0, "start": first["start"]}
    mine.write_text("# moved down\n\n" + text.format(scale=-1, salt=salt))
    assert compiled_again(tmp_path, CODE) == {"compiled": 0, "start": first["start"]}
    mine.write_text(text.format(scale=1, salt=salt))
    changed = compiled_again(tmp_path, CODE)
    assert changed["compiled"] > 0 and changed["start"] != first["start"]


def test_without_the_compiler_the_schedule_is_the_same():
    """NUMBA_DISABLE_JIT=1 runs the same functions as plain Python."""
    code = (
        "import sys; sys.path.insert(0, sys.argv[1])\n"
        "import json, engine.test_slots as t\n"
        "print(json.dumps({name: t.simulate(t.JOBS, t.POOL, t.st.easy(**parts)).start.tolist()\n"
        "                  for name, (parts, _) in t.OWN.items()}))\n"
    )
    tests = str(Path(__file__).parent.parent)
    done = subprocess.run(
        [sys.executable, "-c", code, tests], env=os.environ | {"NUMBA_DISABLE_JIT": "1"},
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    wanted = {
        name: simulate(JOBS, POOL, st.easy(**parts)).start.tolist()
        for name, (parts, _) in OWN.items()
    }
    assert json.loads(done.stdout) == wanted


FOUR = Cluster(shape="nodes", hosts=(Host("n1", (4,)),))


def test_a_live_pass_learns_and_remembers():
    """A pass learns at its end what ended since the last one; rows are kept by user name."""
    policy = st.easy(estimate=mean_run)
    running = RunningJob(id="1", submit=0, need=(4,), request=50, start=0, user="ann")
    first = decide(policy, Snapshot(now=1, cluster=FOUR, running=(running,)))
    ended = Snapshot(
        now=9,
        cluster=FOUR,
        ended=(Ended(id="1", start=0, end=7, request=50, user="ann"),),
        waiting=(
            WaitingJob(id="2", submit=8, need=(3,), request=50, user="ann"),
            WaitingJob(id="3", submit=8, need=(4,), request=50, user="bob"),
        ),
    )
    memory = Memory.from_json(json.loads(json.dumps(first.memory.to_json())))
    second = decide(policy, ended, memory)
    assert second.memory.own == {"user:ann": (1.0, 7.0)}
    assert [start.job for start in second.decisions] == ["2"]
    assert second.promises == {"3": 9 + 7}
    assert second.memory.jobs["2"].estimate == 7


def test_a_live_failure_names_the_job():
    """The error has the cluster's own id of the job."""
    state = Snapshot(
        now=9,
        cluster=FOUR,
        waiting=(WaitingJob(id="77_3", submit=8, need=(1,), request=50, user="ann"),),
    )
    with pytest.raises(PolicyError, match=r"estimate function nan .* failed for job 77_3 at 8"):
        decide(st.easy(estimate=nan), state)


@pytest.mark.parametrize(
    ("policy", "message"),
    [
        (
            lambda: st.policy("conservative", estimate=mean_run),
            "reserve=kept cannot be combined with",
        ),
        (
            lambda: st.easy(backfill=widest, reserve=every_other),
            "a backfill key would have no effect",
        ),
    ],
)
def test_combinations_without_a_meaning_are_refused(policy, message):
    """The error comes before the run and gives the reason."""
    with pytest.raises(PolicyError, match=message):
        simulate(JOBS, POOL, policy())


def test_nodes_refuse_functions_they_never_ask():
    """They are rejected rather than ignored."""
    with pytest.raises(PolicyError, match="which passes on nodes never ask"):
        simulate(JOBS, Cluster(shape="nodes", hosts=FOUR.hosts), st.easy(estimate=mean_run))
