"""Shrinking on Slurm: the commands, what came of them, and what a restarted loop knows of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from live.fakes import queue_line
from shadowtime.live.clock import SystemClock
from shadowtime.live.loop import intent_of
from shadowtime.live.port import Continue, Resize, Start, Suspend
from shadowtime.live.record import decision_from_json, decision_to_json
from shadowtime.live.slurm.configuration import Scope
from shadowtime.live.slurm.equal_nodes import EqualNodes, permitted
from shadowtime.live.slurm.shrinking import NO_MARK, NOT_GIVEN_UP, shrink
from shadowtime.live.slurm.state import standing
from shadowtime.live.slurm.touched import CLEAR, Touched, mark_words, parse_mark, touch
from shadowtime.live.store import LoopState, StateFile
from shadowtime.slurmtext.show_job import Detail
from shadowtime.slurmtext.squeue import NodeRow, QueueRow, parse_queue

SHRINK = Resize("7", 4, place=(("n1", 4),))
START = Start("8", procs=4, place=(("n2", 4),))


def row(**given: object) -> QueueRow:
    return parse_queue(queue_line("7", **given))[0]


@pytest.mark.parametrize(("nodes", "done"), [("n1", True), ("n[1-2]", False)])
def test_a_start_waits_for_the_nodes_that_are_given_up(nodes: str, done: bool) -> None:
    """Where Slurm refuses, the start is not sent: it would wait for the nodes."""
    sent: list[Sequence[str]] = []

    def send(lines: Sequence[Sequence[str]]) -> list[str]:
        sent.extend(lines)
        return [] if done else ["Job update not available right now for job 7"]

    def look() -> Mapping[str, QueueRow]:
        return {"7": row(State="RUNNING", NodeList=nodes)}

    made = shrink([SHRINK, START], send, look, SystemClock(), {})
    assert sent == [["update JobId=7 NumNodes=1"]]
    assert made["7"].done == done
    if done:
        assert list(made) == ["7"]
    else:
        assert made["7"].why == "Job update not available right now for job 7"
        assert made["8"].why == NOT_GIVEN_UP


MARK = Touched("n1,n2", "", 60, "OK", "N/A", CLEAR, suspended=1_700_000_000)


@pytest.mark.parametrize("state", ["SUSPENDED", "RUNNING"])
def test_a_start_waits_for_the_processors_of_a_suspended_job(state: str) -> None:
    """Slurm refuses it to who is no operator: its own sentence, and no start above it."""
    sent: list[Sequence[str]] = []
    denied = "Access/permission denied for job 7"

    def send(lines: Sequence[Sequence[str]]) -> list[str]:
        sent.extend(lines)
        return [] if state == "SUSPENDED" else [denied]

    def look() -> Mapping[str, QueueRow]:
        return {"7": row(State=state, NodeList="n[1-2]")}

    decisions = [Suspend("7"), START]
    made = shrink(decisions, send, look, SystemClock(), {"7": MARK})
    assert sent == [[f"update JobId=7 {mark_words(MARK)}", "suspend 7"]]
    assert parse_mark(mark_words(MARK).partition("=")[2]) == MARK
    whys = {job: one.why for job, one in made.items()}
    assert whys == ({"7": ""} if state == "SUSPENDED" else {"7": denied, "8": NOT_GIVEN_UP})
    made = shrink(decisions, send, look, SystemClock(), {})
    assert made["7"].why == NO_MARK and len(sent) == 1
    assert made["8"].why == NOT_GIVEN_UP or state == "SUSPENDED"


def test_a_suspended_job_ends_later() -> None:
    """The loop's own may continue, with the time that it stands still added; no operator's."""
    node = NodeRow("n1", "mixed", 4, 0, {}, ("batch",), ())
    stands = row(
        State="SUSPENDED", NodeList="n1", StartTime="900", TimeLimit="10:00",
        NumCPUs="4", Requeue="1", NumNodes="1",
    )  # fmt: skip
    model = EqualNodes([node], scope=Scope(partition="batch"), now=1000)
    job = model.running(stands, None, mine=True)
    assert job is not None and not job.ours and not job.suspended
    since = stands.start + 100
    ours = standing(job, stands, since, since + 50)
    assert ours.suspended and ours.ours and ours.settled
    assert ours.request == job.request + 50
    assert standing(job, stands, 0, since + 50) == job
    assert standing(job, stands._replace(state="RUNNING"), since, since + 50) == job


def test_the_range_is_noted_in_the_job() -> None:
    """The fewest nodes are in the amounts that a job requests; later in what its start noted."""
    detail = Detail(nodes=8, most=8)  # 8-8 is what scontrol prints for 2-8
    waits = row(**{"tres-alloc": "cpu=2,node=2,billing=2"})
    assert permitted(waits, detail, None) == (2, 8)
    mark = touch(START, waits, None, "", (2, 8), sized=True)
    assert mark is not None and mark.nodes == (2, 8)
    assert permitted(row(**{"tres-alloc": "cpu=4,node=4,billing=4"}), None, mark) == (2, 8)
    assert touch(START, waits, None, "", (4, 4), sized=True).nodes == (0, 0)  # type: ignore[union-attr]


def test_decisions_survive_a_restart(tmp_path: Path) -> None:
    """An intent is read from the state file, and a recorded decision is the same again."""
    continues = Continue("7", place=(("n1", 4),))
    for decision in (SHRINK, Suspend("7"), continues):
        kept = LoopState(intents={"7": intent_of(decision, 5)})
        StateFile(tmp_path / "state.json").save(kept)
        assert StateFile(tmp_path / "state.json").load().intents == kept.intents
    for decision in (SHRINK, START, Suspend("7"), continues):
        assert decision_from_json(decision_to_json(decision)) == decision
