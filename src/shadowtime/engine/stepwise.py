"""Lanes of which each is a session: environments on sites, and of jobs that change on a pool.

They offer what the compiled lanes do (engine/lanes.py), with the same columns of a lane. An agent
is a generator: it yields what is possible and is sent the action that was chosen.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from shadowtime.cluster import Cluster
from shadowtime.cluster.site import Site
from shadowtime.engine import lanes as k
from shadowtime.engine.changing_session import ChangingSession
from shadowtime.engine.site.session import SiteSession
from shadowtime.kernel import fields as f
from shadowtime.policy.changing import speeds_of
from shadowtime.types import AnyArray, Ints
from shadowtime.workload import Workload

NUMBERS_OF_SIZES = 9
"""How many numbers describe a job that changes: wait and expected seconds left at its own size; the
share of the machine that is its own, that it is to have, that it has at least, and at most; its
speed; 1 if it has processors now; the share that is not given to any job."""


class Offer(NamedTuple):
    """What an agent sees at a decision."""

    seen: AnyArray  # float32[slots, numbers]
    mask: AnyArray  # int8[actions]


if TYPE_CHECKING:
    Agent = Generator[Offer, int, None]
    Session = SiteSession | ChangingSession


class Stepwise:
    """Lanes that go through windows by sessions, in Python."""

    def __init__(
        self,
        windows: Sequence[Workload],
        begin: Callable[[Workload], tuple[Session, Agent]],
        *,
        lanes: int,
        shape: tuple[int, int],
        actions: int,
        bound: int,
    ) -> None:
        self._windows, self._begin, self._bound = windows, begin, bound
        for window in windows:  # what a session refuses is refused here, not at some later reset
            begin(window)
        self._runs: list[tuple[Session, Agent] | None] = [None] * lanes
        self._paid: list[AnyArray] = [np.zeros(0, bool)] * lanes
        self.seen: AnyArray = np.zeros((lanes, *shape), np.float32)
        self.mask: AnyArray = np.zeros((lanes, actions), np.int8)
        self.reward: AnyArray = np.zeros(lanes)
        self.start: AnyArray = np.full((lanes, len(windows[0])), -1, np.int64)
        self.lane = np.zeros((lanes, 5), np.int64)
        self.lane[:, k.OVER] = 1  # the first step begins a window

    def step(self, actions: AnyArray, following: AnyArray) -> None:
        """Carry out one action in each lane; a lane that is over begins a window instead."""
        for i in range(len(self._runs)):
            if self.lane[i, k.OVER]:
                window = int(following[i])
                run = self._runs[i] = self._begin(self._windows[window])
                self._paid[i] = np.zeros(len(self._windows[window]), bool)
                self.lane[i, k.WINDOW], self.lane[i, k.OVER] = window, 0
                self.lane[i, k.EPISODES] += 1
                self._go_on(i, *run, None)
            else:
                run_of_lane = self._runs[i]
                assert run_of_lane is not None
                self.lane[i, k.DECISIONS_MADE] += 1
                self._go_on(i, *run_of_lane, int(actions[i]))

    def _go_on(self, i: int, session: Session, agent: Agent, action: int | None) -> None:
        """Go to the next decision; what ended on the way is rewarded."""
        try:
            offer = next(agent) if action is None else agent.send(action)
            self.seen[i], self.mask[i] = offer
        except StopIteration:
            self.lane[i, k.OVER] = 1
            self.seen[i], self.mask[i] = 0, 0
            self.start[i] = session.schedule().start
        ends, jobs = session.ends(), session.workload
        over = np.flatnonzero((ends >= 0) & ~self._paid[i])
        self._paid[i][over] = True
        run = np.maximum(jobs.effective_run[over], self._bound)
        slowdown = np.maximum(1.0, (ends[over] - jobs.submit[over]) / run)
        self.reward[i] = 0.0 - slowdown.sum() / len(jobs)


def site_lanes(
    windows: Sequence[Workload], site: Site, *, lanes: int, slots: int, mode: int, bound: int
) -> Stepwise:
    """Lanes on a site, of which an agent chooses the order, or the jobs that overtake."""
    agent = order_on_site if mode == k.ORDER else backfill_on_site

    def begin(jobs: Workload) -> tuple[Session, Agent]:
        session = SiteSession(jobs, site)
        return session, agent(session, slots)

    shape = slots, k.features_of(len(site.total))
    return Stepwise(windows, begin, lanes=lanes, shape=shape, actions=slots + 1, bound=bound)


def order_on_site(session: SiteSession, slots: int) -> Agent:
    """At each pass the agent names who is next, until that job has to wait; others overtake it."""
    while session.running:
        while len(offered := np.flatnonzero((able := session.able()) >= 0)[:slots]):
            chosen = int(offered[(yield offer_on_site(session, slots, offered, able))])
            if able[chosen] > 0:
                session.start(chosen)
                continue
            session.plan(chosen)
            for place in np.flatnonzero(able >= 0).tolist():
                if place != chosen and session.fits(place):
                    session.start(place)
            break
        session.advance()


def backfill_on_site(session: SiteSession, slots: int) -> Agent:
    """Jobs start in order of arrival; of those behind the first that waits the agent names some."""
    while session.running:
        head = -1
        for place in range(len(session.rows)):
            able_now = session.able_at(place)
            if able_now > 0:
                session.start(place)
            elif able_now == 0:
                head = place
                break
        begin = session.plan(head) if head >= 0 else -1
        while head >= 0:
            able = session.able()
            able[: head + 1] = -1
            offered = np.flatnonzero(able > 0)[:slots]
            if len(offered) == 0:
                break
            action = yield offer_on_site(session, slots, offered, able, begin)
            if action == slots:
                break
            session.start(int(offered[action]))
        session.advance()


def offer_on_site(
    session: SiteSession, slots: int, offered: Ints, able: Ints, begin: int | None = None
) -> Offer:
    """The columns that compiled lanes show, of a site's totals.

    ``begin``: when the reservation does, -1 if there is none, of those whom an agent may refuse.
    """
    state, count = session.state, len(offered)
    rows = session.rows[offered]
    total = np.maximum(state.host[f.CAPACITY, 0], 1)
    resources = len(total)
    seen = np.zeros((slots, k.features_of(resources)), np.float32)
    job = state.job[rows]
    seen[:count, 0] = session.now - job[:, f.SUBMIT]
    seen[:count, 1] = job[:, f.ESTIMATE]
    seen[:count, 2 : 2 + resources] = job[:, f.NEED :] / total
    seen[:count, 2 + resources] = able[offered] > 0
    seen[:count, 3 + resources : 3 + 2 * resources] = state.host[f.FREE, 0] / total
    seen[:count, 3 + 2 * resources] = 0 if begin is None or begin < 0 else begin - session.now
    mask = np.zeros(slots + 1, np.int8)
    mask[:count] = 1
    mask[slots] = begin is not None
    return Offer(seen, mask)


def changing_lanes(
    windows: Sequence[Workload],
    cluster: Cluster,
    *,
    lanes: int,
    slots: int,
    sizes: int,
    speeds: Mapping[float, float] | None,
    bound: int,
) -> Stepwise:
    """Lanes on a pool of which an agent gives waiting and running jobs sizes and speeds."""

    def begin(jobs: Workload) -> tuple[Session, Agent]:
        session = ChangingSession(jobs, cluster, speeds=speeds)
        return session, resizing(session, slots, sizes)

    actions = slots * (1 + sizes * len(speeds_of(speeds))) + 1
    shape = slots, NUMBERS_OF_SIZES
    return Stepwise(windows, begin, lanes=lanes, shape=shape, actions=actions, bound=bound)


def resizing(session: ChangingSession, slots: int, sizes: int) -> Agent:
    """At each pass the agent gives some jobs another size, each once, until it says to go on."""
    speeds = session.speeds
    width = 1 + sizes * len(speeds)
    while session.running:
        given: set[int] = set()
        while True:
            grid = grid_of(session, slots, sizes)
            action = yield offer_of_sizes(session, slots, grid, given)
            if action == slots * width:
                break
            place, which = divmod(action, width)
            level, speed = divmod(which - 1, len(speeds))
            given.add(place)
            if which == 0:
                session.resize(place, 0)
            elif speeds[speed] == 0:
                session.resize(place, int(session.sizes[place]), 0)
            else:
                session.resize(place, int(grid[place, level]), speeds[speed])
        session.advance()


def grid_of(session: ChangingSession, slots: int, sizes: int) -> Ints:
    """Of the first jobs: sizes at equal distances from the least to the most that each may have.

    Examples
    --------
    >>> from shadowtime.cluster import Cluster
    >>> from shadowtime.workload import Workload
    >>> jobs = Workload.build(submit=[0], run=[9], procs=[2], extra={
    ...     "min_procs": np.array([1]), "max_procs": np.array([8])})
    >>> grid_of(ChangingSession(jobs, Cluster.pool(8)), 4, 3).tolist()
    [[1, 4, 8]]
    """
    jobs: Any = session.observe().jobs
    least, most = (np.asarray(each[:slots]) for each in (jobs.least, jobs.most))
    steps = np.arange(sizes)
    found: Ints = least[:, None] + (most - least)[:, None] * steps // max(1, sizes - 1)
    return found


def offer_of_sizes(session: ChangingSession, slots: int, grid: Ints, given: set[int]) -> Offer:
    """The jobs that are there, and which sizes and speeds are possible."""
    jobs: Any = session.observe().jobs
    asked = session.sizes
    size = np.where(jobs.speed > 0, asked, 0)
    count, sizes = grid.shape
    free, *more = session.left.tolist()
    seen = np.zeros((slots, NUMBERS_OF_SIZES), np.float32)
    for column, values in enumerate(
        (session.now - jobs.submit, jobs.left, *(
            each / session.procs for each in (jobs.procs, size, jobs.least, jobs.most)
        ), jobs.speed / 1000, jobs.held > 0, np.full(len(size), free / session.procs))
    ):  # fmt: skip
        seen[:count, column] = values[:count]
    speeds = np.array(session.speeds)
    own, pace = size[:count, None, None], jobs.speed[:count, None, None]
    others = (jobs.need[:count, 1:] <= np.array(more, np.int64)).all(axis=1)
    fits = (grid[:, :, None] <= own + free) & (others | (asked[:count] > 0))[:, None, None]
    other = (grid[:, :, None] != own) | (speeds != pace)
    # A job that runs can be suspended, in whatever size it has: with the first of the sizes.
    halts = np.zeros((sizes, 1), bool)
    halts[0] = True
    runs = (session.runs & (size > 0))[:count, None, None]
    # Somebody else must be left to start where nothing else would ever happen.
    last = session.all_came and (size > 0).sum() < 2 and count - len(given) < 2
    mask = np.zeros((slots, 1 + sizes * len(speeds)), np.int8)
    mask[:count, 0] = (asked[:count] > 0) & (not last)
    possible = np.where(speeds > 0, fits & other, halts & runs & (not last))
    mask[:count, 1:] = possible.reshape(count, -1)
    mask[sorted(given)] = 0
    goes_on = np.int8(not session.all_came or bool((size > 0).any()))
    return Offer(seen, np.append(mask.ravel(), goes_on))
