"""Parts that change running jobs: a function of the user's own gives sizes, or speeds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import ClassVar

from shadowtime.errors import PolicyError
from shadowtime.policy.backfill import Selected
from shadowtime.policy.functions import RESIZE, SPEED, Slot, takes_series, where
from shadowtime.policy.policy import Policy
from shadowtime.types import FULL_SPEED, MILLION

FULL = ((FULL_SPEED, MILLION),)
HALT = (0, 0)


@dataclass(frozen=True)
class Resized(Selected):
    """The sizes and speeds that a user's function gives all jobs that are there.

    spec: changing 3. It starts jobs, lets them grow and shrink, and stops them.
    """

    changes: ClassVar[bool] = True
    name: ClassVar[str] = "resized"
    summary: ClassVar[str] = (
        "the sizes and speeds that your function gives waiting and running jobs"
    )
    takes: ClassVar[Slot] = RESIZE
    speeds: tuple[tuple[int, int], ...] = FULL
    """Thousandths of full speed, and millionths of a job's power that it then draws."""

    @property
    def levels(self) -> tuple[tuple[int, int], ...]:
        """The speeds that a job may have; speed 0, at which it is suspended, is always one."""
        return self.speeds if any(speed == 0 for speed, _ in self.speeds) else (*self.speeds, HALT)

    def objections(self, policy: Policy, shape: str) -> Iterator[str]:
        if shape != "pool":
            yield (
                f"backfill={self} changes sizes and speeds of running jobs, which is defined on a "
                f"pool of processors, not on {'hosts or nodes' if shape != 'site' else 'a site'}; "
                "use --cluster pool:PROCESSORS"
            )
        yield from super().objections(policy, shape)
        if not policy.order.by_arrival or policy.order.by_event:
            yield (
                f"backfill={self} sees all jobs in order of arrival, so order={policy.order} would "
                "have no effect; sort them in the function"
            )


@dataclass(frozen=True)
class Paced(Resized):
    """EASY with jobs at the speeds that a user's function gives them (spec: changing 3.5)."""

    paces: ClassVar[bool] = True
    name: ClassVar[str] = "paced"
    summary: ClassVar[str] = "EASY, every job at the speed that your function returns for it"
    takes: ClassVar[Slot] = SPEED

    def check_function(self) -> None:
        super().check_function()
        if takes_series(self.function):
            raise PolicyError(
                f"the speed function {where(self.function)} takes series: write a resize function, "
                "which may"
            )


def speeds_of(given: Mapping[float, float] | None) -> tuple[tuple[int, int], ...]:
    """Declared speeds as the engine counts them, the first being that of waiting jobs.

    Examples
    --------
    >>> speeds_of({1000: 1.0, 800: 0.65})
    ((1000, 1000000), (800, 650000))
    """
    if given is None:
        return FULL
    made = tuple((round(speed), round(MILLION * share)) for speed, share in given.items())
    if (
        not made
        or made[0][0] == 0
        or not all(0 <= speed <= 10_000 and 0 <= share <= 10**9 for speed, share in made)
    ):
        raise PolicyError(
            f"speeds={dict(given)} must give thousandths of full speed, up to 10000 and the first "
            "not 0, each with the share of its power that a job draws then, as in "
            "{1000: 1.0, 800: 0.65}"
        )
    return made
