"""The runs of a study, performed by workers into a folder from which the study reads them.

A what-if and a paper consist of runs whose results are saved by key (``sweep.store``). A worker
rebuilds the study from its description and performs one of its runs; the result is in the folder,
and the study itself, which runs where it was started, reads it from there. So an interrupted study
resumes, and only a number is sent.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Protocol

from shadowtime.errors import ShadowtimeError
from shadowtime.study.fan_out import cores
from shadowtime.study.sweep.hand_out import Deaths, Lost, hand_out, on_executor
from shadowtime.study.sweep.run import Progress

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from concurrent.futures import Executor


class Study(Protocol):
    """A study by its inputs: hashable, and small enough to be sent to every worker."""

    def __hash__(self) -> int: ...

    def parts(self) -> Sequence[Callable[[], object]]:
        """What to run; each keeps its result in the study's folder."""


Part = tuple[Study, int]
"""A study and the place of one of its parts."""


def run_parts(
    study: Study,
    missing: Sequence[int],
    *,
    workers: int | None = None,
    executor: Executor | None = None,
    progress: Callable[[Progress], None] = lambda progress: None,
) -> None:
    """Run the missing parts, by their places, on processes or on any executor.

    Rules
    -----
    ``executor`` is any ``concurrent.futures.Executor`` whose workers see the same files; else
    ``workers`` processes of this machine are used. A part whose worker dies is run again, and
    ends the study if its worker dies again.
    """
    deaths = Deaths()
    done = 0

    def count(_: None) -> None:
        nonlocal done
        done += 1
        progress(Progress(done=done, failed=0, total=len(missing)))

    def again(lost: list[Lost[Part]]) -> list[Part]:
        for one in lost:
            if deaths.abandon(one.item[1], one):
                raise ShadowtimeError(f"run {one.item[1] + 1} of the study failed twice: {one.why}")
        return [one.item for one in lost]

    pool = on_executor(executor, max(1, min(workers or cores(), len(missing))))
    hand_out([(study, one) for one in missing], run_part, pool, done=count, again=again)


def run_part(part: Part) -> None:
    """Run one part of a study in this process."""
    study, number = part
    _parts(study)[number]()


@cache
def _parts(study: Study) -> Sequence[Callable[[], object]]:
    """Created once per worker, which reads the logs for it; a worker has one study."""
    return study.parts()
