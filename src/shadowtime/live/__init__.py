"""Real clusters: a loop observes, decides and acts through a port. ``live.run`` runs one.

    from shadowtime import live

    live.run(port, "easy", act=True)

Names are loaded when they are first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from shadowtime.later import later

if TYPE_CHECKING:
    from shadowtime.live.backend import Backend as Backend
    from shadowtime.live.backend import Option as Option
    from shadowtime.live.backend import Target as Target
    from shadowtime.live.registry import backends as backends
    from shadowtime.live.service import run as run
else:
    __getattr__, __all__, __dir__ = later(__name__)
