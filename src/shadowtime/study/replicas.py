"""The inputs of a study: how much load, the unmodified log, and random copies of it."""

from __future__ import annotations

import math
import threading
from dataclasses import dataclass
from typing import Literal

import numpy as np

from shadowtime.cluster import Cluster
from shadowtime.errors import UsageError
from shadowtime.workload import Workload, scale
from shadowtime.workload.resample import resample_users, shaken

LoadKind = Literal["relative", "offered"]


@dataclass(frozen=True)
class Load:
    """A load to study: ``relative`` to the log's own (1 is the unmodified log), or ``offered``.

    Examples
    --------
    >>> Load.parse("1.2"), Load.parse("offered=0.9")
    (Load(value=1.2, kind='relative'), Load(value=0.9, kind='offered'))
    >>> str(Load.parse("1")), str(Load.parse("1.2")), str(Load.parse("offered=0.9"))
    ('as recorded', '1.2 x', 'offered=0.9')
    """

    value: float = 1.0
    kind: LoadKind = "relative"

    @staticmethod
    def parse(text: str) -> Load:
        """``1.2``: jobs arrive 1.2 times as fast; ``offered=0.9``: so that they offer 0.9."""
        name, equals, number = text.strip().rpartition("=")
        try:
            value = float(number)
        except ValueError:
            value = math.nan
        if (equals and name.strip() != "offered") or not (math.isfinite(value) and value > 0):
            raise UsageError(
                f"the load {text!r} is neither a factor (1.2: jobs arrive 1.2 times as fast) "
                "nor an offered load (offered=0.9)"
            )
        return Load(value, "offered" if equals else "relative")

    def apply(self, workload: Workload, cluster: Cluster) -> Workload:
        """The workload at this load; the same object if nothing changes."""
        if self.kind == "offered":
            return scale.to_load(workload, cluster.procs, self.value)
        return workload if self.value == 1 else scale.scale_load(workload, self.value)

    def __str__(self) -> str:
        if self.kind == "offered":
            return f"offered={self.value:g}"
        return "as recorded" if self.value == 1 else f"{self.value:g} x"


AS_RECORDED = Load()


Kind = Literal["none", "shaken", "resampled"]
SEED = 1


@dataclass(frozen=True)
class Replicas:
    """How many copies, of which kind, from which seed.

    shaken: every submission and run time moved a little (``workload.resample``). resampled:
    resampled users, each with all of their jobs (``workload.resample``). Copy k of a seed is
    always the same, whatever the policy and however many copies there are: policies are compared
    on common random numbers.
    """

    kind: Kind = "none"
    count: int = 0
    seed: int = SEED

    @staticmethod
    def of(*, shake: int = 0, resample: int = 0, seed: int = SEED) -> Replicas:
        """From the options.

        Examples
        --------
        >>> Replicas.of(shake=20, seed=3)
        Replicas(kind='shaken', count=20, seed=3)
        """
        if min(shake, resample) < 0 or 1 in (shake, resample):
            raise UsageError("one copy of the log has no spread: shake or resample 2 or more times")
        if shake and resample:
            raise UsageError(
                "shake the log or resample its users, not both: they answer different questions"
            )
        if seed < 0:
            raise UsageError(f"the seed is {seed}; give a whole number from 0")
        kind: Kind = "shaken" if shake else "resampled" if resample else "none"
        return Replicas(kind, shake or resample, seed)

    def make(self, workload: Workload, cluster: Cluster, load: Load, number: int) -> Workload:
        """Copy ``number`` (from 1; 0 is the unmodified log) at a load.

        Users are drawn before the load is set, so an offered load is met by every draw; shaking
        comes last, so that a shake is as many seconds at any load.
        """
        rng = np.random.default_rng([self.seed, number])
        if number and self.kind == "resampled":
            workload = resample_users(workload, seed=rng)
        workload = load.apply(workload, cluster)
        return shaken(workload, seed=rng) if number and self.kind == "shaken" else workload

    def __str__(self) -> str:
        return f"{self.count} {self.kind} inputs" if self.count else "the log as it is"


class Shared:
    """An input that several runs need: created for the first run, dropped after the last.

    So there are never more of them in memory than threads at work.
    """

    def __init__(
        self, replicas: Replicas, workload: Workload, cluster: Cluster, load: Load, number: int
    ) -> None:
        self._recipe = (workload, cluster, load, number)
        self._replicas = replicas
        self._made: Workload | None = None
        self._lock = threading.Lock()
        self.users = 0
        """Runs that still need it."""

    def get(self) -> Workload:
        with self._lock:
            if self._made is None:
                self._made = self._replicas.make(*self._recipe)
            return self._made

    def done(self) -> None:
        """One run less."""
        with self._lock:
            self.users -= 1
            if self.users == 0:
                self._made = None
