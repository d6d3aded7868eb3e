"""Shrinking and suspending running jobs, before the starts that need their nodes are sent."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from shadowtime.live.port import Continue, Decision, Outcome, Resize, Start, Suspend
from shadowtime.live.slurm.act import outcome
from shadowtime.live.slurm.touched import Touched, mark_words
from shadowtime.slurmtext.hostlist import expand
from shadowtime.slurmtext.squeue import QueueRow

if TYPE_CHECKING:
    from shadowtime.live.clock import Clock

NO_MARK = "the loop cannot note in the job that it has suspended it, and would not know it later"
NOT_GIVEN_UP = "the nodes meant for it were not given up"


def shrink(
    decisions: Sequence[Decision],
    send: Callable[[Sequence[Sequence[str]]], list[str]],
    look: Callable[[], Mapping[str, QueueRow]],
    clock: Clock,
    marks: Mapping[str, Touched],
) -> dict[str, Outcome]:
    """Shrink and suspend jobs, and see what came of it; also what is not possible without.

    Slurm may refuse to change a job, for example while slurmdbd gets its record: its nodes stay in
    use, and a job that was sent there would wait for them. A job without a mark is not suspended:
    nobody could tell later who has done it.
    """
    made = {
        one.job: Outcome(one, False, NO_MARK)
        for one in decisions
        if isinstance(one, Suspend) and not mark_words(marks.get(one.job))
    }
    frees = [d for d in decisions if isinstance(d, Resize | Suspend) and d.job not in made]
    if not frees and not made:
        return {}
    complaints = send(
        [
            shrink_lines(one)
            if isinstance(one, Resize)
            else suspend_lines(one, mark_words(marks[one.job]))
            for one in frees
        ]
    )
    after, now = look(), clock.now()
    made |= {one.job: outcome(one, after.get(one.job), complaints, now=now) for one in frees}
    in_use: set[str] = set()
    for job, found in made.items():
        if not found.done and job in after:
            in_use.update(expand(after[job].nodes))
    for one in decisions:
        if not isinstance(one, Start | Continue):
            continue
        if in_use.intersection(host for host, _ in one.place):
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


def suspend_lines(decision: Suspend | Continue, mark: str = "") -> list[str]:
    """Stand still, or go on; ``mark`` says in the job that it was the loop, and since when.

    Examples
    --------
    >>> suspend_lines(Suspend("7")), suspend_lines(Continue("7"))
    (['suspend 7'], ['resume 7'])
    """
    word = "suspend" if isinstance(decision, Suspend) else "resume"
    noted = [f"update JobId={decision.job} {mark}"] if mark else []
    return [*noted, f"{word} {decision.job}"]
