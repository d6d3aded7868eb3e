"""Slow, obvious reference of every policy on a site, from docs/decisions/site.md alone.

Plain lists and dictionaries, one rule per function, no cleverness. Site and Request are the
package's values; everything that is decided is decided here. A plan is a dictionary node -> tasks.
"""

from shadowtime.verify.site.follow import simulate
from shadowtime.verify.site.passes import Classes, NowhereError, Rules
from shadowtime.verify.site.shapes import ALL
from shadowtime.verify.site.world import SiteWorld

__all__ = ["ALL", "Classes", "NowhereError", "Rules", "SiteWorld", "simulate"]
