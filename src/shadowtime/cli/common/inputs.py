"""Logs and machines for commands: loaded as the Python interface does, with progress."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from shadowtime.api.load import Cleaning, must_score_some
from shadowtime.api.load import load as load_quietly
from shadowtime.cli.common.console import note
from shadowtime.cli.common.progress import compile_notice, working

if TYPE_CHECKING:
    from collections.abc import Iterable

    from shadowtime.cluster import Cluster
    from shadowtime.workload import Workload

__all__ = ["Cleaning", "load", "must_score_some", "print_policy_notes"]


def load(
    trace: str, cluster: str | None, cleaning: Cleaning, *, demand: str | None = None
) -> tuple[Workload, Cluster]:
    """Read a log and its machine, and report what has no effect."""
    notes: list[str] = []
    with working(f"reading {trace}"), compile_notice("the log reader", "a few seconds"):
        found = load_quietly(trace, cluster, cleaning, demand=demand, report=notes.append)
    for one in notes:
        note(one)
    return found


def print_policy_notes(policies: Iterable[Any], machine: Cluster, workload: Workload) -> None:
    """Print the policies' remarks about a machine and a log before they run."""
    for policy in policies:
        for one in policy.notes_on(machine, workload) if hasattr(policy, "notes_on") else ():
            note(one)
