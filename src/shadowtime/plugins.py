"""Parts that other packages add, found by their entry points.

A package adds one in its own ``pyproject.toml``; nothing here has to be edited::

    [project.entry-points."shadowtime.formats"]
    oar = "oar_logs:FORMAT"
"""

from __future__ import annotations

from typing import Any

from shadowtime.errors import ShadowtimeError

FORMATS = "shadowtime.formats"
"""Formats of job logs: values of :class:`shadowtime.trace.formats.Format`."""
POLICIES = "shadowtime.policies"
"""Policies by name: whatever ``--policy file.py:name`` accepts, a Policy, a part or an object."""

LIVE = "shadowtime.live"
"""Schedulers to drive: values of :class:`shadowtime.live.backend.Backend`."""


def plugins(group: str) -> dict[str, Any]:
    """Every part that an installed package offers for a group, by name, sorted.

    A part that cannot be loaded ends the command with an error that names its package: what a user
    installed on purpose is never skipped silently.

    Examples
    --------
    >>> plugins("shadowtime.no-such-group")
    {}
    """
    from importlib.metadata import entry_points  # most commands need no group

    found: dict[str, Any] = {}
    for entry in sorted(entry_points(group=group), key=lambda entry: entry.name):
        try:
            found[entry.name] = entry.load()
        except Exception as error:
            package = entry.dist.name if entry.dist else "an installed package"
            what = f"{type(error).__name__}: {error}".splitlines()[0]
            raise ShadowtimeError(
                f"{entry.name}, which {package} adds to {group}, cannot be loaded ({what}): "
                f"fix or uninstall {package}"
            ) from error
    return found
