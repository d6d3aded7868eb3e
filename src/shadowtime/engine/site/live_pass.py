"""One decision on a site: what starts now, where, and what every job is promised.

The live loop's entry to the same passes that simulate uses.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from shadowtime.cluster.site import Site
from shadowtime.engine.estimates import known_at_submission
from shadowtime.engine.events import ROOM_NEEDED
from shadowtime.engine.failures import refuse_failed
from shadowtime.engine.site.asks import Asks, asks_of
from shadowtime.engine.site.entering import seat
from shadowtime.engine.site.gone import note_gone_at
from shadowtime.engine.site.plan import in_python, prepare
from shadowtime.engine.site.plans import (
    Freed,
    Plans,
    RunsByRow,
    SiteJobs,
    Verdict,
    everything,
    joined,
)
from shadowtime.engine.site.run_tables import empty_state, with_more_room
from shadowtime.engine.site.tables import build_ground
from shadowtime.errors import PolicyError, UsageError
from shadowtime.kernel import fields as columns
from shadowtime.kernel.registers import ARRIVED, DECISIONS, FRESH, NEVER, NOW, VOLATILE, WAKE
from shadowtime.kernel.site import fields as f
from shadowtime.kernel.state import State, World
from shadowtime.policy import Policy
from shadowtime.types import Ints, Reason
from shadowtime.workload.site_requests import requests_of

Decider = Callable[["State", "World", "f.Ground"], "dict[int, int]"]
"""Makes a pass on filled tables; returns which rows it stopped, with the row started next or -1."""


def decide_site(
    policy: Policy,
    site: Site,
    snapshot: SiteJobs,
    *,
    effort: int | None = None,
    by: Decider | None = None,
) -> Verdict:
    """One pass of a policy over a snapshot.

    Rules
    -----
    ``effort`` bounds the sweep of kept promises, which otherwise takes seconds with 10,000 of them:
    that many entries of ``freed`` are examined (a search for an earlier start counts as 1,000), in
    queue order. Jobs behind start now if they fit beside all plans; the next decision, to be made a
    second later, goes on where this one stopped. ``by`` decides in place of the policy's parts (a
    policy written in Python), of which the order of the queue, the estimates and the place rule are
    taken then.

    Examples
    --------
    >>> from shadowtime.cluster.site import Node, Site
    >>> from shadowtime.engine.site.plans import Run
    >>> from shadowtime.policy import parse_policy
    >>> from shadowtime.workload import Workload
    >>> site = Site(nodes=(Node(name="a", amounts=(4,)), Node(name="b", amounts=(2,))))
    >>> jobs = Workload.build(submit=[0, 1, 2], run=[9, 5, 4], procs=[4, 6, 2])
    >>> seen = SiteJobs(now=2, jobs=jobs, running={0: Run(start=0, tasks={"a": 4})})
    >>> decide_site(parse_policy("easy"), site, seen).starts
    {2: Run(start=2, tasks={'b': 2}, partition='')}
    """
    workload = snapshot.jobs
    if policy.order.by_usage:
        raise PolicyError(
            f"{policy.name}: order={policy.order.name} follows usage through a whole run, which a "
            "single decision does not have; use another order live"
        )
    requests = requests_of(workload, site)
    known = known_at_submission(policy.estimate, workload)
    if known.learner and not snapshot.estimates and len(workload):
        raise UsageError(f"{policy.name}: a single decision has no history to learn from")
    estimate = known.estimate.copy()
    estimate[list(snapshot.estimates)] = list(snapshot.estimates.values())
    if by is None and not policy.reserve.sunny:
        made = prepare(policy, site, workload, effort=effort or 0)
    else:
        made = in_python(policy, site, workload)
    own = made.own
    asks = asks_of(workload, site, requests, running=snapshot.running, classes=made.classes)
    state, world = empty_state(workload, site, asks, estimate, 0)
    ground, node_at = build_ground(workload, site, requests, asks, made)
    state.reg[NOW] = snapshot.now
    state.reg[[ARRIVED, FRESH]] = len(workload)
    state.reg[WAKE] = NEVER
    state.reg[VOLATILE] = not known.safe
    for row, since in snapshot.blocked.items():
        state.job[row, columns.BLOCKED_AT] = since
    for row, first in snapshot.promised.items():
        state.job[row, columns.PROMISED] = first
    runs, promises = RunsByRow.of(snapshot.running), RunsByRow.of(snapshot.promises)
    ground = with_places(ground, site, asks, node_at, snapshot, runs, promises)
    ground = with_gains(ground, site, node_at, snapshot)
    waits = np.ones(len(workload), np.bool_)
    waits[runs.rows] = False
    note_gone_at(ground, snapshot.now)
    # The steps of a node are a list that is walked from its begin: the last promise goes in first.
    due = _pairs(promises)
    seat(
        state,
        ground,
        _pairs(runs),
        np.flatnonzero(waits),
        due[np.argsort(-due[:, 1], kind="stable")],
    )
    ground.job[list(snapshot.withdrawn), f.WITHDRAWN] = ground.mark[f.LEFT] + 1
    before = ground.job[:, [f.DUE, f.PLACE_FROM]].copy()
    if made.run is None:
        from shadowtime.engine.site.venture import decide_venture

        state, ground = with_more_room(state, ground)
        decide_by = by or partial(decide_venture, policy, own)
        stops = decide_by(state, world, ground)
        refuse_failed(policy, state, own, workload)
        return replace(verdict(site, asks, state, ground, node_at, snapshot, before), stops=stops)
    arguments = made.arguments(ground)
    while made.decide_once(state, ground, *arguments) == ROOM_NEEDED:
        state, ground = with_more_room(state, ground)
    refuse_failed(policy, state, own, workload)
    found = verdict(site, asks, state, ground, node_at, snapshot, before)
    return replace(found, unfinished=made.unfinished(arguments))


def _pairs(runs: RunsByRow) -> Ints:
    return np.column_stack((runs.rows, runs.plans.start))


def with_places(
    ground: f.Ground,
    site: Site,
    asks: Asks,
    node_at: Ints,
    snapshot: SiteJobs,
    runs: RunsByRow,
    promises: RunsByRow,
) -> f.Ground:
    """Enter where jobs run or are promised to run."""
    names = tuple([site.nodes[i].name for i in node_at.tolist()])
    rows = np.concatenate((runs.rows, promises.rows))
    first, counts, nodes, tasks = joined([one.plans.on(names) for one in (runs, promises)])
    if (nodes < 0).any():
        strange = int(rows[np.repeat(np.arange(len(rows)), counts)[nodes < 0][0]])
        held = (runs if strange in runs else promises)[strange]
        node = next(name for name in held.tasks if name not in names)
        raise UsageError(
            f"job {snapshot.jobs.job_id[strange]} runs on node {node}, which the site does not have"
        )
    ground.job[rows, f.PLACE_FROM] = first
    ground.job[rows, f.PLACE_COUNT] = counts
    ground.job[rows, f.ALT] = alternatives_of(ground, asks, snapshot, rows, counts, nodes)
    # Every place may cut its node's steps twice, and every waiting job may be planned again.
    wide = 3 * int(ground.job[:, f.WIDTH].sum()) + 256
    place = np.empty(len(ground.place) + len(nodes) + wide, np.int64)
    place[: len(nodes)] = nodes << 32 | tasks
    ground.mark[f.ENTRIES] = len(nodes)
    more = (1 + int(ground.mark[f.AMOUNTS])) * (2 * len(nodes) + wide)
    step = np.empty((len(ground.step) + more, ground.step.shape[1]), np.int64)
    used = int(ground.mark[f.STEPS_USED])
    step[:used] = ground.step[:used]
    ground.mark[f.STEPS_SPARE] += more
    gain = np.empty((len(ground.gain) + wide if ground.mark[f.KEEPS] else 1, 3), np.int64)
    return ground._replace(place=place, step=step, gain=gain)


def alternatives_of(
    ground: f.Ground,
    asks: Asks,
    snapshot: SiteJobs,
    rows: Ints,
    counts: Ints,
    nodes: Ints,
) -> Ints:
    """The first alternative of each job whose nodes are among those that it holds."""
    found: Ints = np.full(len(rows), -1, np.int64)
    job = np.repeat(np.arange(len(rows)), counts)
    ask = ground.ask[asks.of_job[rows]]
    tried = ask[:, 0].copy()
    open_ = np.flatnonzero(tried < ask[:, 1])
    while len(open_):
        mask = np.full(len(rows), -1, np.int64)
        mask[open_] = ground.shape[ground.alt[tried[open_], f.ALT_SHAPE], f.MASK]
        covers = mask >= 0
        covers[job[ground.bits[mask[job], nodes] == 0]] = False
        covers &= found < 0
        found[covers] = tried[covers]
        tried += 1
        open_ = np.flatnonzero((found < 0) & (tried < ask[:, 1]))
    if (found < 0).any():
        row = int(rows[found < 0][0])
        raise UsageError(
            f"job {snapshot.jobs.job_id[row]} holds nodes outside its partitions: "
            f"{', '.join({**snapshot.running, **snapshot.promises}[row].tasks)}"
        )
    return found


def with_gains(ground: f.Ground, site: Site, node_at: Ints, snapshot: SiteJobs) -> f.Ground:
    """Enter what came free since the promises were made."""
    if not ground.mark[f.KEEPS]:
        return ground
    freed = [everything(site, snapshot.now)] if snapshot.freed is None else snapshot.freed
    row_of = {site.nodes[i].name: at for at, i in enumerate(node_at.tolist())}
    rows, behind = [], [0]
    for one in freed:
        rows += [(row_of[name], one.begin, one.end) for name in one.nodes if name in row_of]
        behind.append(len(rows))
    for row, count in snapshot.asked.items():
        ground.job[row, f.ASKED] = behind[count]
    gain = np.empty((len(ground.gain) + len(rows), 3), np.int64)
    gain[: len(rows)] = np.array(rows, np.int64).reshape(-1, 3)
    ground.mark[f.GAINS] = len(rows)
    fresh = len(freed) > max(snapshot.asked.values(), default=0)
    ground.mark[f.EARLY] = fresh or snapshot.unfinished
    return ground._replace(gain=gain)


def verdict(
    site: Site,
    asks: Asks,
    state: State,
    ground: f.Ground,
    node_at: Ints,
    snapshot: SiteJobs,
    before: Ints,
) -> Verdict:
    """What the pass decided, by names; ``before``: due and place of each job before the pass."""

    names = tuple([site.nodes[i].name for i in node_at.tolist()])
    partitions = tuple([one.name for one in site.partitions]) or ("",)
    partition_of = np.array([one.partition for one in asks.shapes] or [0], np.int64)

    def runs_of(rows: Ints, starts: Ints) -> RunsByRow:
        where = ground.job[rows][:, [f.PLACE_FROM, f.PLACE_COUNT, f.SHAPE]]
        plans = Plans(
            start=starts,
            partition=partition_of[where[:, 2]],
            first=where[:, 0],
            width=where[:, 1],
            node=ground.place,
            tasks=ground.place,
            names=names,
            partitions=partitions,
        ).take(np.arange(len(rows)))
        return RunsByRow(
            rows, plans._replace(node=plans.node >> 32, tasks=plans.tasks & 0xFFFFFFFF)
        )

    now = int(state.reg[NOW])
    started = state.did[columns.WHICH, : int(state.reg[DECISIONS])].astype(np.int64)
    due = ground.job[:, f.DUE]
    promised = np.flatnonzero(due < NEVER) if ground.mark[f.KEEPS] else np.empty(0, np.int64)
    same = (ground.job[:, [f.DUE, f.PLACE_FROM]] == before).all(axis=1)
    begun = runs_of(started, np.full(len(started), now))
    promises = runs_of(promised, due[promised])
    promises = with_old_partitions(promises, RunsByRow.of(snapshot.promises), same)
    wake = int(state.reg[WAKE])
    freed, asked = what_is_left(ground, names, promised)
    withdrawn = np.flatnonzero(ground.job[:, f.WITHDRAWN] == ground.mark[f.LEFT] + 1)
    return Verdict(
        starts=dict(zip(started.tolist(), begun.plans.runs(), strict=True)),
        reasons={row: Reason(int(state.job[row, columns.REASON])) for row in started.tolist()},
        promises=promises,
        wake=wake if wake < NEVER else None,
        freed=freed,
        asked=asked,
        withdrawn=frozenset(withdrawn.tolist()),
        blocked=noted(state, columns.BLOCKED_AT),
        earliest={
            row: start
            for row, start in noted(state, columns.PROMISED).items()
            if row not in snapshot.promised
        },
        nowhere=fit_nowhere(asks, ground, snapshot),
    )


def with_old_partitions(promises: RunsByRow, given: RunsByRow, same: Any) -> RunsByRow:
    """Promises that stay as they were given stay in the partition in which they were given."""
    place = np.full(len(same), -1, np.int64)
    place[given.rows] = np.arange(len(given.rows))
    place[~same] = -1
    kept = place[promises.rows]
    plans, old = promises.plans, given.plans
    partitions = tuple(dict.fromkeys((*plans.partitions, *old.partitions)))
    number = np.array([partitions.index(name) for name in old.partitions] or [0], np.int64)
    within = plans.partition.copy()
    within[kept >= 0] = number[old.partition[kept[kept >= 0]]]
    return RunsByRow(promises.rows, plans._replace(partition=within, partitions=partitions))


def noted(state: State, column: int) -> dict[int, int]:
    """The values of a column by row, without those that are -1."""
    rows = np.flatnonzero(state.job[:, column] >= 0)
    return dict(zip(rows.tolist(), state.job[rows, column].tolist(), strict=True))


def fit_nowhere(asks: Asks, ground: f.Ground, snapshot: SiteJobs) -> list[int]:
    """Waiting jobs none of whose alternatives fits on the nodes that are not closed for good."""
    fits = ground.shape[:, f.PLACEABLE] != 0
    lost = np.array([not any(fits[alt.shape] for alt in each) for each in asks.each] or [False])
    rows = np.flatnonzero(lost[asks.of_job]).tolist()
    return [row for row in rows if row not in snapshot.running]


def what_is_left(
    ground: f.Ground, names: Sequence[str], promised: Ints
) -> tuple[list[Freed], dict[int, int]]:
    """What not every promise has been compared with: the log of gains, and how far each is."""
    since = int(ground.mark[f.GAINS_FROM])
    asked = ground.job[promised, f.ASKED] - since
    rows = ground.gain[: int(ground.mark[f.GAINS]) - since].tolist()
    freed = [Freed(nodes=(names[node],), begin=begin, end=end) for node, begin, end in rows]
    return freed, dict(zip(promised.tolist(), asked.tolist(), strict=True)) if freed else {}
