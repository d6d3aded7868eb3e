"""The demand of every process for shared resources, and the units in which work is counted."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from shadowtime.errors import UsageError
from shadowtime.types import UNKNOWN, AnyArray, Ints
from shadowtime.workload import Workload

if TYPE_CHECKING:
    from shadowtime.cluster.contention import Contention, Terms

FINEST = 10**9
"""The most units of work per second; beyond it they are COARSE, and work is rounded down."""
COARSE = 10**6
MANY = 200_000
"""At most this many different demands on a node are considered; beyond that units are COARSE."""


def demand_of(workload: Workload, contention: Contention) -> Ints:
    """Demand per process of each job, a column per shared resource.

    Rules
    -----
    Taken from ``workload.extra`` by the resource's name. A job without a demand (-1) gets the
    cluster's default; without one it is rejected, like a negative demand or one that a whole node
    could not meet for a single process.

    Examples
    --------
    >>> from shadowtime.cluster.contention import Contention
    >>> from shadowtime.workload import Workload
    >>> w = Workload.build(submit=[0], run=[9], procs=[1], extra={"bandwidth": np.array([500])})
    >>> demand_of(w, Contention(capacity={"bandwidth": 6000})).tolist()
    [[500]]
    >>> demand_of(w, Contention(capacity={"bandwidth": 400}))
    Traceback (most recent call last):
    ...
    shadowtime.errors.UsageError: 1 of 1 jobs need more bandwidth per process than a node has ...
    """
    columns = []
    for name, capacity in contention.capacity.items():
        column = np.asarray(
            workload.extra.get(name, np.full(len(workload), UNKNOWN, np.int64)), np.int64
        )
        unknown = column == UNKNOWN
        if unknown.any():
            if name not in contention.default:
                raise _refusal(
                    workload,
                    unknown,
                    f"have no {name} demand",
                    f"draw it (--demand HIGH; in Python workload.demand.draw_bandwidth), read it "
                    f"from an extended SWF, or state a "
                    f"default in the cluster's [contention] table (default = {{{name} = 500}})",
                )
            column = np.where(unknown, contention.default[name], column)
        for wrong, what, advice in (
            (column < 0, f"have a negative {name} demand", "fix the column"),
            (
                column > capacity,
                f"need more {name} per process than a node has ({capacity})",
                "fix the column, the cluster or the unit (MB/s per process, MB/s per node)",
            ),
        ):
            if wrong.any():
                raise _refusal(workload, wrong, what, advice)
        columns.append(column)
    return np.stack(columns, axis=1)


def _refusal(workload: Workload, wrong: AnyArray, what: str, advice: str) -> UsageError:
    first = int(workload.job_id[int(np.argmax(wrong))])
    count = int(wrong.sum())
    return UsageError(f"{count} of {len(workload)} jobs {what}, the first is job {first}: {advice}")


def work_unit(
    kinds: Ints, cores: int, terms: Terms, resources: tuple[str, ...]
) -> tuple[int, bool]:
    """(units of work in a second, whether every rate is then a whole number of them).

    The rate of a node is base / (base + over), so the units are the common multiple of the
    denominators over all demands that up to ``cores`` processes of these kinds can make (spec:
    algorithms 4.5). Where that passes 10^9 they are 10^6 and rates are rounded down.

    Examples
    --------
    >>> from shadowtime.cluster.contention import Proportional
    >>> law = Proportional().terms({"bandwidth": 6000})
    >>> work_unit(np.array([[500], [1000], [2000]]), 4, law, ("bandwidth",))
    (364, True)
    """
    column = [resources.index(hinge.resource) for hinge in terms.hinges]
    edge = np.array([hinge.threshold for hinge in terms.hinges], np.int64)
    weight = np.array([hinge.weight for hinge in terms.hinges], np.int64)
    kinds = np.unique(kinds, axis=0) if kinds.shape[1] > 1 else np.unique(kinds)[:, None]

    def grown(unit: int, demands: Ints) -> int:
        over = (np.maximum(0, demands[:, column] - edge) * weight).sum(axis=1)
        for some in np.unique(over[over > 0]).tolist():
            whole = terms.base + some
            unit = math.lcm(unit, whole // math.gcd(whole, terms.base))
            if unit > FINEST:
                break
        return unit

    if grown(1, cores * kinds.max(axis=0, keepdims=True)) == 1:
        return 1, True
    unit = 1
    # Equal processes first: with many kinds they pass the bound long before the sums are made.
    for count in range(1, cores + 1):
        unit = grown(unit, count * kinds)
        if unit > FINEST:
            return COARSE, False
    sums = np.zeros((1, kinds.shape[1]), np.int64)
    for _ in range(cores if len(kinds) > 1 else 0):
        if len(sums) * len(kinds) > MANY * 10:
            return COARSE, False
        sums = np.unique((sums[:, None, :] + kinds[None, :, :]).reshape(-1, kinds.shape[1]), axis=0)
        unit = grown(unit, sums)
        if unit > FINEST or len(sums) > MANY:
            return COARSE, False
    return unit, True
