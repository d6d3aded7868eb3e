"""The effect of changes on a site: alone and together, compared with its replayed baseline."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Literal, cast

import numpy as np

from shadowtime.cluster import Cluster
from shadowtime.engine import simulate
from shadowtime.errors import UsageError
from shadowtime.metrics import Window, intervals
from shadowtime.metrics.groups import BY, Key, groups_of
from shadowtime.metrics.where import Where
from shadowtime.schedule import Schedule
from shadowtime.study.compare import Engine
from shadowtime.study.fan_out import fan_out
from shadowtime.study.site.changes import Change, apply_all, without_effect
from shadowtime.study.site.coverage import NotModelled, coverage
from shadowtime.study.site.options import Offer, Option, offer_of
from shadowtime.study.site.stretches import too_short
from shadowtime.study.site.trial_runs import TrialRun, trial_runs
from shadowtime.study.site.trials import Repeats, Trial, mean_of, predicted
from shadowtime.study.site.world import SiteWorld
from shadowtime.study.trust import Trust
from shadowtime.study.trust_measures import trust_of_waits
from shadowtime.types import UNKNOWN, Floats
from shadowtime.workload import Workload

SMALL = 0.01
"""Share of the response time below which a difference is too small to notice."""
NO_EFFECT = "no clear effect"
Effect = Literal["shorter", "longer", "no clear effect"]


@dataclass(frozen=True, kw_only=True)
class GroupEffect:
    """Mean waits of a group without and with a change."""

    by: str
    name: str
    jobs: int
    run_mean_s: float
    recorded_s: float
    """nan if the log has no start of these jobs."""
    baseline_s: float
    changed: intervals.Interval
    """The mean, and the range in which one real run is expected."""
    difference: intervals.Interval
    """Changed minus baseline, run by run, with the interval of its mean."""

    @property
    def effect(self) -> Effect:
        """Whether waits become shorter or longer, if that is clear."""
        small = SMALL * (self.baseline_s + self.run_mean_s)
        if not self.difference.excludes_zero or abs(self.difference.mean) < small:
            return "no clear effect"
        return "shorter" if self.difference.mean < 0 else "longer"

    def as_dict(self) -> dict[str, Any]:
        """A row of ``groups``."""
        return {
            "by": self.by,
            "name": self.name,
            "jobs": self.jobs,
            "recorded_wait_mean_s": self.recorded_s,
            "baseline_wait_mean_s": self.baseline_s,
            "changed_wait_mean_s": self.changed.mean,
            "low_s": self.changed.low,
            "high_s": self.changed.high,
            "difference_s": self.difference.mean,
            "difference_interval_s": [self.difference.low, self.difference.high],
            "effect": self.effect,
        }


@dataclass(frozen=True, eq=False, kw_only=True)
class Arm:
    """Some of the changes together, and their effect."""

    changes: tuple[Change, ...]
    groups: tuple[GroupEffect, ...]
    never_started: int
    """Jobs that start without the changes and never with them (mean over the runs, rounded)."""
    killed: int
    """Jobs that end at a lowered limit before their work is done."""
    trials: tuple[Trial, ...]
    throughput: tuple[float, float] = (math.nan, math.nan)
    """Jobs ended per day until the last recorded submission: baseline, changed."""
    name: str = ""
    """Of an option that stands beside others."""
    identical: bool = False
    """True if every job starts and ends at the same time with and without, in every run."""
    offer: Offer | None = None
    """What an option offers and costs."""

    @property
    def label(self) -> str:
        """The name, or the changes in a line."""
        return self.name or ", ".join(change.label for change in self.changes)

    @property
    def whole(self) -> GroupEffect:
        """All jobs."""
        return self.groups[0]

    def as_dict(self) -> dict[str, Any]:
        """For results."""
        named = {"option": self.name} if self.name else {}
        offered = {"offer": self.offer.as_dict()} if self.offer else {}
        return {
            **named,
            "changes": [change.label for change in self.changes],
            "identical": self.identical,
            **offered,
            "never_started": self.never_started,
            "killed": self.killed,
            "throughput_per_day": {"baseline": self.throughput[0], "changed": self.throughput[1]},
            "groups": [group.as_dict() for group in self.groups],
        }


@dataclass(frozen=True, eq=False, kw_only=True)
class WhatIf:
    """A what-if: each change alone, and all of them together."""

    world: SiteWorld
    changed: SiteWorld
    repeats: Repeats
    alone: tuple[Arm, ...]
    """One for each change where there are several; of options side by side all but the last."""
    together: Arm
    """All changes; of options side by side the last one."""
    baseline: tuple[Trial, ...]
    side_by_side: bool = False
    """True where the arms are alternatives."""
    offer: Offer | None = None
    """What the baseline offers and costs, beside options."""
    feedback: bool = False
    """True if users submit again when their jobs have ended."""
    trust: Trust | None = None
    """How far the baseline can be trusted; None where the log records no starts."""
    notes: tuple[str, ...] = field(default=())

    @property
    def not_modelled(self) -> tuple[NotModelled, ...]:
        """What the model does not know, with its share of the log."""
        return coverage(self.world.jobs, self.world.site).found

    @property
    def arms(self) -> tuple[Arm, ...]:
        """All of them."""
        return (*self.alone, self.together)

    def as_dict(self) -> dict[str, Any]:
        """What ``--json`` prints besides the names of inputs."""
        beside: dict[str, Any] = {}
        if self.side_by_side:
            offer = self.offer.as_dict() if self.offer else None
            beside = {"baseline_offer": offer, "options": [arm.as_dict() for arm in self.arms]}
        return {
            **beside,
            "identical": self.together.identical,
            "changes": [
                {"option": change.kind, "text": change.text, "label": change.label}
                for change in self.together.changes
            ],
            "runs": self.repeats.count,
            "inputs": str(self.repeats),
            "seed": self.repeats.seed,
            "groups": [group.as_dict() for group in self.together.groups],
            "never_started": self.together.never_started,
            "killed": self.together.killed,
            "throughput_per_day": {
                "baseline": self.together.throughput[0],
                "changed": self.together.throughput[1],
            },
            "feedback": self.feedback,
            "alone": [] if self.side_by_side else [arm.as_dict() for arm in self.alone],
            "notes": list(self.notes),
            "not_modelled": [one.as_dict() for one in self.not_modelled],
        }


def what_if(
    world: SiteWorld,
    changes: Sequence[Change] = (),
    *,
    options: Sequence[Option] = (),
    prices: Mapping[str, float] | None = None,
    repeats: Repeats | None = None,
    by: Sequence[str] = BY,
    where: Where | None = None,
    alone: bool = True,
    feedback: bool = False,
    engine: Engine = simulate,
    threads: int | None = None,
    advance: Callable[[], None] = lambda: None,
) -> WhatIf:
    """Simulate a site with and without changes.

    Rules
    -----
    Every run of a change sees the same copy of the log and the same offsets of passes as the
    baseline's run of that number; the difference of a group is that of its jobs which start in
    both, run by run, with Student's 95 % interval of the mean. An effect is clear if the interval
    is on one side of 0 and the difference is at least a hundredth of the mean response time.
    Groups are those of the changed site: a user who works in another QOS is counted there.
    ``feedback``: users submit their think time after their jobs have ended
    (:mod:`shadowtime.workload.follows`), in the baseline too. ``alone=False`` omits the runs of
    each single change. With ``options`` each of them is one arm beside the others, with what it
    offers and what that costs by ``prices`` of a node-hour. Runs share the log and use all cores.

    Examples
    --------
    >>> from zoneinfo import ZoneInfo
    >>> from shadowtime.cluster.site import Node, Site
    >>> from shadowtime.slurm.policy import SlurmPolicy
    >>> from shadowtime.study.site.world import SiteWorld
    >>> from shadowtime.workload import Workload
    >>> jobs = Workload.build(submit=[0, 1, 2, 3], run=[600] * 4, procs=[4] * 4)
    >>> site = Site(nodes=(Node(name="n1", amounts=(4,)),))
    >>> world = SiteWorld(site=site, jobs=jobs, policy=SlurmPolicy(), zone=ZoneInfo("UTC"))
    >>> found = what_if(world, [Change("add-nodes", "n1=3")], repeats=Repeats(phases=2))
    >>> found.together.whole.effect, round(found.together.whole.difference.mean, -2)
    ('shorter', -900.0)
    """
    runs = trial_runs(
        world, changes, options=options, repeats=repeats, alone=alone, feedback=feedback,
        engine=engine,
    )  # fmt: skip

    def counted(run: TrialRun) -> Trial:
        trial = run()
        advance()
        return trial

    first, *others = runs.all
    # The first run alone: it loads the pass, which several threads would otherwise load at once.
    made = [counted(first), *fan_out([partial(counted, run) for run in others], threads=threads)]
    count = runs.repeats.count
    baseline = made[:count]
    arms = [
        _arm(world.jobs, chosen, baseline, made[at * count : (at + 1) * count], by, where)
        for at, chosen in enumerate(runs.sets)
        if at
    ]
    changed = apply_all(world, runs.sets[-1])
    if options:
        arms = [
            replace(
                arm,
                name=option.name,
                offer=offer_of(apply_all(world, arm.changes).site, arm.trials, prices or {}),
            )
            for arm, option in zip(arms, options, strict=True)
        ]
    return WhatIf(
        world=world,
        changed=changed,
        repeats=runs.repeats,
        alone=tuple(arms[:-1]),
        together=arms[-1],
        baseline=tuple(baseline),
        side_by_side=bool(options),
        offer=offer_of(world.site, baseline, prices or {}) if options else None,
        feedback=feedback,
        trust=None if feedback else _trust(world, baseline, runs.repeats),
        notes=(
            *too_short(runs.repeats.stretches, world.jobs, [trial.waits for trial in baseline]),
            *(
                note
                for chosen in ([one.changes for one in options] or [tuple(changes)])
                for note in without_effect(apply_all(world, chosen), chosen)
            ),
        ),
    )


def _arm(
    log: Workload,
    changes: tuple[Change, ...],
    baseline: Sequence[Trial],
    trials: Sequence[Trial],
    by: Sequence[str],
    where: Where | None = None,
) -> Arm:
    rows: dict[Key, list[tuple[int, float, float, float]]] = {}
    lost = 0
    for before, after in zip(baseline, trials, strict=True):
        old = before.waits_of(after.workload)
        both = ~np.isnan(old) & ~np.isnan(after.waits)
        lost += int((~np.isnan(old) & np.isnan(after.waits)).sum())
        run = after.workload.effective_run
        only = where.mask(after.workload) if where else None
        for group in groups_of(after.workload, by, only=only):
            members = group.members & both
            if bool(members.any()):
                means = mean_of(old[members]), mean_of(after.waits[members])
                rows.setdefault(group.key, []).append(
                    (int(members.sum()), *means, float(run[members].mean()))
                )
    if not rows:
        label = ", ".join(change.label for change in changes)
        raise UsageError(
            f"no job starts both with and without {label}: there is nothing to compare"
        )
    recorded = _recorded(log, trials, by, where)
    groups = []
    for key, found in rows.items():
        jobs, olds, news, runs = zip(*found, strict=True)
        length = float(np.mean(runs))
        changed = predicted(news, length)
        difference = intervals.interval(np.subtract(news, olds))
        mean = float(np.subtract(news, olds).mean())
        assert changed is not None
        groups.append(
            GroupEffect(
                by=key[0],
                name=key[1],
                jobs=round(float(np.mean(jobs))),
                run_mean_s=length,
                recorded_s=recorded.get(key, math.nan),
                baseline_s=float(np.mean(olds)),
                changed=changed,
                difference=difference or intervals.Interval(mean, -math.inf, math.inf, len(found)),
            )
        )
    order = {kind: place for place, kind in enumerate(by)}
    groups.sort(key=lambda group: order[group.by])
    last = trials[0].workload
    stopped = (last.run > last.limit) & trials[0].counted
    was = (baseline[0].workload.run > baseline[0].workload.limit) & baseline[0].counted
    return Arm(
        changes=changes,
        groups=tuple(groups),
        never_started=round(lost / len(trials)),
        killed=max(0, int(stopped.sum()) - int(was.sum())),
        trials=tuple(trials),
        throughput=(_rate(baseline, log), _rate(trials, log)),
        identical=all(map(_same, baseline, trials)),
    )


def _same(before: Trial, after: Trial) -> bool:
    """Whether two runs start and end every job at the same time."""
    old, new = before.schedule, after.schedule
    return np.array_equal(old.job_id, new.job_id) and all(
        np.array_equal(getattr(old, name), getattr(new, name)) for name in ("start", "end")
    )


def _trust(world: SiteWorld, baseline: Sequence[Trial], repeats: Repeats) -> Trust | None:
    """The verdict on the baseline: on all runs, or the first where others have other jobs."""
    first = baseline[0]
    log = world.jobs if first.stretch is None else first.workload
    same = baseline[:1] if repeats.stretches or repeats.resample else baseline
    waits = np.stack([trial.waits_of(log) for trial in same])
    which = (log.recorded_start != UNKNOWN) & ~np.isnan(waits).all(axis=0)
    if not bool(which.any()):
        return None
    return trust_of_waits(
        log, cast("Cluster", world.site), Schedule.recorded(log), first.schedule, waits,
        which=which, policy=str(getattr(world.policy, "name", "")), window=Window.all(),
    )  # fmt: skip


def _rate(trials: Sequence[Trial], log: Workload) -> float:
    """Jobs completed per day until the log's last submission, the same time for every change: a
    faster site has completed more by then."""
    until = int(log.submit[-1])
    done = [float((one.counted & (one.schedule.end <= until)).sum()) for one in trials]
    days = [max((until - int(one.workload.submit.min())) / 86_400, 1e-9) for one in trials]
    return float(np.mean(np.array(done) / days))


def _recorded(
    log: Workload, trials: Sequence[Trial], by: Sequence[str], where: Where | None
) -> dict[Key, float]:
    """Recorded mean waits of the groups as they are after the change."""
    place = {job: row for row, job in enumerate(log.job_id.tolist())}
    found: dict[Key, list[Floats]] = {}
    parts = {trial.stretch: trial for trial in reversed(trials)}  # one of each part of the log
    for trial in parts.values():
        rows = np.array([place.get(job, -1) for job in trial.workload.job_id.tolist()])
        known = (rows >= 0) & (log.recorded_start[rows] != UNKNOWN)
        if trial.stretch is not None:
            known &= trial.stretch.counts(trial.workload)
        wait = (log.recorded_start - log.submit)[rows]
        only = where.mask(trial.workload) if where else None
        for group in groups_of(trial.workload, by, only=only):
            members = group.members & known
            if bool(members.any()):
                found.setdefault(group.key, []).append(wait[members])
    return {key: float(np.concatenate(waits).mean()) for key, waits in found.items()}
