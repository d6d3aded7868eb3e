"""Memory bandwidth for jobs whose log has none, drawn by job id (spec: algorithms 4.1)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from shadowtime.errors import UsageError
from shadowtime.workload.workload import Workload

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Words: TypeAlias = NDArray[np.uint64]

SCENARIOS: Mapping[str, tuple[int, int, int]] = {
    "HIGH": (80, 10, 10),
    "MED": (50, 10, 40),
    "LOW": (10, 10, 80),
}
"""Percent of the jobs with high, medium and low demand (Guim et al. 2009, section 6.2)."""

LOW, MEDIUM, HIGH = 500, 1000, 2000
"""MB/s per process. The paper's text gives the first two; the third is the next doubling."""

SEED_STRIDE = 1_000_003

_NUMBER = re.compile(r"[0-9]{1,9}")


def splitmix(values: Words) -> Words:
    """One step of the splitmix64 generator from each of these states.

    Examples
    --------
    >>> [hex(x) for x in splitmix(np.array([0, 1], np.uint64)).tolist()]
    ['0xe220a8397b1dcdaf', '0x910a2dec89025cc1']

    References
    ----------
    G. Steele, D. Lea and C. Flood, Fast splittable pseudorandom number generators, OOPSLA 2014.
    """
    x = values + np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


def draw_bandwidth(
    workload: Workload,
    scenario: str | tuple[int, int, int],
    *,
    seed: int = 1,
    high: int = HIGH,
    medium: int = MEDIUM,
    low: int = LOW,
) -> Workload:
    """The same jobs with a bandwidth per process in ``extra["bandwidth"]`` (MB/s).

    A job's class depends on its id and the seed alone, so a job has the same demand in every slice,
    order and load: u = splitmix(id + 1000003 x seed) mod 100; high below the share of high, medium
    below that of both, else low. ``scenario`` is HIGH, MED, LOW or percentages of your own.

    Examples
    --------
    >>> from shadowtime.workload import Workload
    >>> w = Workload.build(submit=[0, 0, 0], run=[1, 1, 1], procs=[1, 1, 1])
    >>> draw_bandwidth(w, "MED").extra["bandwidth"].tolist()
    [2000, 500, 500]

    References
    ----------
    F. Guim, I. Rodero and J. Corbalan, The resource usage aware backfilling, JSSPP 2009.
    """
    shares = SCENARIOS.get(scenario.upper()) if isinstance(scenario, str) else scenario
    if min(high, medium, low) < 0:
        raise UsageError(f"a process cannot need {min(high, medium, low)} MB/s: give 0 or more")
    if shares is None:
        raise UsageError(f"there is no demand {scenario!r}; choose {', '.join(SCENARIOS)}")
    if len(shares) != 3 or min(shares) < 0 or sum(shares) != 100:
        raise UsageError(
            f"the shares {shares} of high, medium and low demand must be three and sum to 100"
        )
    if seed < 0:
        raise UsageError(f"the seed is {seed}; give a whole number from 0")
    offset = np.uint64(SEED_STRIDE * seed % (1 << 64))
    u = splitmix(workload.job_id.astype(np.uint64) + offset) % np.uint64(100)
    levels = np.array([high, medium, low], np.int64)
    drawn = levels[np.searchsorted(np.cumsum(shares[:2]), u, side="right")]
    return workload.replace(extra={**workload.extra, "bandwidth": drawn})


@dataclass(frozen=True)
class Demands:
    """The value of ``--demand``: a scenario, and the options of another draw.

    Examples
    --------
    >>> Demands.parse("HIGH"), Demands.parse("80/10/10,seed=2,high=1750").high
    (Demands(scenario='HIGH', seed=1, high=2000, medium=1000, low=500), 1750)
    >>> Demands.parse("HUGE")
    Traceback (most recent call last):
    ...
    shadowtime.errors.UsageError: 'HUGE' is not a demand: write HIGH, MED, LOW or shares as in ...
    """

    scenario: str | tuple[int, int, int]
    seed: int = 1
    high: int = HIGH
    medium: int = MEDIUM
    low: int = LOW

    @staticmethod
    def parse(text: str) -> Demands:
        """``HIGH``, ``MED``, ``LOW`` or shares ``80/10/10``; then ``seed=2``, ``high=1750`` ..."""
        name, *settings = (word.strip() for word in text.split(","))
        scenario: str | tuple[int, int, int] = name.upper()
        shares = name.split("/")
        if len(shares) == 3 and all(_NUMBER.fullmatch(share) for share in shares):
            scenario = (int(shares[0]), int(shares[1]), int(shares[2]))
        elif scenario not in SCENARIOS:
            raise UsageError(
                f"{name!r} is not a demand: write {', '.join(SCENARIOS)} or shares as in 80/10/10"
            )
        wanted: dict[str, int] = {}
        for word in settings:
            key, _, value = (part.strip() for part in word.partition("="))
            if key not in ("seed", "high", "medium", "low") or not _NUMBER.fullmatch(value):
                raise UsageError(
                    f"{word!r} is not a demand setting: write seed=2, high=1750, medium=1000 or "
                    "low=500 (MB/s per process)"
                )
            wanted[key] = int(value)
        return Demands(scenario, **wanted)

    def draw(self, workload: Workload) -> Workload:
        """The jobs with their bandwidth."""
        return draw_bandwidth(
            workload,
            self.scenario,
            seed=self.seed,
            high=self.high,
            medium=self.medium,
            low=self.low,
        )
