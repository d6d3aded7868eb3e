"""The tables of a run on a site before, during and after it: room, and the schedule."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np

from shadowtime.cluster.site import Site
from shadowtime.engine.estimates import known_at_submission
from shadowtime.engine.run_tables import as_schedule, attempts_of
from shadowtime.engine.site.asks import Asks, asks_of
from shadowtime.engine.site.gone import note_gone_at
from shadowtime.engine.site.tables import build_ground
from shadowtime.engine.site.world import Events, build_events
from shadowtime.kernel import fields as columns
from shadowtime.kernel.registers import ATTEMPTS, CLAMPED, NEVER, RUNNING, SLIPPED, VOLATILE
from shadowtime.kernel.site import fields as f
from shadowtime.kernel.slots import BEGIN
from shadowtime.kernel.state import State, World, build
from shadowtime.policy.estimate import Estimate
from shadowtime.schedule import Schedule
from shadowtime.schedule.places import SitePlaces
from shadowtime.types import Ints, Reason
from shadowtime.workload import Workload
from shadowtime.workload.site_requests import requests_of

if TYPE_CHECKING:
    from shadowtime.engine.site.plan import Prepared


class PreparedRun(NamedTuple):
    """Everything a run works on, before its first instant."""

    state: State
    world: World
    ground: f.Ground
    events: Events
    asks: Asks
    node_at: Ints
    """The site's node at each row of the table of nodes."""
    volatile: bool
    """True if jobs may outlive their estimates."""


def prepared_run(
    workload: Workload,
    site: Site,
    estimate: Estimate,
    chosen: Prepared,
) -> PreparedRun:
    """The tables of a run of a workload on a site."""
    requests = requests_of(workload, site)
    known = known_at_submission(estimate, workload)
    asks = asks_of(workload, site, requests, classes=chosen.classes)
    state, world = empty_state(workload, site, asks, known.estimate, known.learner)
    state.reg[VOLATILE] = not known.safe
    state.reg[CLAMPED] = known.clamped
    ground, node_at = build_ground(workload, site, requests, asks, chosen)
    holds_back = bool(chosen.own.bits & 1 << BEGIN)
    events = build_events(workload, site, requests, ground, state, node_at, holds_back=holds_back)
    note_gone_at(ground, int(workload.submit[0]) if len(workload) else 0)
    return PreparedRun(state, world, ground, events, asks, node_at, not known.safe)


def empty_state(
    workload: Workload, site: Site, asks: Asks, estimate: Ints, learner: int
) -> tuple[State, World]:
    """The tables that runs on every machine share; the site counts as one host of its totals."""
    totals = tuple(site.total.values())
    whole = SimpleNamespace(
        hosts=(SimpleNamespace(capacity=totals),), resources=("procs", *site.resources[1:])
    )
    state, world = build(workload, cast("Any", whole), estimate=estimate, learner=learner)
    asked = np.zeros((len(asks.each) + 1, len(totals)), np.int64)
    for row, alternatives in enumerate(asks.each):
        if alternatives:
            asked[row] = asks.shapes[alternatives[0].shape].asked
    needs = asked[asks.of_job]
    has_shape = needs[:, 0] > 0
    state.job[has_shape, columns.NEED :] = needs[has_shape]
    return state, world


def with_more_room(state: State, ground: f.Ground) -> tuple[State, f.Ground]:
    """Let every table that may run full in the next pass grow; the others stay as they are."""
    mark = ground.mark
    held = int(mark[f.HELD])
    more = 8 * int(mark[f.WIDE]) + 2 * held + 256
    steps = (1 + int(mark[f.AMOUNTS])) * more
    if state.reg[ATTEMPTS] + state.reg[RUNNING] > state.tried.shape[1]:
        tried = np.zeros((columns.TRIED, 2 * state.tried.shape[1] + 16), np.int64)
        tried[:, : state.tried.shape[1]] = state.tried
        state = state._replace(tried=tried)
    if mark[f.STEPS_SPARE] < steps:
        step = np.empty((len(ground.step) * 3 // 2 + steps, ground.step.shape[1]), np.int64)
        used = int(mark[f.STEPS_USED])
        step[:used] = ground.step[:used]
        mark[f.STEPS_SPARE] += len(step) - len(ground.step)
        ground = ground._replace(step=step)
    if mark[f.ENTRIES] + more > len(ground.place):
        entries, place = int(mark[f.ENTRIES]), ground.place
        if mark[f.KEEPS]:
            place, entries = live_places(ground)
            mark[f.ENTRIES] = entries
        larger = np.empty(2 * entries + 2 * more, np.int64)
        larger[:entries] = place[:entries]
        ground = ground._replace(place=larger)
    gains = int(mark[f.GAINS] - mark[f.GAINS_FROM])
    if mark[f.KEEPS] and gains + more > len(ground.gain):
        gain = np.empty((2 * gains + 2 * more, 3), np.int64)
        gain[:gains] = ground.gain[:gains]
        ground = ground._replace(gain=gain)
    return state, ground


def live_places(ground: f.Ground) -> tuple[Ints, int]:
    """The places of runs and promises without those that were given up."""
    job = ground.job
    alive = (job[:, f.PHASE] >= f.RUNS) | (job[:, f.DUE] < NEVER)
    count = np.where(alive, job[:, f.PLACE_COUNT], 0)
    behind = np.cumsum(count)
    total = int(behind[-1]) if len(behind) else 0
    offset = np.repeat(job[:, f.PLACE_FROM] - (behind - count), count)
    kept = ground.place[np.arange(total) + offset]
    job[:, f.PLACE_FROM] = behind - count
    return kept, total


def as_site_schedule(
    workload: Workload,
    site: Site,
    name: str,
    claims: tuple[str, ...],
    state: State,
    world: World,
    ground: f.Ground,
    asks: Asks,
    node_at: Ints,
) -> Schedule:
    """The rows of a finished run; jobs that never ran have start and end -1."""
    made = as_schedule(workload, state, world, name=name, claims=claims)
    job = ground.job
    phase = job[:, f.PHASE]
    ran = (phase == f.ENDED) | (phase == f.GONE_LOST)
    start = np.where(ran, made.start, -1)
    end = np.where(phase == f.GONE_LOST, job[:, f.OVER_AT], np.where(ran, made.end, -1))
    shape = asks.shapes
    places = SitePlaces(
        names=tuple(node.name for node in site.nodes),
        node=node_at,
        first=job[:, f.PLACE_FROM].copy(),
        nodes=np.where(ran, job[:, f.PLACE_COUNT], 0),
        entries=ground.place[: int(ground.mark[f.ENTRIES])].copy(),
        shape=job[:, f.SHAPE].copy(),
        per_task=np.array([one.per_task[0] for one in shape] or [1], np.int64),
        divisor=np.array([one.divisor for one in shape] or [1], np.int64),
        floor=np.array([one.floor for one in shape] or [0], np.int64),
        whole=np.array(
            [one.exclusive for one in shape] or [False],
            bool,
        ),
        cpus=np.array([node.amounts[0] for node in site.nodes], np.int64),
        partition=np.array([one.partition for one in shape] or [0], np.int64),
    )
    counters = dict(made.counters)
    counters["slipped_promises"] = int(state.reg[SLIPPED])
    if ground.mark[f.GIVEN_UP]:
        counters["searches_given_up"] = int(ground.mark[f.GIVEN_UP])
    counters |= {
        "cancelled": int(ground.mark[f.CANCELLED]),
        "lost": int(ground.mark[f.LOST]),
        "not_modelled": asks.not_modelled,
    }
    return made.replace(
        start=start,
        end=end,
        place=places,
        killed=np.where(phase == f.ENDED, made.killed, 0).astype(np.int8),
        reason=np.where(ran, made.reason, int(Reason.UNSTARTED)).astype(np.int8),
        counters=counters,
        attempts=attempts_of(workload, state, start, end, cut=phase == f.GONE_LOST),
    )
