"""Shrinking running jobs, before the starts that need their nodes are sent."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shadowtime.live.port import Outcome, Resize, Start
from shadowtime.live.slurm.act import outcome
from shadowtime.slurmtext.hostlist import expand

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from shadowtime.live.clock import Clock
    from shadowtime.live.port import Decision
    from shadowtime.slurmtext.squeue import QueueRow

NOT_GIVEN_UP = "the nodes meant for it were not given up"


def shrink(
    decisions: Sequence[Decision],
    send: Callable[[Sequence[Sequence[str]]], list[str]],
    look: Callable[[], Mapping[str, QueueRow]],
    clock: Clock,
) -> dict[str, Outcome]:
    """Shrink jobs, and see what came of it; also the starts that are not possible without.

    Slurm may refuse to change a job, for example while slurmdbd gets its record: its nodes stay in
    use, and a job that was sent there would wait for them.
    """
    shrinks = [one for one in decisions if isinstance(one, Resize)]
    if not shrinks:
        return {}
    complaints = send([shrink_lines(one) for one in shrinks])
    after, now = look(), clock.now()
    made = {one.job: outcome(one, after.get(one.job), complaints, now=now) for one in shrinks}
    in_use: set[str] = set()
    for job, found in made.items():
        if not found.done and job in after:
            in_use.update(expand(after[job].nodes))
    for one in decisions:
        if isinstance(one, Start) and in_use.intersection(host for host, _ in one.place):
            made[one.job] = Outcome(one, False, NOT_GIVEN_UP)
    return made


def shrink_lines(decision: Resize) -> list[str]:
    """On with fewer nodes, the first ones that it has; Slurm ends what runs on the others.

    Examples
    --------
    >>> shrink_lines(Resize("7", 8, place=(("n1", 4), ("n2", 4))))
    ['update JobId=7 NumNodes=2']
    """
    return [f"update JobId={decision.job} NumNodes={len(decision.place)}"]
