"""Several schedds under one loop: one queue, and each command goes to the job's schedd."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path

import pytest

from condor_pool import Pool, running_pool
from condor_tools import history, started, submit, turn_until
from live.test_condor_port import Fake, Noon, held, pslot
from shadowtime.cli import run
from shadowtime.live.backend import Wanted
from shadowtime.live.clock import Pace
from shadowtime.live.condor.backend import connect
from shadowtime.live.condor.jobs import Reading
from shadowtime.live.condor.port import CondorPort
from shadowtime.live.condor.schedds import Schedds
from shadowtime.live.lock import one_loop
from shadowtime.live.operation import Operation
from shadowtime.live.port import PortError, Start, Stop
from shadowtime.live.service import make_loop
from shadowtime.live.store import InMemory
from shadowtime.policy import parse_policy


def two() -> tuple[CondorPort, Fake, Fake, list[str]]:
    """A port over two schedds, each with a waiting job 7.0, that of b submitted first."""
    lines: list[str] = []
    a, b = Fake([pslot("n")], [held(7, qdate=20)]), Fake([pslot("n")], [held(7, qdate=10)])
    client = Schedds({"a": a, "b": b}, tell=lines.append)
    port = CondorPort(client=client, clock=Noon(), tell=lines.append, reading=Reading(overhead=0))
    return port, a, b, lines


def test_jobs_of_all_schedds_are_one_queue() -> None:
    """In the order of their submissions; jobs of the same number stay distinct."""
    port, *_ = two()
    assert [job.id for job in port.snapshot().waiting] == ["b#7.0", "a#7.0"]


def test_every_order_goes_to_the_schedd_of_its_job() -> None:
    """Edits, releases and holds, under the names that the schedd itself uses."""
    port, a, b, _ = two()
    port.snapshot()
    start = Start(job="b#7.0", place=(("slot1@n", 1),))
    assert [outcome.done for outcome in port.apply([start])] == [True]
    assert a.asked == [] and {words[0] for words in b.asked} == {"edit", "release"}
    assert b.asked[-1][2:] == ("7.0",)
    port.apply([Stop(job="a#7.0")])
    assert a.asked == [("hold", "shadowtime: stopped by the policy", "7.0")]


def test_a_schedd_that_does_not_answer_leaves_the_others_at_work() -> None:
    """Reported once, and again when it is back; its claims are counted from the collector."""
    port, a, b, lines = two()
    claim = {"name": "slot1_1@n", "slottype": "Dynamic", "state": "Claimed", "cpus": 3,
             "memory": 128, "globaljobid": "b#9.0#1"}  # fmt: skip
    a.slot_ads.append(claim)
    assert port.snapshot().running == ()  # b answers, and does not list such a job
    b.silent = "the schedd does not answer"
    for _ in range(2):
        state = port.snapshot()
        assert [job.id for job in state.waiting] == ["a#7.0"]
        assert [(job.ours, job.need[0]) for job in state.running] == [(False, 3)]
    assert lines == ["continuing without the jobs of schedd b: the schedd does not answer"]
    a.silent = "it is away"
    with pytest.raises(PortError, match="a: it is away; b: the schedd does not answer"):
        port.snapshot()
    a.silent = b.silent = ""
    assert len(port.snapshot().waiting) == 2
    assert "schedd b answers again" in lines


def connected(pool: Pool, schedd: str, lines: list[str]):
    """A loop that acts on the schedds, as the command makes it, and its target."""
    pool.use()
    policy = parse_policy("fcfs")
    wanted = Wanted(
        policy=policy, operation=Operation(), act=True, options={"schedd": schedd, "overhead": 1}
    )
    port, target = connect(wanted, tell=lines.append)
    pace = Pace(every=0.2, slowest=0.4, after_error=1.0)
    loop = make_loop(
        port, policy, InMemory(), target=target, act=True, pace=pace, tell=lines.append
    )
    return loop, target


def test_two_real_schedds_share_a_node(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Jobs 1.0 and 1.0 are different jobs: each runs once, in the order of submission."""
    lines: list[str] = []
    with running_pool(nodes=1, more_schedds=("b",)) as pool:
        loop, target = connected(pool, "all", lines)
        first, second = sorted(what.removeprefix("schedd ") for what, _ in target.locks)
        assert first.startswith("b") and second.startswith("localhost")
        numbers = [submit(pool, 1, cpus=8, schedd=name) for name in (second, first, second)]
        assert numbers == ["1.0", "1.0", "2.0"]
        with contextlib.ExitStack() as locks:
            for what, identity in target.locks:
                locks.enter_context(one_loop(what, identity=identity))
            assert run(["live", "condor", "-p", "fcfs", "--schedd", first, "--apply"]) == 2
        assert f"another loop already drives schedd {first}" in capsys.readouterr().err
        words = ["live", "condor", "status", "--schedd", f"{first},{second}", "-p", "fcfs"]
        assert run([*words, "--state", str(tmp_path / "state.json"), "--json"]) == 0
        seen = json.loads(capsys.readouterr().out)
        wanted = {f"{second}#1.0", f"{first}#1.0", f"{second}#2.0"}
        assert {row["job"] for row in seen["waiting"]} == wanted
        turn_until(loop, lambda: len(history(pool, first)) + len(history(pool, second)) == 3)
        ends = history(pool, first), history(pool, second)
        assert sorted(started(pool)) == ["1.0", "1.0", "2.0"]
        assert run(["live", "condor", "-p", "fcfs", "--schedd", "nowhere", "--once"]) == 2
        known = f"the collector lists no schedd nowhere; it lists {first}, {second}"
        assert known in capsys.readouterr().err
    assert [sorted(jobs) for jobs in ends] == [["1.0"], ["1.0", "2.0"]]
    order = [line.split()[1] for line in lines if line.startswith("start ")]
    assert order[-1] == f"{second}#2.0" and set(order) == wanted
