"""Whose a hold is behind a job of several partitions: the gate's unless an operator held before."""

from __future__ import annotations

from live.fakes import queue_line
from shadowtime.live.slurm.relabelled import Followers
from shadowtime.slurmtext.squeue import QueueRow, parse_queue


def rows(*lines: str) -> list[QueueRow]:
    return parse_queue("".join(lines))


def leader(**more: object) -> str:
    return queue_line("7", Partition="batch,debug", PriorityLong=9, Reason="Resources", **more)


ADMIN = {"Reason": "JobHeldAdmin"}


def relabelled(before: list[QueueRow], after: list[QueueRow]) -> list[str]:
    """The jobs whose hold is taken for the gate's, by a loop that starts again in between too."""
    same, first = Followers(), Followers()
    for each in (same, first):
        each.look(before)
    again = Followers(first.known)
    for each in (same, again):
        each.look(after)
    found = [row.id for row in after if same.relabelled(row)]
    assert found == [row.id for row in after if again.relabelled(row)]
    return found


def test_the_job_behind_a_leader_that_has_started_is_the_gates() -> None:
    """Those before it, and a hold that was there before, are an operator's."""
    before = rows(
        queue_line("6"), leader(), queue_line("8", **ADMIN), queue_line("9"), queue_line("10")
    )
    after = rows(queue_line("6", **ADMIN), queue_line("8", **ADMIN), queue_line("9", **ADMIN))
    assert relabelled(before, after) == ["9"]


def test_a_hold_while_the_leader_waits_is_an_operators() -> None:
    """Slurm has not looked behind it yet."""
    before = rows(leader(), queue_line("8"))
    assert relabelled(before, rows(leader(), queue_line("8", **ADMIN))) == []


def test_a_leader_that_has_left_is_forgotten_once_the_hold_is_the_gates_again() -> None:
    """A hold after that is an operator's."""
    followers = Followers()
    for look in (
        rows(leader(), queue_line("8")),
        rows(queue_line("8", **ADMIN)),
        rows(queue_line("8")),
        rows(queue_line("8", **ADMIN)),
    ):
        followers.look(look)
    assert not followers.relabelled(look[0])


def test_a_hold_of_slurms_own_is_not_touched() -> None:
    """Requeued and launch failures have their own rules."""
    before = rows(leader(), queue_line("8"))
    after = rows(queue_line("8", Reason="launch failed requeued held"))
    assert relabelled(before, after) == []


def test_the_tasks_of_an_array_follow_any_leader() -> None:
    """Slurm keeps what is left of an array in a new record, behind jobs submitted after it."""
    before = rows(queue_line("5"), queue_line("6_2"), queue_line("6_3"), leader(), queue_line("9"))
    after = rows(*(queue_line(job, **ADMIN) for job in ("5", "6_2", "6_3")), queue_line("9"))
    assert relabelled(before, after) == ["6_2", "6_3"]
