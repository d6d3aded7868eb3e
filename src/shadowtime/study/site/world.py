"""What a what-if is about: a site, its jobs, and the policy that runs them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from datetime import tzinfo

    from shadowtime.cluster.site import Site
    from shadowtime.workload import Workload


@dataclass(frozen=True, eq=False, kw_only=True)
class SiteWorld:
    """A site, its jobs and a policy; ``zone`` is that of times without an offset."""

    site: Site
    jobs: Workload
    policy: Any
    zone: tzinfo

    def replace(self, **changes: Any) -> SiteWorld:
        """A variant."""
        return replace(self, **changes)

    def on_site(self, **changes: Any) -> SiteWorld:
        """A variant of the site."""
        return replace(self, site=self.site.replace(**changes))
