"""Options of the commands that talk to a live cluster."""

from __future__ import annotations

import click

from shadowtime.cli.common import options

policy = click.option(
    "--policy",
    "-p",
    metavar="P",
    shell_complete=options.policy_names,
    help="A name with or without parameters, as in a simulation. [default: the loop's own, from "
    "its state file]",
)
partition = click.option(
    "--partition",
    metavar="NAME",
    default="",
    help="The partition, or several as in a,b. [default: Slurm's default one]",
)
gres = click.option(
    "--gres",
    metavar="NAME",
    multiple=True,
    help="A generic resource that the policy counts beside processors.",
)
shape = click.option(
    "--shape",
    type=click.Choice(["pool", "hosts", "nodes", "site"]),
    help="How the policy sees the machine. [default: nodes for policies that share bandwidth; site "
    "for several partitions, mixed or shared nodes, enforced limits; else pool]",
)
state = click.option(
    "--state",
    "state_file",
    metavar="FILE",
    type=click.Path(dir_okay=False),
    help="What the loop remembers. [default: in $STATE_DIRECTORY or ~/.local/state/shadowtime]",
)
timeout = click.option(
    "--timeout",
    type=click.FloatRange(min=0.1),
    default=20.0,
    show_default=True,
    metavar="SECONDS",
    help="How long one of the cluster's commands may take.",
)
