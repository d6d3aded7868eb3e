"""Gymnasium environments around episodes; imported only if that package is installed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import gymnasium
import numpy as np

from shadowtime.types import AnyArray

if TYPE_CHECKING:
    from shadowtime.engine.episodes import Episodes


def spaces_of(episodes: Episodes) -> tuple[Any, Any]:
    """The spaces of observations and actions of one lane."""
    shape = episodes.seen.shape[1:]
    seen = gymnasium.spaces.Box(0.0, np.inf, shape, np.float32)
    return seen, gymnasium.spaces.Discrete(episodes.mask.shape[1])


class Possible(gymnasium.spaces.Discrete):  # type: ignore[misc]
    """The actions of an environment; a sample is drawn from those that are possible now."""

    def __init__(self, episodes: Episodes) -> None:
        super().__init__(episodes.mask.shape[1])
        self.episodes = episodes

    def sample(self, mask: Any = None, **options: Any) -> Any:
        """An action at random, by default a possible one."""
        if mask is None and not options:
            mask = self.episodes.mask[0].astype(np.int8)
        return super().sample(mask, **options)


class Environment(gymnasium.Env):  # type: ignore[misc]
    """One window at a time."""

    metadata: dict[str, Any] = {"render_modes": []}  # noqa: RUF012  as Gymnasium declares it

    def __init__(self, episodes: Episodes) -> None:
        self.episodes = episodes
        self.observation_space, _ = spaces_of(episodes)
        self.action_space = Possible(episodes)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[AnyArray, dict[str, Any]]:
        """Begin a window."""
        super().reset(seed=seed)
        self.episodes.reset(seed)
        return self.episodes.seen[0].copy(), self._info()

    def step(self, action: Any) -> tuple[AnyArray, float, bool, bool, dict[str, Any]]:
        """Carry out an action and advance to the next decision."""
        self.episodes.step(np.atleast_1d(np.asarray(action)))
        over = bool(self.episodes.over[0])
        seen = self.episodes.seen[0].copy()
        return seen, float(self.episodes.reward[0]), over, False, self._info()

    def action_masks(self) -> AnyArray:
        """Which actions are possible, for agents with action masks."""
        masks: AnyArray = self.episodes.mask[0].astype(bool)
        return masks

    def _info(self) -> dict[str, Any]:
        return {"action_mask": self.episodes.mask[0].copy()}


class VectorEnvironment(gymnasium.vector.VectorEnv):  # type: ignore[misc]
    """Many windows side by side in one compiled call; a lane restarts at the step after its end.

    The action of that step is ignored: the mask of a lane that ended allows every one. Without
    ``copy`` the arrays belong to the engine and are valid until the next step.
    """

    metadata: dict[str, Any] = {  # noqa: RUF012
        "render_modes": [],
        "autoreset_mode": gymnasium.vector.AutoresetMode.NEXT_STEP,
    }

    def __init__(self, episodes: Episodes, *, copy: bool = True) -> None:
        self.episodes, self.copy = episodes, copy
        self.num_envs = episodes.count
        self.single_observation_space, self.single_action_space = spaces_of(episodes)
        batch = gymnasium.vector.utils.batch_space
        self.observation_space = batch(self.single_observation_space, self.num_envs)
        self.action_space = batch(self.single_action_space, self.num_envs)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[AnyArray, dict[str, Any]]:
        """Begin a window in each lane."""
        self.episodes.reset(seed)
        return self._own(self.episodes.seen), self._info()

    def step(self, actions: Any) -> tuple[AnyArray, AnyArray, AnyArray, AnyArray, dict[str, Any]]:
        """Carry out an action in each lane."""
        self.episodes.step(np.asarray(actions))
        never = np.zeros(self.num_envs, bool)
        seen, reward = self._own(self.episodes.seen), self._own(self.episodes.reward)
        return seen, reward, self.episodes.over, never, self._info()

    def action_masks(self) -> AnyArray:
        """Which actions are possible in each lane."""
        return self.episodes.mask.astype(bool)

    def _info(self) -> dict[str, Any]:
        return {"action_mask": self._own(self.episodes.mask)}

    def _own(self, array: AnyArray) -> AnyArray:
        return array.copy() if self.copy else array
