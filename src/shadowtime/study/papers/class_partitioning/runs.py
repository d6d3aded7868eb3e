"""What is run: a month on its machines under every policy, what each run finds, and claims by it.

A month runs on the whole machine, on its shared part, and with no job alone on a host. A run is
measured by the waits and slowdowns of all jobs and of classes of them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np

from shadowtime.cluster import Cluster, examples
from shadowtime.engine import simulate
from shadowtime.metrics import Classes, Window, by_classes, classify, intervals, times_up_to
from shadowtime.policy import parse_policy
from shadowtime.study.papers.reproduction import Runs, Subject, SubjectRun, Task
from shadowtime.study.papers.values import Estimate, Published
from shadowtime.types import Ints
from shadowtime.workload import Workload, o2k, o2k_draw

MONTH_NAMES = dict(zip(("Dec02", "Jan03", "Feb03", "Mar03"), o2k_draw.MONTHS, strict=True))
"""The paper's names of the months, and the generator's."""

HEAVY = ("Jan03", "Feb03")
LATER = ("Jan03", "Feb03", "Mar03")
"""The months of 2003."""

DEPTHS = (1, 2, 4, 10, 15, 20, 25, 40)
"""Numbers of reservations: those of Figure 2 and of the text."""

ORDERS = {"LXF&W": "lxfw", "FCFS": "easy", "LXF&W&P": "lxfwp", "LPF": "lpf"}
"""The paper's orders and the policies that have them."""

STAR = {"Dec02": 25, "Jan03": 10, "Feb03": 10, "Mar03": 10}
"""Reservations of single-class*: the best by the paper."""

SINGLE = "single-class*"
L_SM_5, L_SM_50 = "part-L/SM(3H,5h)", "part-L/SM(3H,50h)"
L_A_5, L_A_50 = "part-L/A(2H,5h)", "part-L/A(3H,50h)"
PARTITIONED = {
    L_SM_5: "part-l-sm(hosts=3, hours=5)",
    L_SM_50: "part-l-sm(hosts=3, hours=50)",
    L_A_5: "part-l-a(hosts=2, hours=5)",
    L_A_50: "part-l-a(hosts=3, hours=50)",
}
ONCE = "part-l-sm(hosts=3, hours=50, times=1)"
"""part-L/SM(3H,50h) with reservations in class one up to once each host's resources."""


def with_depth(order: str, depth: int) -> str:
    """An order with K reservations.

    Examples
    --------
    >>> with_depth("LXF&W", 10), with_depth("FCFS", 1)
    ('lxfw(reserve=10)', 'easy(reserve=1)')
    """
    return f"{ORDERS[order]}(reserve={depth})"


def policy_of(name: str, month: str) -> str:
    """The text of a policy under the paper's name; single-class* differs from month to month.

    Examples
    --------
    >>> policy_of("single-class*", "Dec02"), policy_of("part-L/A(2H,5h)", "Dec02")
    ('lxfw(reserve=25)', 'part-l-a(hosts=2, hours=5)')
    """
    return with_depth("LXF&W", STAR[month]) if name == SINGLE else PARTITIONED[name]


WHOLE = "whole"
"""All jobs on the twelve hosts; dedicated jobs take a whole host."""
SPACE_SHARED = "space-shared"
"""The same, but dedicated jobs share hosts by what they ask for."""
SHARED_JOBS = "shared jobs"
"""Jobs of at most 64 processors on the nine hosts that are not for dedicated ones."""

FOR_DEDICATED = 3


@dataclass(frozen=True, eq=False, kw_only=True)
class World:
    """A workload on a machine; jobs of the month itself are scored."""

    workload: Workload
    cluster: Cluster
    window: Window


@dataclass(frozen=True, eq=False, kw_only=True)
class DrawnMonth:
    """One draw of a month in its three worlds, and how it compares with the paper's tables."""

    worlds: dict[str, World]
    check: o2k.O2kCheck


def draw_month(month: str, seed: int) -> DrawnMonth:
    """A month between the ends of its neighbours.

    Examples
    --------
    >>> drawn = draw_month("Feb03", 1)
    >>> [len(world.cluster.hosts) for world in drawn.worlds.values()]
    [12, 12, 9]
    """
    drawn = o2k.o2k_workload(MONTH_NAMES[month], seed=seed)
    jobs, machine = drawn.workload, examples.example("o2k")
    window = Window(since=drawn.window[0], until=drawn.window[1])
    sharing = machine.replace(options={**machine.options, "dedicated_exclusive": False})
    rest = machine.replace(hosts=machine.hosts[FOR_DEDICATED:])
    narrow = jobs.take(jobs.procs <= o2k_draw.SHARED_PROCS)
    return DrawnMonth(
        worlds={
            WHOLE: World(workload=jobs, cluster=machine, window=window),
            SPACE_SHARED: World(workload=jobs, cluster=sharing, window=window),
            SHARED_JOBS: World(workload=narrow, cluster=rest, window=window),
        },
        check=drawn.check,
    )


def subjects() -> list[Subject]:
    """The months as the report and the result folder know them: the first draw of each."""
    found = []
    for month in MONTH_NAMES:
        world = draw_month(month, 1).worlds[WHOLE]
        found.append(Subject(label=month, workload=world.workload, cluster=world.cluster))
    return found


ALL, SMALL, MEDIUM, LARGE = "all", "small", "medium", "large"
GROUPS = (ALL, SMALL, MEDIUM, LARGE)

MINUTE, HOUR = 60, 3600
TIMES = (10 * MINUTE, HOUR, 5 * HOUR, 20 * HOUR, 50 * HOUR, 200 * HOUR)
"""Ranges of requested and actual run time end with these; the paper does not give its own."""
SIZES = (1, 2, 4, 8, 16, 32, 64)
"""Ranges of processors, as in Table 4."""

BY_SIZE, BY_REQUEST, BY_RUN = "processors", "requested run time", "actual run time"
MEASURES = ("wait_mean_s", "wait_p95_s", "wait_max_s", "slowdown_mean", "bsld60_mean")


@dataclass(frozen=True, eq=False, kw_only=True)
class Outcome:
    """What is measured of one run, by kind of class and class."""

    groups: Mapping[tuple[str, str], Mapping[str, float]]
    start: Ints | None = None
    run: SubjectRun | None = None
    """The starts and the schedule where they are kept."""


def outcome(world: World, policy: str, *, starts: bool = False, keep: bool = False) -> Outcome:
    """Simulate and measure; ``starts`` keeps the starts, ``keep`` the schedule too."""
    jobs, cluster, window = world.workload, world.cluster, world.window
    schedule = simulate(jobs, cluster, parse_policy(policy))
    all_jobs = Classes(np.zeros(len(jobs), np.int64), (ALL,))
    kinds = {
        ALL: all_jobs,
        "width": classify(jobs, "width"),
        BY_SIZE: classify(jobs, "size", edges=SIZES),
        BY_REQUEST: times_up_to(jobs.request, TIMES),
        BY_RUN: times_up_to(jobs.effective_run, TIMES),
    }
    groups = {
        (kind, row.label): {name: row.metrics[name] for name in MEASURES}
        for kind, classes in kinds.items()
        for row in by_classes(schedule, jobs, classes, kind=kind, window=window)
    }
    kept = SubjectRun.of(policy, schedule, jobs, cluster, window=window) if keep else None
    return Outcome(groups=groups, start=schedule.start if starts else None, run=kept)


QUICK_DEPTHS = (1, 10, 25)


@dataclass(frozen=True, eq=False)
class MonthRuns:
    """What one draw of a month gave: outcomes by world and policy, and the month beside Table 4."""

    outcomes: Mapping[tuple[str, str], Outcome]
    check: o2k.O2kCheck


@dataclass(frozen=True, eq=False, kw_only=True)
class Findings:
    """Everything measured, by month and seed."""

    subjects: tuple[Subject, ...]
    seeds: tuple[int, ...]
    depths: tuple[int, ...]
    months: Mapping[tuple[str, int], MonthRuns]

    def values(
        self,
        month: str,
        policy: str,
        metric: str,
        group: str = ALL,
        *,
        kind: str = "width",
        world: str = WHOLE,
    ) -> list[float]:
        """A metric of a class of jobs for every seed; nan where a draw has no such job."""
        key = (ALL if group == ALL else kind, group)
        found = []
        for seed in self.seeds:
            groups = self.months[month, seed].outcomes[world, policy].groups
            found.append(groups.get(key, {}).get(metric, math.nan))
        return found

    def hours(self, month: str, policy: str, metric: str, group: str = ALL, **of: str) -> float:
        """Its mean over the seeds, from seconds to hours."""
        return self.mean(month, policy, metric, group, **of) / 3600

    def mean(self, month: str, policy: str, metric: str, group: str = ALL, **of: str) -> float:
        """Its mean over the seeds that have such jobs."""
        known = Estimate.of(self.values(month, policy, metric, group, **of))
        return known.mean if known else math.nan

    def checks(self, month: str) -> list[o2k.O2kCheck]:
        """The month's draws beside the paper's tables."""
        return [self.months[month, seed].check for seed in self.seeds]

    def labels(self, kind: str) -> list[str]:
        """The classes of a kind, in their order."""
        found: dict[str, None] = {}
        for runs in self.months.values():
            groups = next(iter(runs.outcomes.values())).groups
            found |= dict.fromkeys(label for of, label in groups if of == kind)
        return list(found)


def runs(
    subjects: tuple[Subject, ...], seeds: tuple[int, ...], depths: tuple[int, ...] = DEPTHS
) -> Runs:
    """Four months, a draw of each for every seed."""
    return Runs(
        tasks={
            (month, seed): Task(
                name=f"{month}, draw {seed}", work=partial(month_runs, month, seed, depths)
            )
            for seed in seeds
            for month in MONTH_NAMES
        },
        collect=lambda results: Findings(
            subjects=subjects, seeds=seeds, depths=depths, months=results
        ),
    )


def policies_of(depths: tuple[int, ...]) -> list[tuple[str, str]]:
    """World and policy of every run on a draw of a month."""
    single = [with_depth(order, depth) for order in ORDERS for depth in depths]
    plain = [with_depth("LXF&W", depth) for depth in depths]
    few = [with_depth("LXF&W", depth) for depth in QUICK_DEPTHS]
    parted = list(PARTITIONED.values())
    return [
        *((WHOLE, policy) for policy in (*single, *parted, ONCE)),
        *((SPACE_SHARED, policy) for policy in (*few, *parted)),
        *((SHARED_JOBS, policy) for policy in plain),
    ]


def month_runs(month: str, seed: int, depths: tuple[int, ...]) -> MonthRuns:
    """All runs on one draw of a month; of the first draw the main schedules are kept."""
    drawn = draw_month(month, seed)
    named = [policy_of(SINGLE, month), *PARTITIONED.values()]
    found = {
        (world, policy): outcome(
            drawn.worlds[world],
            policy,
            starts=world == WHOLE and policy in (ONCE, PARTITIONED[L_SM_50]),
            keep=world == WHOLE and seed == 1 and policy in named,
        )
        for world, policy in policies_of(depths)
    }
    return MonthRuns(found, drawn.check)


SAME = 0.10
"""Up to this share above is 'the same'; within it is 'about equal'."""
MUCH = 0.25
"""At least this share lower is 'greatly lower', higher is 'poor'."""

READINGS = {"dedicated jobs take a whole host": WHOLE, "dedicated jobs share hosts": SPACE_SHARED}


def excess(ours: float, theirs: float) -> float:
    """How much more one is than the other, as a share of the other.

    Examples
    --------
    >>> excess(3.0, 2.0), excess(0.0, 0.0), excess(1.0, 0.0)
    (0.5, 0.0, inf)
    """
    if theirs == 0:
        return math.inf if ours > 0 else 0.0
    return ours / theirs - 1


@dataclass(frozen=True)
class Judge:
    """The findings and the published claims."""

    found: Findings
    published: dict[str, Published]

    def change(
        self, month: str, name: str, base: str, metric: str, group: str = ALL, world: str = WHOLE
    ) -> float:
        """How much higher a metric's mean is under a policy than under another, as a share."""
        ours = self.found.mean(month, policy_of(name, month), metric, group, world=world)
        theirs = self.found.mean(month, policy_of(base, month), metric, group, world=world)
        return excess(ours, theirs)

    def described(
        self, month: str, name: str, base: str, metric: str, group: str = ALL, world: str = WHOLE
    ) -> str:
        """The same in words, with the 95 % interval of the difference draw by draw."""
        ours = self.found.values(month, policy_of(name, month), metric, group, world=world)
        theirs = self.found.values(month, policy_of(base, month), metric, group, world=world)
        scale, unit = (1 / 3600, " h") if metric.endswith("_s") else (1.0, "")
        means = [scale * sum(column) / len(column) for column in (ours, theirs)]
        text = f"{month} {means[0]:.2f} against {means[1]:.2f}{unit}"
        between = intervals.paired(ours, theirs)
        if between is None:
            return text
        low, high = scale * between.low, scale * between.high
        return f"{text} (difference {low:+.2f} to {high:+.2f})"

    def all_months(self, *asked: str, by: str = "; ") -> str:
        """The same for every month."""
        return by.join(self.described(month, *asked) for month in MONTH_NAMES)

    def each(self, values: Callable[[str], float], form: str, months: Iterable[str] = ()) -> str:
        """A value for every month."""
        return ", ".join(
            f"{month} {format(values(month), form)}" for month in (tuple(months) or MONTH_NAMES)
        )
