"""Every policy on a site: mixed nodes, partitions, limits, reservations, outages."""

from shadowtime.engine.site.simulate import simulate_site

__all__ = ["simulate_site"]
