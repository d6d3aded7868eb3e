"""Parts that other packages add, found by their entry points.

A package adds one in its own ``pyproject.toml``; nothing here has to be edited::

    [project.entry-points."shadowtime.formats"]
    oar = "oar_logs:FORMAT"
"""

from __future__ import annotations

import os
import sys
import warnings
from typing import Any

from shadowtime.errors import ShadowtimeError, near

POLICIES = "shadowtime.policies"
"""Policies by name: whatever ``--policy file.py:name`` accepts, a Policy, a part or an object."""
PREDICTORS = "shadowtime.predictors"
"""Parts for ``estimate``: functions of a whole log, or made by ``st.estimate``."""
METRICS = "shadowtime.metrics"
"""Metrics: functions made by ``st.metric``."""
FORMATS = "shadowtime.formats"
"""Formats of job logs: values of :class:`shadowtime.trace.formats.Format`."""
LIVE = "shadowtime.live"
"""Schedulers to drive: values of :class:`shadowtime.live.backend.Backend`."""

GROUPS = (POLICIES, PREDICTORS, METRICS, FORMATS, LIVE)
_PREFIX = "shadowtime."
_named: set[tuple[str, str]] = set()
"""Unknown groups that were reported, with their packages: once is enough."""


def plugins(group: str) -> dict[str, Any]:
    """Every part that an installed package offers for a group, by name, sorted.

    A part that cannot be loaded ends the command with an error that names its package: what a user
    installed on purpose is never skipped silently. For the same reason there is a warning about
    groups of ours that do not exist.

    Examples
    --------
    >>> plugins("shadowtime.policies")
    {}
    """
    if not any(map(_adds_parts, sys.path)):
        return {}
    from importlib.metadata import entry_points  # takes longer to load than to look without it

    found: dict[str, Any] = {}
    every = entry_points()
    for unknown in sorted({one for one in every.groups if one.startswith(_PREFIX)} - {*GROUPS}):
        for entry in every.select(group=unknown):
            _report_unknown(unknown, _package(entry))
    for entry in sorted(every.select(group=group), key=lambda entry: entry.name):
        try:
            found[entry.name] = entry.load()
        except Exception as error:
            package = _package(entry)
            what = f"{type(error).__name__}: {error}".splitlines()[0]
            raise ShadowtimeError(
                f"{entry.name}, which {package} adds to {group}, cannot be loaded ({what}): "
                f"fix or uninstall {package}"
            ) from error
    return found


def _adds_parts(folder: str) -> bool:
    """True if a package that is installed in a folder has entry points for us."""
    try:
        names = [one for one in os.listdir(folder or ".") if one.endswith("-info")]
    except OSError:
        return os.path.isfile(folder)  # an archive: look there in the usual way
    for name in names:
        try:
            with open(os.path.join(folder, name, "entry_points.txt"), "rb") as file:
                if f"[{_PREFIX}".encode() in file.read():
                    return True
        except OSError:
            continue
    return False


def _package(entry: Any) -> str:
    return str(entry.dist.name) if entry.dist else "an installed package"


def _report_unknown(group: str, package: str) -> None:
    if (group, package) not in _named:
        _named.add((group, package))
        warnings.warn(
            f"{package} adds parts to {group}, which Shadowtime does not know, so they are not "
            f"used{near(group, GROUPS)}",
            stacklevel=3,
        )
