"""How evenly a pool's resources are used: the scores of BB, BL and IBB (spec: algorithms 5).

Shares of the K resources are whole numbers over one common denominator L: ``scale[k]`` is
L / capacity[k], so that used[k] * scale[k] / L is the share of resource k.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import lcm
from typing import TYPE_CHECKING, Any

import numpy as np

from shadowtime.errors import PolicyError
from shadowtime.kernel.exact import compare_products
from shadowtime.kernel.fields import CAPACITY, FREE, NEED
from shadowtime.kernel.jit import kernel
from shadowtime.types import Ints

if TYPE_CHECKING:
    from shadowtime.kernel.state import State

MOST = 1 << 62


def common_scale(capacity: Iterable[int]) -> Any:
    """Factors that bring the shares of all resources to one denominator, which comes last."""
    amounts = [int(amount) for amount in capacity]
    whole = lcm(*(amount for amount in amounts if amount > 0))
    if whole * len(amounts) >= MOST:
        raise PolicyError(
            "the capacities have no common measure below 2^62, so shares cannot be compared "
            "exactly; round the larger ones, e.g. memory to whole MB"
        )
    return np.array([whole // a if a else 0 for a in amounts] + [whole], np.int64)


@kernel
def used_share(state: State, scale: Ints, k: int) -> int:
    """Share of a resource in use, times L."""
    return (state.host[CAPACITY, 0, k] - state.host[FREE, 0, k]) * scale[k]


@kernel
def fullest_with(state: State, scale: Ints, job: int) -> int:
    """The largest share if the job ran too, times L; ``job`` -1: as it is."""
    most = 0
    for k in range(state.host.shape[2]):
        share = used_share(state, scale, k)
        if job >= 0:
            share += state.job[job, NEED + k] * scale[k]
        most = max(most, share)
    return most


@kernel
def sum_with(state: State, scale: Ints, job: int) -> int:
    """The sum of the shares if the job ran too, times L; ``job`` -1: as it is."""
    total = 0
    for k in range(state.host.shape[2]):
        total += used_share(state, scale, k)
        if job >= 0:
            total += state.job[job, NEED + k] * scale[k]
    return total


@kernel
def balances_better(state: State, scale: Ints, a: int, b: int) -> bool:
    """BB: True if job ``a`` has the smaller score max / avg * (1 - avg) (spec: algorithms 5.2)."""
    whole = scale[scale.shape[0] - 1] * state.host.shape[2]
    max_a, sum_a = fullest_with(state, scale, a), sum_with(state, scale, a)
    max_b, sum_b = fullest_with(state, scale, b), sum_with(state, scale, b)
    return compare_products(max_a, whole - sum_a, sum_b, max_b, whole - sum_b, sum_a) < 0


@kernel
def least_used(state: State, scale: Ints) -> int:
    """BL: the resource with the smallest share in use, the lower index on a tie."""
    least = 0
    for k in range(1, state.host.shape[2]):
        if used_share(state, scale, k) < used_share(state, scale, least):
            least = k
    return least


@kernel
def not_worse(state: State, scale: Ints, job: int, fullest: int, total: int) -> bool:
    """IBB: max(S+R) / avg(S+R) <= fullest / (total / K) (eq. 2)."""
    return (
        compare_products(
            fullest_with(state, scale, job), total, 1, fullest, sum_with(state, scale, job), 1
        )
        <= 0
    )


@kernel
def best_balance(state: State, scale: Ints, found: Ints, count: int) -> int:
    """BB: the candidate with the smallest max / avg * (1 - avg), the earliest on a tie.

    spec: algorithms 5.2.
    """
    whole = scale[scale.shape[0] - 1] * state.host.shape[2]
    best = 0
    most = fullest_with(state, scale, found[0])
    total = sum_with(state, scale, found[0])
    for i in range(1, count):
        other = fullest_with(state, scale, found[i])
        together = sum_with(state, scale, found[i])
        if other == most and together == total:
            continue  # alike, as many are: no need to multiply out
        if compare_products(other, whole - together, total, most, whole - total, together) < 0:
            best, most, total = i, other, together
    return best


@kernel
def largest_request(state: State, scale: Ints, found: Ints, count: int) -> int:
    """BL: the candidate with the largest request for the least used resource."""
    k = NEED + least_used(state, scale)
    best = 0
    for i in range(1, count):
        if state.job[found[i], k] > state.job[found[best], k]:
            best = i
    return best
