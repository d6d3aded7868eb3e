"""The named policies, one small file a paper."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shadowtime.policy.catalogue import class_partitioning, classic, hperf, ibb, pv_easy, rua

if TYPE_CHECKING:
    from shadowtime.policy.policy import Policy

MODULES = (classic, class_partitioning, pv_easy, ibb, rua, hperf)


def catalogue() -> list[Policy]:
    """Every named policy.

    Examples
    --------
    >>> [policy.name for policy in catalogue()][:3]
    ['fcfs', 'greedy', 'easy']
    """
    return [policy for module in MODULES for policy in module.POLICIES]
