"""shadowtime deploy: the changes of a what-if on the real cluster."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import click

from shadowtime.api.site import UNCHANGED, Changes, world_of
from shadowtime.cli.common.console import note
from shadowtime.cli.common.outputs import print_json
from shadowtime.cluster.site_folder import read_text
from shadowtime.errors import UsageError
from shadowtime.study.site.deploy import deployment
from shadowtime.study.site.experiment import Experiment, read_experiment

if TYPE_CHECKING:
    from shadowtime.types import FileOrFolder


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
    return {path.name: read_text(path) for path in paths if path.is_file()}
