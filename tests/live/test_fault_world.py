"""The fault injector must detect a stall, a lost job and a job that ran twice."""

from __future__ import annotations

import random
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from conftest import ROOT

sys.path.insert(0, str(ROOT))

from benchmarks.fault_evidence import seconds_of, was_forgotten
from benchmarks.fault_world import Doubled, Job, World

from shadowtime.errors import UsageError


class LogLine:
    """A Slurm of three nodes with four processors each, with given answers."""

    cpus, nodes, names = 4, 3, ("n1", "n2", "n3")

    def __init__(self, folder: Path) -> None:
        self.folder, self.queue = folder, ""
        self.states = "n1 idle 0/4/0/4\nn2 idle 0/4/0/4\nn3 mixed 3/1/0/4\n"

    def run(self, name: str, *words: str, **more: object) -> str:
        return self.queue if name == "squeue" else self.states


def a_world(tmp_path: Path) -> Any:
    return World(cluster=LogLine(tmp_path), loop=SimpleNamespace(), out=tmp_path)  # type: ignore[arg-type]


def waits(world: Any, *jobs: Job) -> None:
    world.jobs = {job.id: job for job in jobs}
    world.cluster.queue = "".join(f"{job.id} BeginTime\n" for job in jobs)


@pytest.mark.parametrize(
    ("job", "fits"),
    [
        (Job("1", 2, True, 0.0), True),
        (Job("1", 3, True, 0.0), False),  # n3 is not idle: it must wait
        (Job("1", 9, False, 0.0), True),
        (Job("1", 10, False, 0.0), False),
        (Job("1", 1, True, 0.0, only=("n3",)), False),
        (Job("1", 1, False, 0.0, only=("n3",)), True),
    ],
)
def test_what_fits_is_found_from_slurms_own_words(tmp_path: Path, job: Job, fits: bool) -> None:
    """If the first job does not fit, the loop is not blamed for later ones."""
    world = a_world(tmp_path)
    waits(world, job, Job("2", 1, False, 0.0))
    assert world._first(world.pending(), *world.free()) == ("1" if fits else None)


def test_a_job_that_no_usable_nodes_could_hold_is_passed_over(tmp_path: Path) -> None:
    """So is one that may never start; the next one must then not stall."""
    world = a_world(tmp_path)
    world.cluster.states = "n1 idle 0/4/0/4\nn2 drained 0/0/4/4\nn3 idle 0/4/0/4\n"
    odd = Job("2", 1, False, 0.0, odd="--exclude=n1,n2,n3")
    waits(world, Job("1", 3, True, 0.0), odd, Job("3", 1, True, 0.0))
    assert world._first(world.pending(), *world.free()) == "3"


def test_standing_still_is_measured_and_a_start_ends_it(tmp_path: Path) -> None:
    """From the poll in which the job fitted to the poll in which something started."""
    world = a_world(tmp_path)
    waits(world, Job("1", 1, True, 0.0))
    world.sample()
    world.sample()
    world.limited = True  # closed for a while: not counted, and the count is not reset
    world.sample()
    world.limited = False
    world.sample()
    assert world.stalls == []
    (tmp_path / "1").write_text("begin 5.0\n")
    world.cluster.queue = ""
    world.sample()
    assert [stall.job for stall in world.stalls] == ["1"]
    assert world.stalls[0].seconds > 0


def test_doubled_and_unfinished_are_found_in_what_jobs_wrote(tmp_path: Path) -> None:
    """A run that was cut short may be repeated, one that had ended may not."""
    world = a_world(tmp_path)
    waits(world, *(Job(name, 1, True, 0.0) for name in "abcd"))
    (tmp_path / "a").write_text("begin 1\nbegin 3\nend 4\n")
    (tmp_path / "b").write_text("begin 1\nend 2\nbegin 3\nend 4\n")
    (tmp_path / "c").write_text("begin 1\n")
    world.loop.log = tmp_path / "loop.log"
    assert world.doubled() == Doubled(ours=["b"])
    assert [job.id for job in world.unfinished()] == ["c", "d"]
    world.unsaved.append((1.5, 2.5))  # slurmctld was killed and had not saved that b ended
    assert world.doubled() == Doubled(forgotten=["b"])
    world.unsaved.clear()
    stamp = time.strftime("%Y-%m-%dT%H:%M:%S", time.localtime(2))
    world.loop.log.write_text(f"{stamp} start b on n1:4 (head)\n{stamp} stop b\n")
    assert world.doubled() == Doubled(preempted=["b"])


def test_nodes_that_slurm_took_out_are_put_back_until_the_end(tmp_path: Path) -> None:
    """Slurm marks a node minutes after the fault: jobs that need all nodes were stuck for it."""
    world = a_world(tmp_path)
    commands = []

    def run(name: str, *words: str, **more: object) -> str:
        commands.append((name, *words))
        lines = ("n1 idle none", "n2 drained Kill task failed", "n3 down* Not responding")
        return "\n".join(lines) if name == "sinfo" else ""

    world.cluster.run = run
    world.put_back()
    resumed = [words[1] for name, *words in commands if name == "scontrol"]
    assert resumed == ["NodeName=n2", "NodeName=n3"]
    assert world.was_out == {"n2": "drained: Kill task failed", "n3": "down*: Not responding"}


def test_seconds_in_which_slurmctld_comes_back_are_no_stall(tmp_path: Path) -> None:
    """The injector itself waits for slurmctld and cannot poll meanwhile."""
    world = a_world(tmp_path)
    waits(world, Job("1", 1, True, 0.0))
    world.sample()
    world._looked -= 60.0  # a minute without a poll, all of it due to slurmctld
    world.looked_away()
    world.sample()
    world.finish()
    assert world.stalls[0].seconds < 30


def test_jobs_are_not_stuck_while_the_loop_is_coming_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A restart may exceed the time limit, which applies only to a loop that polls."""
    from benchmarks import fault_injection

    world, clock = a_world(tmp_path), SimpleNamespace(time=0.0)
    waits(world, Job("1", 1, True, 0.0))
    monkeypatch.setattr(world, "put_back", lambda: None, raising=False)
    world.loop.up = lambda: clock.time > 90

    def sleep(seconds: float) -> None:
        clock.time += seconds
        if 100 < clock.time < 101:
            (tmp_path / "1").write_text("begin 100\n")

    fake = SimpleNamespace(monotonic=lambda: clock.time, sleep=sleep)
    monkeypatch.setattr(fault_injection, "time", fake)
    fault_injection.wait_for_the_end(world, lambda: None)
    assert (tmp_path / "1").exists(), "it gave up before the loop had looked"
    stuck = 100 + fault_injection.PATIENCE  # nothing happens after its begin
    assert stuck < clock.time < stuck + 5


def test_what_slurm_itself_lost_or_locked_is_listed_separately(tmp_path: Path) -> None:
    """A launch by a killed slurmd; a job that slurmctld allows no change to."""
    world = a_world(tmp_path)
    stamp = time.strftime("%Y-%m-%dT%H:%M:%S", time.localtime(100))
    world.cluster.run = lambda *words, **more: f"JobId=1 NodeList=n[1-2] StartTime={stamp} X"
    assert not world.never_launched("1")
    world.without_daemon = [("n3", 99.0, 105.0), ("n2", 50.0, 60.0)]
    assert not world.never_launched("1")
    world.without_daemon.append(("n2", 101.0, 103.0))
    assert world.never_launched("1")
    log = tmp_path / "log" / "slurmctld.log"
    log.parent.mkdir()
    log.write_text("can't update job, waited 5 seconds for JobId=7 to get a db_index\n")
    waits = "7 (null)\n77 (null)\n8 afterok:7(unfulfilled)\n9 afterany:8_*(unfulfilled)\n"
    world.cluster.run = lambda *words, **more: waits
    assert world.unchangeable(["7", "77", "8", "9"]) == {"7", "8", "9"}
    log.write_text(log.read_text() + "_slurm_rpc_update_job: complete JobId=7 uid=0\n")
    assert world.unchangeable(["7", "77", "8", "9"]) == set()


RECORDED = """\
[2026-11-16T09:56:06.944] _job_complete: JobId=36 WEXITSTATUS 0
[2026-11-16T09:56:06.944] _job_complete: JobId=36 done
[2026-11-16T09:56:17.137] Recovered JobId=36 StepId=batch
[2026-11-16T09:56:17.137] Recovered JobId=36 Assoc=4
[2026-11-16T09:55:36.208] Recovered JobId=27 StepId=batch
[2026-11-16T09:55:36.222] _sync_nodes_to_comp_job: JobId=27 in completing state
[2026-11-16T09:55:38.051] Requeuing JobId=27
[2026-11-16T09:55:51.428] Recovered JobId=27 Assoc=4
"""
"""From a campaign: slurmctld was killed at 09:56:07 and had not saved that 36 ended; it had started
27 a second time, which a node refused as that still ran, and has held it since."""


def test_an_end_that_slurmctld_forgot_is_read_from_its_log() -> None:
    """A script that had ended was recovered as running: if it runs again, it was forgotten."""
    ended = seconds_of("2026-11-16T09:56:06")
    run = [("begin", ended - 4), ("end", ended)]
    assert was_forgotten("36", run, unsaved=[], log=RECORDED)
    assert not was_forgotten("3", run, unsaved=[], log=RECORDED)
    assert not was_forgotten("36", [*run[:1], ("end", ended + 60)], unsaved=[], log=RECORDED)
    saved_in_time = [(ended + 10, ended + 11)]
    assert not was_forgotten("9", run, unsaved=saved_in_time, log=RECORDED)
    assert was_forgotten("9", run, unsaved=[(ended + 1, ended + 2)], log=RECORDED)


def test_a_script_that_begins_after_the_kill_was_forgotten_with_its_allocation() -> None:
    """From a campaign: allocated at 10.343, slurmctld killed at 10.447, the first line at 10.56."""
    log = "[2026-11-16T14:42:10.343] sched: Allocate JobId=136 NodeList=n[13,15] #CPUs=2\n"
    at = seconds_of("2026-11-16T14:42:10")
    run = [("begin", at + 0.56), ("end", at + 4.68)]
    assert was_forgotten("136", run, unsaved=[(at - 2, at + 0.447)], log=log)
    assert not was_forgotten("136", run, unsaved=[(at - 9, at - 4)], log=log)
    assert not was_forgotten("13", run, unsaved=[(at - 2, at + 0.447)], log=log)
    earlier = [(mark, when + 60) for mark, when in run]  # another run than the allocated one
    assert not was_forgotten("136", earlier, unsaved=[(at - 2, at + 0.447)], log=log)


def test_a_hold_that_slurm_took_for_an_operators_is_known_by_its_requeue(tmp_path: Path) -> None:
    """27 is released as an operator would, as 28 waits for it, even though 27 itself has ended."""
    world = a_world(tmp_path)
    (tmp_path / "log").mkdir()
    (tmp_path / "log" / "slurmctld.log").write_text(RECORDED)
    world.jobs = {name: Job(name, 1, True, 0.0) for name in ("27", "28", "29")}
    (tmp_path / "27").write_text("begin 1\nend 2\n")
    commands: list[tuple[str, ...]] = []

    def run(name: str, *words: str, **more: object) -> str:
        commands.append((name, *words))
        if name != "squeue" or "R" in words:
            return ""
        lines = {
            "%i %E %r": ("27 (null) JobHeldAdmin", "28 afterany:27(unfulfilled) Dependency",
                         "29 (null) JobHeldAdmin"),
            "%i %E": ("27 (null)", "28 afterany:27(unfulfilled)", "29 (null)"),
            "JobArrayID:40,EligibleTime:40": (),
        }  # fmt: skip
        return "\n".join(lines[words[-1]])

    world.cluster.run = run
    assert world.pending() == {"27": "held", "28": "Dependency", "29": "JobHeldAdmin"}
    assert world._first(world.pending(), {"n1"}, {"n1": 4}) == "29"  # which counts as ours
    world.put_back()
    assert [words[2] for words in commands if words[:2] == ("scontrol", "release")] == ["27"]


def test_a_job_that_ended_and_that_slurm_calls_running_is_cancelled(tmp_path: Path) -> None:
    """It would occupy its nodes until its time limit; one that just ended is given time."""
    world, commands = a_world(tmp_path), []
    now = time.time()
    for name, text in {"36": f"begin 1\nend {now - 60}", "37": f"begin 1\nend {now - 1}",
                       "38": f"begin {now - 60}"}.items():  # fmt: skip
        (tmp_path / name).write_text(f"{text}\n")

    def run(name: str, *words: str, **more: object) -> str:
        commands.append((name, *words))
        return "36\n37\n38\n" if name == "squeue" and "R" in words else ""

    world.cluster.run = run
    world.put_back()
    assert [words for words in commands if words[0] == "scancel"] == [("scancel", "36")]
    assert world.were_gone == {"36"}


def test_a_job_that_slurm_holds_after_a_failed_launch_is_no_stall(tmp_path: Path) -> None:
    """It is released at the end, as an operator would, unless it had ended before."""
    world = a_world(tmp_path)
    waits(world, Job("1", 1, True, 0.0), Job("2", 1, True, 0.0))
    world.cluster.queue = "".join(f"{job} launch failed requeued held\n" for job in "12")
    assert world._first(world.pending(), *world.free()) is None
    (tmp_path / "2").write_text("begin 1\nend 2\n")
    world.cluster.states = ""
    world.put_back()
    assert world.were_held == {"1"}


def test_a_held_task_is_released_where_a_job_depends_on_its_array(tmp_path: Path) -> None:
    """Though the task itself had ended, and the dependency names the array alone."""
    world = a_world(tmp_path)
    world.jobs = {name: Job(name, 1, True, 0.0) for name in ("5_1", "6")}
    (tmp_path / "5_1").write_text("begin 1\nend 2\n")
    lines = {
        "%i %E %r": "5_1 (null) launch failed requeued held\n"
        "6 afterany:5_*(unfulfilled) Dependency\n",
        "%i %E": "5_1 (null)\n6 afterany:5_*(unfulfilled)\n",
    }
    world.cluster.run = lambda name, *words, **more: lines.get(words[-1], "")
    world.put_back()
    assert world.were_held == {"5_1"}


def test_a_job_that_slurm_delays_is_no_stall_unless_the_loop_has_stopped_it(
    tmp_path: Path,
) -> None:
    """Slurm shows only the hold; when it is lifted, the job still starts no earlier."""
    world = a_world(tmp_path)
    world.loop.log = tmp_path / "loop.log"
    waits(world, Job("1", 1, True, 0.0))
    at = [time.strftime("%Y-%m-%dT%H:%M:%S", time.localtime(time.time() + s)) for s in (90, -30)]

    def run(name: str, *words: str, **more: object) -> str:
        if "-O" in words:
            return f"1      {at[0]}     \n"
        return world.cluster.queue if name == "squeue" else world.cluster.states

    world.cluster.run = run
    assert world.pending() == {"1": "BeginTime"}
    assert world._first(world.pending(), *world.free()) is None
    world.loop.log.write_text(f"{at[1]} start 1 on n1:4 (head)\n{at[1]} stop 1\n")
    assert world._first(world.pending(), *world.free()) == "1"
    world.loop.log.write_text("")
    at[0] = at[1]  # its time has come
    assert world._first(world.pending(), *world.free()) == "1"


def test_limits_are_not_changed_while_slurmdbd_is_down(tmp_path: Path) -> None:
    """sacctmgr would wait for slurmdbd, the injector for sacctmgr, slurmdbd for the injector."""
    from benchmarks.fault_site import ON_SITE

    world, rng = a_world(tmp_path), random.Random(1)
    pairs = {"QOS limit": "slurmdbd killed", "slurmdbd killed": "QOS limit"}
    for fault, other in pairs.items():
        world.going_on = {other}
        with pytest.raises(UsageError, match="slurmdbd"):
            ON_SITE[fault](world, rng)


def test_every_feasible_job_is_timed_while_no_fault_goes_on(tmp_path: Path) -> None:
    """Also the second in the queue, and whatever else begins; a job that does not fit is not."""
    world = a_world(tmp_path)
    waits(world, Job("1", 3, True, 0.0), Job("2", 1, False, 0.0))
    for fault, passed in ((False, 0), (False, 20), (True, 50), (False, 11)):
        world.going_on = {"nodes drained"} if fault else set()
        world._looked = time.monotonic() - passed
        world.sample()
    assert set(world.waits) == {"2"} and 31 <= world.waits["2"] < 35


def test_accounting_and_files_are_compared(tmp_path: Path) -> None:
    """A job with two records of completion, and one that ended without any."""
    world = a_world(tmp_path)
    waits(world, Job("1", 1, True, 0.0), Job("2", 1, True, 0.0), Job("3", 1, True, 0.0))
    for job in ("1", "2"):
        (tmp_path / job).write_text("begin 1\nend 2\n")
    world.cluster.accounting = True
    world.cluster.states = "1|REQUEUED\n1|COMPLETED\n1|COMPLETED\n3|CANCELLED\n"
    assert world.by_sacct() == {"completed twice": 1, "ended without a record of it": 1}
