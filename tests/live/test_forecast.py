"""Beside a Slurm that schedules by itself: its starts are predicted, stored and scored."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from live.fakes import FakeClock, queue_line, running_line
from shadowtime.cli import run
from shadowtime.errors import InputError
from shadowtime.eta.scores import Scored, accuracy
from shadowtime.eta.starts import How
from shadowtime.live.port import PortError
from shadowtime.live.predicted import Eta
from shadowtime.live.predictions import Predictions, instants, read_predictions, resolved
from shadowtime.live.runner import Done
from shadowtime.live.slurm import drive
from shadowtime.live.slurm.answers import Answers
from shadowtime.live.slurm.forecast import forecast, look
from shadowtime.live.slurm.watch import Watch, status_beside
from shadowtime.policy import parse_policy

TEXTS = {
    "node": "".join(
        f"NodeName=n{k} CPUTot=16 RealMemory=32000 Sockets=1 CoresPerSocket=16 ThreadsPerCore=1 "
        f"State={state} Partitions=batch,night \n"
        for k, state in enumerate(("MIXED", "IDLE", "IDLE+DRAIN"), 1)
    ),
    "partition": "".join(
        f"PartitionName={name} Default={default} Nodes=n[1-3] State=UP MaxTime=UNLIMITED\n"
        for name, default in (("batch", "YES"), ("night", "NO"))
    ),
    "config": "ClusterName = test\nSchedulerType = sched/backfill\n"
    "SchedulerParameters = batch_sched_delay=0,bf_interval=1,bf_resolution=1\n"
    "SelectTypeParameters = CR_CORE\nPriorityType = priority/multifactor\n",
    "reservation": "No reservations in the system\n",
}
"""Three nodes of sixteen processors; the third is drained."""


class Self:
    """A Slurm that schedules by itself: answers queries and rejects changes."""

    def __init__(self, queue: str, **texts: str) -> None:
        self.queue, self.texts = queue, {**TEXTS, **texts}
        self.asked: list[tuple[str, ...]] = []

    def __call__(self, argv: Sequence[str], *, text: str = "") -> Done:
        assert all(line.startswith("show ") for line in text.splitlines()), "an order was given"
        self.asked.append(tuple(argv))
        if argv[0] == "squeue":
            return Done(0, self.queue, "")
        if argv[0] in ("sacct", "sacctmgr", "sshare"):
            return Done(1, "", "slurmdbd does not answer")
        words = [*argv, *text.split()]
        assert argv[0] == "scontrol" and "show" in words, argv
        return Done(0, self.texts.get(words[-1], ""), "")


def waits(job: str, cpus: int, **given: object) -> str:
    known = {"PriorityLong": 100, "Reason": "Resources", "NumCPUs": cpus, "NumTasks": cpus}
    known |= {"EligibleTime": 900}
    return queue_line(job, **{**known, "TimeLimit": "10:00", **given})


RUNS = running_line("1", "n1", 12, StartTime=900, TimeLimit="5:00")
"""Holds twelve of sixteen processors of n1 until 1200."""


def seen(queue: str) -> object:
    return look(Answers(Self(queue), FakeClock()))


def test_starts_are_those_of_slurms_own_passes() -> None:
    """The wide one when the running job ends, by its limit at the latest; a small one at once."""
    queue = RUNS + waits("2", 32, PriorityLong=300) + waits("3", 4, TimeLimit="1:00")
    found = forecast(seen(queue))
    assert found.unknown == {}
    wide, small = found.etas["2"], found.etas["3"]
    assert 1190 <= wide.latest <= 1215  # passes are seconds apart
    assert small.expected <= 1010
    assert 1000 <= wide.earliest < wide.expected < wide.latest
    assert wide.soon == small.soon == 1


def test_tasks_beyond_the_throttle_of_their_array_start_after_others() -> None:
    """One of them runs and one may: they follow it, one after the other, though a node is free."""
    array = "JobId=5 ArrayJobId=5 ArrayTaskId=2-3 ArrayTaskThrottle=1 JobName=a \n"
    array += "JobId=6 ArrayJobId=5 ArrayTaskId=1 ArrayTaskThrottle=1 JobName=a \n"
    queue = running_line("5_1", "n1", 4, StartTime=900, TimeLimit="5:00")
    queue += "".join(waits(f"5_{k}", 4, Reason="JobArrayTaskLimit") for k in (2, 3))
    found = forecast(look(Answers(Self(queue, job=array), FakeClock())))
    assert found.unknown == {}
    second, third = found.etas["5_2"], found.etas["5_3"]
    assert second.earliest > 1000 and second.expected + 30 < third.expected


def test_the_order_is_that_of_present_priorities() -> None:
    """Whatever the order of submission: two that exclude each other on the free node."""
    queue = RUNS + waits("2", 16, PriorityLong=5) + waits("3", 16, PriorityLong=50)
    found = forecast(seen(queue)).etas
    assert found["3"].expected <= 1010 < 1030 < found["2"].expected


def test_jobs_use_as_much_of_their_limits_as_jobs_did_lately() -> None:
    """Many have ended after a fifth: the running one is expected to end after its fifth."""
    ended = "".join(
        queue_line(str(k), State="COMPLETED", Reason="None", NodeList="n2", StartTime=100,
                   EndTime=220, TimeLimit="10:00")
        for k in range(10, 40)
    )  # fmt: skip
    queue = running_line("1", "n1", 12, StartTime=990, TimeLimit="5:00") + waits("2", 32)
    how = How(submissions=False)
    late = forecast(seen(queue), how).etas["2"]
    early = forecast(seen(queue + ended), how).etas["2"]
    assert early.expected == pytest.approx(1050, abs=10) and late.expected > 1100
    assert early.latest - early.earliest < late.latest - late.earliest


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"PriorityLong": 0, "Reason": "JobHeldUser"}, "held"),
        ({"Reason": "Dependency"}, "depends"),
        ({"Reason": "QOSMaxJobsPerUserLimit"}, "limit"),
        ({"Reason": "AssocGrpCpuLimit"}, "limit"),
        ({"Reason": "PartitionDown"}, "partition"),
        ({"Reservation": "maint"}, "reservation maint"),
        ({"Licenses": "matlab:1"}, "licences"),
        ({"tres-per-node": "gres:membw:5"}, "membw, which is not modelled"),
        ({"Partition": "gone"}, "no nodes"),
        ({"NumCPUs": 48, "NumTasks": 48}, "does not start it"),  # n3 is drained
    ],
)
def test_no_start_is_invented(given: dict[str, object], why: str) -> None:
    """Jobs that wait for other than nodes, or are not modelled, have a reason instead of a time."""
    cpus = int(str(given.pop("NumCPUs", 4)))
    row = waits("7", cpus, **given)
    found = forecast(seen(row + waits("8", 4)))
    assert why in found.unknown["7"] and "8" in found.etas


def test_a_watch_gives_no_orders_and_waits_for_slurm(tmp_path: Path) -> None:
    """Commands that show; a Slurm that does not answer is queried again."""
    slurm, clock, reported = Self(RUNS + waits("2", 32)), FakeClock(), []
    watch = Watch(
        answers=Answers(slurm, clock),
        clock=clock,
        predictions=Predictions(tmp_path / "p"),
        policy=parse_policy("slurm"),
        tell=reported.append,
    )
    turns = iter(range(100))
    answers = slurm.__call__
    watch.answers.run = lambda argv, text="": (
        answers(argv, text=text) if next(turns) > 2 else (_ for _ in ()).throw(PortError("away"))
    )
    watch.run_on(stopped=lambda: clock.time > 1020)
    accounting = {"sacct", "sacctmgr", "sshare"}
    assert {argv[0] for argv in slurm.asked} == {"squeue", "scontrol", *accounting}
    assert "away" in reported[0] and "slurmdbd does not answer" in reported[1]
    first = next(line for line in reported if line.startswith("2 is"))
    assert first.startswith("2 is expected to start in ")
    assert len(set(reported)) == len(reported)  # what is missing is reported once
    slurm.queue = running_line("2", "n[1-2]", 32, StartTime=1210)
    watch.run_on(stopped=lambda: clock.time > 1040)
    (made,) = resolved(read_predictions(tmp_path / "p"))
    assert (made.at, made.start, reported[-1].parts["event"]) == (1015, 1210, "started")


def test_experience_is_of_what_was_drawn_and_scores_of_what_was_shown(tmp_path: Path) -> None:
    """Else ranges that were corrected would look right, and would be corrected no more."""
    kept = Predictions(tmp_path / "p")
    kept.note(0, {"7": Eta(100, 50, 300, drawn=(90, 110))}, slurm={}, started={})
    kept.note(300, {}, slurm={}, started={"7": 250})
    entries = list(read_predictions(kept.path))
    (learned,), (shown,) = instants(entries), resolved(entries)
    assert (learned.earliest, learned.latest) == ([90], [110])
    assert (shown.earliest, shown.latest) == (50, 300)


def test_predictions_are_kept_now_and_then_and_survive_a_restart(tmp_path: Path) -> None:
    """The first, then after a minute and a quarter of the wait; a cancelled job is forgotten."""
    path = tmp_path / "p"
    kept = Predictions(path)

    def note(now: int, expected: int, **started: int) -> None:
        etas = {} if started else {"7": Eta(expected, expected, expected)}
        kept.note(now, etas, slurm={"7": 9000}, started={"7": started["at"]} if started else {})

    for now in (0, 30, 59, 61):  # a quarter of 1,000 s has not passed
        note(now, 1000)
    note(251, 800)
    kept = Predictions(path)  # restarted
    note(270, 800)
    note(900, 800, at=880)
    note(901, 800, at=880)
    found = [
        (one.at, one.expected, one.slurm, one.start) for one in resolved(read_predictions(path))
    ]
    assert found == [(0, 1000, 9000, 880), (251, 800, 9000, 880)]
    kept.note(1000, {"8": Eta(1100, 1100, 1100)}, slurm={}, started={})
    kept.note(1010, {}, slurm={}, started={})  # cancelled
    kept.note(1020, {}, slurm={}, started={"8": 1015})
    assert len(list(resolved(read_predictions(path)))) == 2
    assert path.stat().st_mode & 0o777 == 0o600


def test_scores_by_horizon_beside_squeues_own() -> None:
    """Bias has a sign, errors have none; squeue is compared on the jobs it predicts."""
    near = Scored(job="1", at=0, expected=30, earliest=0, latest=30, slurm=730, start=130)
    far = Scored(job="2", at=0, expected=3700, earliest=0, latest=3700, start=4000)
    first, second, everything = accuracy([near, far])
    assert (first.name, second.name, everything.name) == ("under 1 min", "1 to 6 h", "all")
    assert (first.ours.bias, first.slurm.bias, first.slurm.median) == (100, -600, 600)
    assert (second.slurm, second.both, second.ours.bias) == (None, None, 300)
    assert (everything.ours.count, everything.both.count, everything.inside) == (2, 1, 0)


def test_the_commands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without a loop `status` and `eta` predict Slurm's own starts; `accuracy` scores them."""
    slurm = Self(RUNS + waits("2", 32) + waits("3", 4, PriorityLong=0, Reason="JobHeldUser"))
    monkeypatch.setattr(drive, "commands", lambda where: slurm)
    state = ["--state", str(tmp_path / "s.json")]
    assert run(["live", "slurm", "status", *state, "--json"]) == 0
    output = json.loads(capsys.readouterr().out)
    assert output["policy"] == "slurm" and output["used"] == [12, 32]
    assert [row["job"] for row in output["waiting"]] == ["2"] and "held" in output["ineligible"][
        "3"
    ]
    assert run(["live", "slurm", "status", *state]) == 0
    assert "no loop runs" in capsys.readouterr().out
    assert run(["eta", "2", *state]) == 0
    assert "under slurm" in capsys.readouterr().out
    assert run(["eta", "3", *state]) == run(["eta", "99", *state]) == 2
    printed = capsys.readouterr().err
    assert (
        "no start of job 3 is predicted: it is held" in printed and "waits in the queue" in printed
    )
    assert run(["eta", "--request", "-N 400", *state]) == 2
    assert "--request: -N 400: partition" in capsys.readouterr().err
    assert run(["live", "slurm", "accuracy", *state]) == 2
    assert "there are no predictions" in capsys.readouterr().err
    words = ["live", "slurm", "--policy", "slurm", *state]
    assert run([*words, "--apply"]) == run([*words, "--gres", "gpu"]) == 2
    printed = capsys.readouterr().err
    assert "which needs no loop" in printed and "--gres has no effect" in printed
    assert run([*words, "--for", "1s"]) == 0
    asked = len(slurm.asked)
    capsys.readouterr()
    assert run(["eta", "2", *state]) == 0
    assert "under slurm, as predicted" in capsys.readouterr().out
    assert not any(argv[0] == "squeue" for argv in slurm.asked[asked:])
    assert run(["eta", "2", *state, "--policy", "slurm(bf_interval=60)"]) == 0  # not the watched
    assert "as predicted" not in capsys.readouterr().out
    assert run(["live", "slurm", "accuracy", *state]) == 2  # no job has started yet
    slurm.queue = running_line("2", "n[1-2]", 32, StartTime=2_000_000_000)
    assert run([*words, "--for", "1s"]) == 0
    capsys.readouterr()
    assert run(["live", "slurm", "accuracy", *state, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["scores"][-1]["ours"]["count"] == 1
    assert run(["live", "slurm", "accuracy", *state]) == 0
    assert "90 % error" in capsys.readouterr().out
    bad = tmp_path / "bad"
    bad.write_text('{"job": 5}\n')
    assert run(["live", "slurm", "accuracy", str(bad)]) == 2
    with pytest.raises(InputError, match="no prediction"):
        list(read_predictions(bad))


def test_jobs_of_equal_priority_are_in_slurms_order() -> None:
    """By submission and number, however squeue lists them: it begins with the last."""
    jobs = [str(k) for k in range(2, 22)]
    found = seen(RUNS + "".join(waits(job, 32, TimeLimit="1:00") for job in reversed(jobs)))
    rows = status_beside(found, forecast(found)).waiting
    assert [row.job for row in rows] == jobs
    assert [row.eta.expected for row in rows] == sorted(row.eta.expected for row in rows)
