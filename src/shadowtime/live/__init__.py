"""Real clusters: a loop observes, decides and acts through a port. ``live.run`` runs one.

    from shadowtime import live

    live.run(port, "easy", act=True)

Names are loaded when they are first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from shadowtime.live.backend import Backend, Option, Target
    from shadowtime.live.registry import backends
    from shadowtime.live.service import run

_HOME = {
    "Backend": "shadowtime.live.backend",
    "Option": "shadowtime.live.backend",
    "Target": "shadowtime.live.backend",
    "backends": "shadowtime.live.registry",
    "run": "shadowtime.live.service",
}

__all__ = ["Backend", "Option", "Target", "backends", "run"]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOME[name]), name)
