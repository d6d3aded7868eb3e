"""Inputs: where every number comes from and how to get it again."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from shadowtime.report.machine import machine, memory
from shadowtime.report.numbers import number
from shadowtime.report.page.templates import fill

if TYPE_CHECKING:
    from shadowtime.report.inputs import ReportInput

HOSTS_SHOWN = 12


def inputs(report: ReportInput) -> str:
    """Trace, cleaning, cluster, policies, seeds, versions and the command."""
    trace = report.workload
    facts = {
        "name": trace.name,
        "jobs": number(len(trace)),
        "resources": ", ".join(trace.resources),
        "scored": report.window,
    }
    seeds = ", ".join(map(str, report.seeds)) if report.seeds else "no randomness used"
    touched = {rule: f"{number(count)} jobs" for rule, count in report.cleaned.items() if count}
    idle = [rule for rule, count in report.cleaned.items() if not count]
    note = f"No job touched by {', '.join(idle)}." if idle else ""
    return fill(
        "inputs.html",
        blocks=[
            ("Trace", facts, ""),
            ("Cleaning", touched or {"jobs touched": "none"}, note),
            ("Cluster", _cluster(report), ""),
            ("Versions", report.versions or {"versions": "not recorded"}, ""),
            ("Seeds", {"seeds": seeds}, ""),
        ],
        policies=[(run.name, _parameters(run.parameters)) for run in report.runs],
        command=report.command,
        header=trace.header,
    )


def _cluster(report: ReportInput) -> dict[str, str]:
    cluster = report.cluster
    facts: dict[str, str] = {"shape": cluster.shape}
    if cluster.name:
        facts["name"] = cluster.name
    facts |= {
        resource: memory(amount) if resource == "memory" else number(amount)
        for resource, amount in cluster.total.items()
    }
    if cluster.shape == "site":
        facts["nodes"] = machine(cluster)
    if cluster.shape != "pool":
        names = [host.name for host in cluster.hosts]
        rest = len(names) - HOSTS_SHOWN
        facts[f"{number(len(names))} hosts"] = ", ".join(names[:HOSTS_SHOWN]) + (
            f" and {number(rest)} more" if rest > 0 else ""
        )
    return facts | {str(key): str(value) for key, value in cluster.options.items()}


def _parameters(parameters: Mapping[str, object], prefix: str = "") -> dict[str, str]:
    """Every parameter on a line of its own, nested ones by their path.

    Examples
    --------
    >>> _parameters({"order": "fcfs", "backfill": {"extra": True}})
    {'order': 'fcfs', 'backfill.extra': 'True'}
    """
    flat: dict[str, str] = {}
    for key, value in parameters.items():
        if isinstance(value, Mapping):
            flat |= _parameters(value, f"{prefix}{key}.")
        else:
            flat[f"{prefix}{key}"] = str(value)
    return flat or ({} if prefix else {"parameters": "none"})
