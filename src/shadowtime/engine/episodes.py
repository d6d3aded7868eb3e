"""Episodes on windows of a log, many side by side: what environments for agents are made of."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from shadowtime.cluster import Cluster
from shadowtime.engine import lanes as k
from shadowtime.engine.run_tables import refuse_unfit
from shadowtime.engine.session import refuse_bounds
from shadowtime.errors import UsageError
from shadowtime.types import AnyArray, Ints
from shadowtime.workload import Workload

if TYPE_CHECKING:
    from shadowtime.cluster.site import Site

MODES = {"order": k.ORDER, "backfill": k.BACKFILL}
RESIZE = "resize"


class Episodes:
    """Lanes that go through windows of a log, drawn by a seed.

    Rules
    -----
    Windows are drawn once, at the beginning: places in the log, uniformly, with the
    seed. At a reset each lane draws its windows from them again. ``step`` takes one action per
    lane and rejects those that the mask forbids; a lane that was over begins its next window
    instead, whatever its action is, so that its mask allows every one. What a window earns before
    its first decision is part of the reward of that decision.

    Examples
    --------
    >>> from shadowtime.cluster import Cluster
    >>> from shadowtime.workload import Workload
    >>> jobs = Workload.build(submit=[0, 1, 2], run=[9, 5, 4], procs=[3, 4, 1])
    >>> one = Episodes(jobs, Cluster.pool(4), mode="order", window=3, slots=2)
    >>> one.reset(seed=0)
    >>> one.mask.tolist()
    [[1, 0]]
    >>> while not one.over.any():
    ...     one.step(np.array([0]))
    >>> one.starts.tolist()
    [[0, 9, 2]]
    """

    def __init__(
        self,
        workload: Workload,
        cluster: Cluster | Site,
        *,
        mode: str,
        window: int = 256,
        slots: int = 128,
        lanes: int = 1,
        windows: int = 64,
        seed: int = 0,
        bound: int = 10,
        sizes: int = 4,
        speeds: Mapping[float, float] | None = None,
    ) -> None:
        on_pool = isinstance(cluster, Cluster)
        if isinstance(cluster, Cluster):
            refuse_unfit(workload, cluster)
            refuse_bounds(workload, "an environment")
        if (workload.effective_run > workload.request).any():
            raise UsageError(
                "an environment needs jobs that end within their request: read the log with "
                "--overrun cut or extend"
            )
        self.mode, self.count, self.slots, self.jobs = mode, lanes, slots, window
        most = len(workload) - window + 1
        draw = np.random.default_rng(seed)
        self.places: Ints = np.sort(draw.integers(0, most, min(windows, most))).astype(np.int64)
        """Where in the log each window begins."""
        # On a site instants have a meaning: outages and reservations come at theirs.
        made = k.windows_of(workload, window, self.places, shift=on_pool)
        self._tables: Any
        common = {"lanes": lanes, "slots": slots, "bound": bound}
        if mode != RESIZE and isinstance(cluster, Cluster):
            self._tables = k.make_lanes(made, cluster, mode=MODES[mode], **common)
            self._go = partial(k.step_lanes, self._tables)
        else:
            from shadowtime.engine import stepwise

            if isinstance(cluster, Cluster):
                self._tables = stepwise.changing_lanes(
                    made, cluster, sizes=sizes, speeds=speeds, **common
                )
            else:
                self._tables = stepwise.site_lanes(made, cluster, mode=MODES[mode], **common)
            self._go = self._tables.step
        self._draw = draw
        self._same = np.zeros(lanes, np.int64)  # asked for by no lane
        self._owed = np.zeros(lanes)  # earned before a window's first decision

    def reset(self, seed: int | None = None) -> None:
        """Begin a window in each lane; a seed draws the same windows again."""
        if seed is not None:
            self._draw = np.random.default_rng(seed)
        lane = self._tables.lane
        lane[:, k.OVER] = 1
        lane[:, k.EPISODES] = lane[:, k.DECISIONS_MADE] = 0
        self._owed[:] = 0
        self._advance(np.zeros(self.count, np.int64), self._next())

    def step(self, actions: Ints) -> None:
        """One action in each lane, up to the next decision of each."""
        chosen = self._possible(actions)
        # Windows are drawn where they are needed, so that a seed means the same for any lanes.
        following = self._next() if self.over.any() else self._same
        self._advance(chosen, following)

    def _advance(self, actions: Ints, following: Ints) -> None:
        begun = self.over
        self._go(actions, following)
        self._tables.mask[self.over] = 1
        # Nothing is rewarded before a window's first decision: the step after it pays.
        reward, begun = self.reward, begun & ~self.over
        reward += self._owed
        self._owed[:] = np.where(begun, reward, 0)
        reward[begun] = 0

    def _possible(self, actions: Ints) -> Ints:
        """The actions, if there is one for each lane and the mask allows them all."""
        given = np.asarray(actions)
        if given.shape != (self.count,) or given.dtype.kind not in "iu":
            raise UsageError(
                f"a step takes a whole number for each of the {self.count} lanes, not "
                f"{given.dtype} of shape {given.shape}"
            )
        mask = self.mask
        inside = (given >= 0) & (given < mask.shape[1])
        allowed = inside & (mask[np.arange(self.count), np.where(inside, given, 0)] != 0)
        allowed |= self.over
        if not allowed.all():
            lane = int(np.flatnonzero(~allowed)[0])
            raise UsageError(self._why_not(lane, int(given[lane])))
        chosen: Ints = np.ascontiguousarray(given, np.int64)
        return chosen

    def _why_not(self, lane: int, action: int) -> str:
        width = self.mask.shape[1]
        if self.mode == RESIZE and 0 <= action < width:
            return (
                f"lane {lane}: action {action} is not possible: the job is not there, has that "
                "size, was given one at this pass, or the size does not fit (info['action_mask'])"
            )
        filled = int(self.mask[lane, : self.slots].sum())
        none = f" or {self.slots} (none)" if self.mode == "backfill" else ""
        may = "overtake the head" if self.mode == "backfill" else "be next"
        why = f"only {filled} jobs may {may}: choose from 0 to {filled - 1}{none}"
        if not 0 <= action < width:
            why = f"actions are 0 to {width - 1}"
        return f"lane {lane}: action {action} is not possible, {why} (info['action_mask'])"

    def _next(self) -> Ints:
        found: Ints = self._draw.integers(0, len(self.places), self.count).astype(np.int64)
        return found

    @property
    def seen(self) -> AnyArray:
        """What is shown, float32[lanes, slots, numbers of a job]: overwritten by the next step."""
        shown: AnyArray = self._tables.seen
        return shown

    @property
    def mask(self) -> AnyArray:
        """1 for actions that are possible, int8[lanes, actions]."""
        mask: AnyArray = self._tables.mask[:, : self.slots if self.mode == "order" else None]
        return mask

    @property
    def reward(self) -> AnyArray:
        """Of the last step."""
        reward: AnyArray = self._tables.reward
        return reward

    @property
    def over(self) -> AnyArray:
        """True for lanes whose window is over."""
        over: AnyArray = self._tables.lane[:, k.OVER] != 0
        return over

    @property
    def starts(self) -> AnyArray:
        """The starts of each lane's last window that was over, -1 of jobs that never started.

        From its first submission on; on a site by the log's clock.
        """
        starts: AnyArray = self._tables.start
        return starts

    @property
    def decisions(self) -> int:
        """Decisions in all lanes since the reset."""
        return int(self._tables.lane[:, k.DECISIONS_MADE].sum())

    @property
    def windows(self) -> AnyArray:
        """Each lane's window, as a place in the log."""
        places: AnyArray = self.places[self._tables.lane[:, k.WINDOW]]
        return places
