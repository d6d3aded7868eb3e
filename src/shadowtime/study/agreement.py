"""How close simulated waits are to recorded ones, by group of jobs, relative to the waits.

Single starts are never compared: two identical clusters fed the same jobs at once drift apart after
some hundred starts, because a race of milliseconds moves every later job. They agree on how long
groups of jobs wait.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from shadowtime.study.expected_error import off_by

if TYPE_CHECKING:
    from collections.abc import Mapping

    from shadowtime.metrics import Classes
    from shadowtime.types import AnyArray


@dataclass(frozen=True, kw_only=True)
class WaitRow:
    """One group of jobs, recorded and simulated; times in seconds."""

    kind: str
    label: str
    jobs: int
    run_mean_s: float
    recorded_mean_s: float
    simulated_mean_s: float
    recorded_median_s: float
    simulated_median_s: float

    @property
    def difference(self) -> float:
        """Simulated minus recorded mean wait, over the recorded one."""
        return off_by(self.simulated_mean_s, self.recorded_mean_s, self.run_mean_s)

    def as_dict(self) -> dict[str, Any]:
        """A flat row."""
        row = dict(vars(self))
        head = {"kind": row.pop("kind"), "class": row.pop("label")}
        return {**head, **row, "difference": self.difference}


def wait_row(
    kind: str, label: str, recorded: AnyArray, simulated: AnyArray, run: AnyArray
) -> WaitRow:
    """The row of a group from the waits and run times of its jobs.

    Examples
    --------
    >>> row = wait_row("all", "all jobs", np.array([0, 40]), np.array([0, 80]), np.array([60, 100]))
    >>> row.recorded_mean_s, row.simulated_mean_s, row.difference
    (20.0, 40.0, 1.0)
    """
    return WaitRow(
        kind=kind,
        label=label,
        jobs=len(recorded),
        run_mean_s=float(run.mean()),
        recorded_mean_s=float(recorded.mean()),
        simulated_mean_s=float(simulated.mean()),
        recorded_median_s=float(np.median(recorded)),
        simulated_median_s=float(np.median(simulated)),
    )


def wait_rows(
    groups: Mapping[str, Classes],
    recorded: AnyArray,
    simulated: AnyArray,
    run: AnyArray,
    *,
    which: AnyArray,
) -> tuple[WaitRow, ...]:
    """A row for every group that has jobs among ``which``, in the order of the groups."""
    found = []
    for kind, classes in groups.items():
        for number, label in enumerate(classes.labels):
            members = which & (classes.of == number)
            if bool(members.any()):
                found.append(
                    wait_row(kind, label, recorded[members], simulated[members], run[members])
                )
    return tuple(found)
