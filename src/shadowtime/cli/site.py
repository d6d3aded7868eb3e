"""Sites: real machines with mixed nodes, partitions, limits, outages."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from rich.table import Table
from rich.text import Text

from shadowtime.api.site import UNCHANGED, Changes, world_of
from shadowtime.cli.common import console
from shadowtime.cli.common.console import note
from shadowtime.cli.common.outputs import print_json
from shadowtime.cluster import site_folder, site_summary, site_toml_write, spec
from shadowtime.cluster.amounts import COUNTED
from shadowtime.cluster.site import Site
from shadowtime.errors import UsageError
from shadowtime.report.machine import amounts, memory
from shadowtime.report.numbers import number, span
from shadowtime.study.site.deploy import deployment
from shadowtime.study.site.experiment import Experiment, read_experiment
from shadowtime.types import FileOrFolder

if TYPE_CHECKING:
    from rich.console import RenderableType


COMMANDS = {"Commands": ("show",)}


def show(
    site: FileOrFolder, *, tz: str | None = None, toml: bool = False, json: bool = False
) -> None:
    """Show what SITE consists of: nodes by kind, partitions, limits.

    SITE is a folder, TOML, slurm.conf, or scontrol show node's output.

    \b
    shadowtime site show cluster/
    shadowtime site show nodes.txt --toml > site.toml

    Parameters
    ----------
    tz : ZONE
        Time zone of Slurm's times, such as Europe/Zurich.
    toml
        Print the site as TOML, for editing.
    """
    found = spec.parse_machine(site, tz=tz)
    if not isinstance(found, Site):
        found = spec.site_of(found)
    if toml and json:
        raise UsageError("give --toml or --json, not both")
    if toml:
        click.echo(site_toml_write.format_site_toml(found), nl=False)
    elif json:
        print_json(site_summary.summarise(found))
    else:
        console.show(*parts(site_summary.summarise(found)))


def parts(found: Mapping[str, Any]) -> list[RenderableType]:
    """The summary of a site as text and tables."""
    total = amounts(found["total"])
    count = sum(kind["count"] for kind in found["nodes"])
    shown: list[RenderableType] = [
        Text.assemble((found["name"] or "site", "bold"), f": {number(count)} nodes with {total}"),
        _nodes(found),
    ]
    if found["partitions"]:
        shown.append(_partitions(found))
    counts = {
        name: found[name]
        for name in ("qos", "accounts", "users", "reservations", "outages", "switches")
    }
    shown.append(Text(", ".join(f"{n} {name}" for name, n in counts.items())))
    for kind in COUNTED:
        value = found[kind.entry]
        each = value if isinstance(value, dict) else {} if value is None else {"": value}
        if each:
            listed = (f"{own} {kind.count(number(n))}".strip() for own, n in each.items())
            shown.append(Text(f"{kind.entry}: {', '.join(listed)}"))
    if found["limits"]:
        enforced = "" if found["limits_enforced"] else " (AccountingStorageEnforce: not enforced)"
        shown.append(Text(f"\nLimits{enforced}:", "bold"))
        shown += [
            Text(f"  {who}: {', '.join(f'{name} {_plain(value)}' for name, value in each.items())}")
            for who, each in found["limits"].items()
        ]
    if found["ignored"]:
        shown.append(Text("\nPresent but not modelled:", "bold"))
        shown += [Text(f"  {len(at):>6,}  {key}") for key, at in sorted(found["ignored"].items())]
    if found["notes"]:
        shown.append(Text("\nNotes:", "bold"))
        shown += [Text(f"  {one}") for one in found["notes"]]
    return shown


def _nodes(found: Mapping[str, Any]) -> RenderableType:
    table = Table(box=None, pad_edge=False, header_style="dim")
    names = list(found["total"])
    for title in ("nodes", *names, "weight"):
        table.add_column(title, justify="right")
    table.add_column("features")
    table.add_column("names", overflow="ellipsis", no_wrap=True)
    for kind in found["nodes"]:
        table.add_row(
            number(kind["count"]),
            *(memory(kind[name]) if name == "memory" else number(kind[name]) for name in names),
            str(kind["weight"]),
            ",".join(kind["features"]),
            kind["names"],
        )
    return table


def _partitions(found: Mapping[str, Any]) -> RenderableType:
    table = Table(box=None, pad_edge=False, header_style="dim")
    table.add_column("partition")
    for title in ("nodes", "cpus", "max time", "tier", "factor"):
        table.add_column(title, justify="right")
    for title in ("exclusive", "preempt", "qos"):
        table.add_column(title)
    for one in found["partitions"]:
        table.add_row(
            one["name"] + ("*" if one["default"] else ""),
            number(one["nodes"]),
            number(one["cpus"]),
            "" if one["max_time"] is None else span(one["max_time"]),
            str(one["tier"]),
            str(one["priority_factor"]),
            "yes" if one["exclusive"] else "",
            one["preempt"] or "",
            one["qos"],
        )
    return table


def _plain(value: Any) -> str:
    if isinstance(value, dict):
        return " ".join(f"{name}={amount}" for name, amount in value.items())
    return str(value)


def deploy(
    experiment: FileOrFolder,
    *,
    changes: Changes = UNCHANGED,
    tz: str | None = None,
    print_: bool = False,
    json: bool = False,
) -> None:
    """Print what a what-if would change on the cluster, and how to undo it.

    EXPERIMENT is the file of a what-if, or a site's folder with the changes given as for whatif.
    Prints a diff of slurm.conf and the commands for sacctmgr and scontrol. Nothing is run.

    \b
    shadowtime deploy more.toml --print
    shadowtime deploy site/ --set qos.normal.MaxTRESPU=cpu=512 --print

    Parameters
    ----------
    tz : ZONE
        Time zone of the folder, such as Europe/Zurich.
    print_
        Print the changes; nothing is ever run.
    """
    if not print_ and not json:
        raise UsageError("deploy changes nothing by itself: give --print to see what to do")
    given = changes.made()
    if experiment.endswith(".toml") and os.path.isfile(experiment):
        if given:
            raise UsageError(
                f"{experiment} contains its own changes: edit that file, or give a "
                "site's folder with --set"
            )
        chosen = read_experiment(experiment)
    else:
        chosen = Experiment(site=experiment, changes=given, tz=tz or "")
    if not chosen.changes:
        raise UsageError("nothing is changed: give --set, --remove-nodes or another change")
    made = deployment(world_of(chosen, report=note), chosen.changes, files=_files(chosen.site))
    if json:
        shown = ("first", "slurm_conf", "commands", "undo", "notes")
        print_json({name: list(getattr(made, name)) for name in shown})
    else:
        click.echo(str(made), nl=False)


def _files(site: str) -> dict[str, str]:
    """The site's configuration files by name, slurm.conf first; empty if the folder has none."""
    paths = sorted(Path(site).glob("*.conf"), key=lambda path: (path.name != "slurm.conf", path))
    return {path.name: site_folder.read_text(path) for path in paths if path.is_file()}
