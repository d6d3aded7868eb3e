"""shadowtime deploy: the changes of a what-if on the real cluster."""

from __future__ import annotations

import os

import click

from shadowtime.cli.common import options
from shadowtime.cli.common.console import note
from shadowtime.cli.whatif import CHANGES
from shadowtime.errors import UsageError


@click.command("deploy")
@click.argument("experiment", type=click.Path())
@CHANGES
@click.option("--tz", metavar="ZONE", help="Time zone of the folder, such as Europe/Zurich.")
@click.option("--print", "printing", is_flag=True, help="Print the changes; nothing is ever run.")
@options.as_json
def command(
    experiment: str,
    settings: tuple[str, ...],
    add_nodes: tuple[str, ...],
    remove_nodes: tuple[str, ...],
    max_limit: str | None,
    load: str | None,
    policy: str | None,
    tz: str | None,
    printing: bool,
    as_json: bool,
) -> None:
    """Print what a what-if would change on the cluster, and how to undo it.

    EXPERIMENT is the file of a what-if, or a site's folder with the changes given as for whatif.
    Prints a diff of slurm.conf and the commands for sacctmgr and scontrol. Nothing is run.

    \b
    shadowtime deploy more.toml --print
    shadowtime deploy site/ --set qos.normal.MaxTRESPU=cpu=512 --print
    """
    from shadowtime.api.site import changes_from, world_of
    from shadowtime.study.site.deploy import deployment
    from shadowtime.study.site.experiment import Experiment, read_experiment

    if not printing and not as_json:
        raise UsageError("deploy changes nothing by itself: give --print to see what to do")
    given = changes_from(
        settings,
        add_nodes=add_nodes,
        remove_nodes=remove_nodes,
        max_limit=max_limit,
        policy=policy,
        load=load,
    )
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
    world = world_of(chosen, report=note)
    made = deployment(world, chosen.changes, files=_files(chosen.site))
    if as_json:
        options.print_json(
            {
                name: list(getattr(made, name))
                for name in ("first", "slurm_conf", "commands", "undo", "notes")
            }
        )
    else:
        click.echo(str(made), nl=False)


def _files(site: str) -> dict[str, str]:
    """The site's configuration files by name, slurm.conf first; empty if the folder has none."""
    from pathlib import Path

    from shadowtime.cluster.site_folder import read_text

    paths = sorted(Path(site).glob("*.conf"), key=lambda path: (path.name != "slurm.conf", path))
    return {path.name: read_text(path) for path in paths if path.is_file()}
