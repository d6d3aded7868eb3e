"""Predict the starts of a log's own jobs at many moments, and score them against the recorded ones.

The judge of :mod:`shadowtime.eta`: at each moment nothing is known that was not known then.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from shadowtime.cluster import Cluster
from shadowtime.cluster.site import Site
from shadowtime.eta.present import LogAt
from shadowtime.eta.ranges import Corrections, Estimate, Instant, estimates_of
from shadowtime.eta.scores import Scored
from shadowtime.eta.starts import How, draw_starts
from shadowtime.slurm.policy import SlurmPolicy
from shadowtime.workload import Workload

INSTANTS = 20
FIRST, LAST = 0.1, 0.95
"""Parts of the time of submissions between which predictions are made."""


@dataclass(frozen=True, kw_only=True)
class AtOnce:
    """The predictions of one moment with the real starts; ``never`` of them no draw starts."""

    when: int
    scored: tuple[Scored, ...]
    never: int


def predict_log(
    workload: Workload,
    machine: Cluster | Site,
    how: How,
    *,
    instants: int = INSTANTS,
    recalibrate: bool = True,
    slurm: Callable[[int], Mapping[str, int]] = lambda at: {},
) -> Iterator[AtOnce]:
    """Predictions at evenly spaced moments of a log, in their order.

    Rules
    -----
    Ranges are corrected by moments all of whose jobs have started by then. ``slurm`` gives what
    Slurm itself predicted at a time. Jobs that most draws never start are counted, not scored; when
    a job gave up is not what is predicted.

    Examples
    --------
    >>> from shadowtime.cluster.site import Node, Site
    >>> from shadowtime.workload import Workload
    >>> jobs = Workload.build(submit=[0, 5, 9], run=[40, 30, 9], procs=[4, 4, 4],
    ...     request=[60, 60, 60], recorded_start=[0, 40, 70])
    >>> site = Site(nodes=(Node(name="a", amounts=(4,)),))
    >>> found = list(predict_log(jobs, site, How(draws=9), instants=2))
    >>> [len(one.scored) for one in found]
    [0, 2]
    """
    at = LogAt(workload, machine)
    rows = {str(job): row for row, job in enumerate(workload.job_id.tolist())}
    if isinstance(how.policy, SlurmPolicy) and at.requests is not None:
        how = replace(how, policy=how.policy.measured_on(workload, machine))  # type: ignore[arg-type]
    first, last = int(workload.submit[0]), int(workload.submit[-1])
    made: list[tuple[int, Instant]] = []
    for share in np.linspace(FIRST, LAST, instants).tolist():
        when = first + round((last - first) * share)
        present = at.present(when)
        drawn = draw_starts(present, replace(how, seed=how.seed + when))
        starting = [one for one in estimates_of(drawn) if at.began[rows[one.job]]]
        plain = [one for one in starting if math.isfinite(one.latest)]
        real = [at.run_at(rows[one.job], when)[0] for one in plain]
        resolved = [one for over, one in made if over <= when]
        learned = Corrections.learn(resolved) if recalibrate else Corrections()
        final = [learned.apply(one) for one in plain]
        if plain:
            made.append((max(real), _instant(plain, [start - when for start in real])))
        theirs = slurm(present.now)
        yield AtOnce(
            when=when,
            scored=tuple(
                _scored(one, present.now, start + at.epoch, theirs.get(one.job, -1))
                for one, start in zip(final, real, strict=True)
            ),
            never=len(starting) - len(plain),
        )


def _instant(made: Sequence[Estimate], waits: Sequence[int]) -> Instant:
    return Instant(
        expected=[one.expected for one in made],
        earliest=[one.earliest for one in made],
        latest=[one.latest for one in made],
        real=waits,
    )


def _scored(one: Estimate, now: int, start: int, slurm: int) -> Scored:
    return Scored(
        job=one.job,
        at=now,
        expected=now + one.expected,
        earliest=now + one.earliest,
        latest=now + one.latest,
        start=start,
        slurm=slurm,
    )
