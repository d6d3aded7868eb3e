"""The site's dates on the workload's clock."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shadowtime.errors import UsageError
from shadowtime.types import NO_LIMIT

if TYPE_CHECKING:
    from shadowtime.workload import Workload


def on_clock(workload: Workload, when: int) -> int:
    """An instant in seconds since 1970 as the workload's clock shows it; NO_LIMIT stays."""
    if when >= NO_LIMIT:
        return NO_LIMIT
    if workload.epoch is None:
        raise UsageError(
            f"the site has outages or reservations with dates, but {workload.name} does not say "
            "when its clock reads 0: give the workload an epoch, or leave them out of the site"
        )
    return when - workload.epoch
