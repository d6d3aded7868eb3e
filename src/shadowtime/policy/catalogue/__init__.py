"""The named policies, one small file a paper."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shadowtime.policy.catalogue import (
    carastan_santos,
    class_partitioning,
    classic,
    hperf,
    ibb,
    lelong,
    pv_easy,
    rua,
    shmueli,
    srinivasan,
    talby,
    tang,
    ward,
)

if TYPE_CHECKING:
    from shadowtime.policy.policy import Policy
    from shadowtime.policy.written import Written

WRITTEN = (tang, carastan_santos, lelong, ward, srinivasan, shmueli, talby)
"""Papers whose parts are functions, as a user would write them."""
MODULES = (classic, class_partitioning, pv_easy, ibb, rua, hperf, *WRITTEN)


def catalogue() -> list[Policy]:
    """Every named policy.

    Examples
    --------
    >>> [policy.name for policy in catalogue()][:3]
    ['fcfs', 'greedy', 'easy']
    """
    return [policy for module in MODULES for policy in module.POLICIES]


def written_parts(slot: str) -> dict[str, Written]:
    """The functions of the papers that fill a slot, by name.

    Examples
    --------
    >>> list(written_parts("reserve"))
    ['relaxed', 'selective', 'adaptive']
    """
    parts = [part for module in WRITTEN for part in module.PARTS if part.slot == slot]
    return {part.label.replace("_", "-"): part for part in parts}
