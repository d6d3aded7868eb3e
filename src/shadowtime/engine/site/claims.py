"""What a policy claims on a site, for check to prove."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shadowtime.engine.claims import keeps_promises
from shadowtime.schedule.check.claims import PROMISES_KEPT

if TYPE_CHECKING:
    from shadowtime.cluster.site import Site
    from shadowtime.policy import Policy
    from shadowtime.workload import Workload


def site_claims(policy: Policy, workload: Workload, site: Site) -> tuple[str, ...]:
    """Permanent promises are kept where no node fails and no limit can forbid a start.

    The other claims are about pools: they count processors.
    """
    quiet = not site.outages and not any(one.known_at for one in site.reservations)
    unbound = "limits" not in site.enforce
    kept = policy.keeps_promises and keeps_promises(policy, workload)
    return (PROMISES_KEPT,) if kept and quiet and unbound else ()
