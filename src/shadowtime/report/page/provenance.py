"""Inputs: where every number comes from and how to get it again."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from shadowtime.report.machine import machine, memory
from shadowtime.report.numbers import number
from shadowtime.report.page.markup import section, swatch, text

if TYPE_CHECKING:
    from collections.abc import Iterable

    from shadowtime.report.inputs import ReportInput

HOSTS_SHOWN = 12


def inputs(report: ReportInput) -> str:
    """Trace, cleaning, cluster, policies, seeds, versions and the command."""
    trace = report.workload
    blocks = [
        _block(
            "Trace",
            {
                "name": trace.name,
                "jobs": number(len(trace)),
                "resources": ", ".join(trace.resources),
                "scored": report.window,
            },
        ),
        _cleaning(report),
        _block("Cluster", _cluster(report)),
        _block("Versions", report.versions or {"versions": "not recorded"}),
        _block(
            "Seeds",
            {"seeds": ", ".join(map(str, report.seeds)) if report.seeds else "no randomness used"},
        ),
    ]
    policies = "".join(
        f'<div class="block"><h3 title="{text(run.name)}">{swatch(i)}<span class="name">'
        f"{text(run.name)}</span></h3>{_list(_parameters(run.parameters))}</div>"
        for i, run in enumerate(report.runs)
    )
    return section(
        "inputs",
        "Inputs",
        f'<div class="blocks">{"".join(blocks)}</div><h3>Policies and their parameters</h3>'
        f'<div class="blocks">{policies}</div>{_command(report.command)}{_header(trace.header)}',
    )


def _cleaning(report: ReportInput) -> str:
    """The rules that touched jobs with their counts, the others by name."""
    touched = {rule: f"{number(count)} jobs" for rule, count in report.cleaned.items() if count}
    idle = [rule for rule, count in report.cleaned.items() if not count]
    rest = f'<p class="note idle">No job touched by {text(", ".join(idle))}.</p>' if idle else ""
    return (
        f'<div class="block"><h3>Cleaning</h3>{_list(touched or {"jobs touched": "none"})}{rest}'
        "</div>"
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


def _block(title: str, facts: Mapping[str, str]) -> str:
    return f'<div class="block"><h3>{text(title)}</h3>{_list(facts)}</div>'


def _list(facts: Mapping[str, str]) -> str:
    pairs: Iterable[str] = (
        f"<dt>{text(key)}</dt><dd>{text(value)}</dd>" for key, value in facts.items()
    )
    return f"<dl>{''.join(pairs)}</dl>"


def _command(command: str) -> str:
    if not command:
        return ""
    return (
        f'<h3>Run it again</h3><div class="command"><pre id="command">{text(command)}</pre>'
        '<button type="button" data-copy="command">Copy</button></div>'
    )


def _header(lines: tuple[str, ...]) -> str:
    """The trace's own header: it names whom to acknowledge."""
    if not lines:
        return ""
    return (
        f"<details><summary>Header of the trace, {number(len(lines))} lines</summary>"
        f"<pre>{text(chr(10).join(lines))}</pre></details>"
    )
