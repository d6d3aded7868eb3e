"""Options that several commands share, each written once."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from typing import Any, TypeVar

import click
from click.shell_completion import CompletionItem

from shadowtime.cli.common.amounts import Size, Span

Command = TypeVar("Command", bound=Callable[..., Any])
Decorator = Callable[[Command], Command]


def all_of(*decorators: Decorator[Any]) -> Decorator[Any]:
    """Several options as one decorator, in the order in which help shows them."""

    def decorate(command: Command) -> Command:
        for decorator in reversed(decorators):
            command = decorator(command)
        return command

    return decorate


def policy_names(
    context: click.Context, parameter: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    from shadowtime.policy import catalogue

    return [
        CompletionItem(entry.name, help=entry.summary)
        for entry in catalogue()
        if entry.name.startswith(incomplete)
    ]


trace = click.argument("trace", type=click.Path())
log = click.argument("log", type=click.Path())

cluster = click.option(
    "--cluster",
    "-c",
    metavar="C",
    help="The machine: pool:430, pool:1024,memory=1TB, a TOML file, Slurm's nodes.txt or "
    "slurm.conf, or a site's folder. [default: that of the trace's header or folder]",
)

clusters = click.option(
    "--cluster",
    "-c",
    "clusters",
    multiple=True,
    metavar="C",
    help="The machine, as for simulate; give it once for each machine to compare. [default: that "
    "of the trace's header or folder]",
)

policy = click.option(
    "--policy",
    "-p",
    metavar="P",
    required=True,
    shell_complete=policy_names,
    help="A name with or without parameters (easy, 'easy(reserve=4, order=lxfw)'), a TOML file, "
    "or my.py:name, which executes that file with your permissions; parts may be in files, too: "
    "'easy(order=my.py:f1)'.",
)

own_policy = click.option(
    "--policy",
    "-p",
    metavar="P",
    shell_complete=policy_names,
    help="The policy that the machine ran, as for simulate. [default on a site: slurm, with the "
    "site's own settings]",
)

phases = click.option(
    "--phases",
    type=click.IntRange(2, 100),
    metavar="N",
    help="Sites: simulate N runs, with Slurm's passes at different offsets, or for other policies "
    "on shaken copies of the log. [default: 6; policies other than slurm: 1]",
)

policies = click.option(
    "--policy",
    "-p",
    "policies",
    metavar="P",
    required=True,
    multiple=True,
    shell_complete=policy_names,
    help="As for simulate; give it once for each policy.",
)

reading = all_of(
    click.option(
        "--tz", metavar="ZONE", help="Time zone of a Slurm export, such as Europe/Zurich."
    ),
    click.option(
        "--slurm-cluster", metavar="NAME", help="The cluster to use if an export contains several."
    ),
    click.option(
        "--unlimited",
        type=Span(),
        metavar="SPAN",
        help="The value of an UNLIMITED time limit, such as 30d. [default: unknown]",
    ),
    click.option(
        "--bad-lines",
        type=click.Choice(["refuse", "drop"]),
        default="refuse",
        show_default=True,
        help="Unreadable lines: an error, or dropped and counted.",
    ),
    click.option(
        "--max-size",
        type=Size(),
        metavar="SIZE",
        help="Reject a log that is larger than this when decompressed. [default: 1GB]",
    ),
)


def how_to_read(
    tz: str | None,
    slurm_cluster: str | None,
    unlimited: int | None,
    bad_lines: str,
    max_size: int | None,
) -> dict[str, Any]:
    """The reader's arguments from these options."""
    return {
        "tz": tz,
        "cluster": slurm_cluster,
        "unlimited": unlimited,
        "bad_lines": bad_lines,
        **({} if max_size is None else {"max_size": max_size}),
    }


cleaning = all_of(
    click.option(
        "--overrun",
        type=click.Choice(["cut", "extend", "keep"]),
        default="cut",
        show_default=True,
        help="Jobs that ran longer than requested: killed at the request, request raised, or no "
        "limits at all.",
    ),
    click.option(
        "--cancelled",
        type=click.Choice(["drop", "queue-until-cancel", "refuse"]),
        help="Jobs cancelled before they started. [default: drop; on a site queue-until-cancel]",
    ),
    click.option(
        "--too-wide",
        type=click.Choice(["drop", "refuse"]),
        default="drop",
        show_default=True,
        help="Jobs that fit nowhere: dropped and counted (up to 1 %), or an error.",
    ),
    click.option(
        "--rule",
        "rules",
        multiple=True,
        metavar="NAME=CHOICE",
        help="Another cleaning rule, such as no_run=one-second or partial=keep (an unknown name "
        "lists "
        "them); repeatable.",
    ),
    reading,
)

demand = click.option(
    "--demand",
    metavar="D",
    help="Nodes: the bandwidth that each process demands, by classes assigned to jobs at random: "
    "HIGH, MED, LOW or shares such as 80/10/10; 'HIGH,seed=2,high=1750' changes the "
    "assignment. [default: that of the log]",
)

window = click.option(
    "--window",
    metavar="W",
    help="Score only jobs submitted after a warm-up and before a cool-down, such as 7d:1d. "
    "[default: all jobs]",
)

where = click.option(
    "--where",
    metavar="COND",
    default="",
    help="Only these jobs count (all are simulated): partition=gpu,user!=root, procs>=64, gpus>0, "
    "qos=a|b.",
)

by = click.option(
    "--by",
    metavar="KEYS",
    default="",
    help="Group results by account,partition,qos,user,gpus,nodes,size.",
)

as_json = click.option(
    "--json", "as_json", is_flag=True, help="One JSON object on standard output, nothing else."
)

folder = click.option(
    "-o",
    "--output",
    "folder",
    metavar="DIR",
    type=click.Path(file_okay=False),
    help="Write a result folder: schedules, metrics, inputs, the command.",
)

schedule = click.option(
    "--schedule",
    metavar="OUT.csv",
    type=click.Path(dir_okay=False),
    help="Write the schedule, a row per job (.csv or .parquet).",
)

report = click.option(
    "--report",
    metavar="OUT.html",
    type=click.Path(dir_okay=False),
    help="Write one self-contained page: the verdict, the schedules, the source of each number.",
)

figures = click.option(
    "--figures",
    metavar="DIR",
    type=click.Path(file_okay=False),
    help="Draw figures for papers and slides (SVG and PDF).",
)


def print_json(value: object) -> None:
    """One JSON object on standard output."""
    from shadowtime.result.write import to_json

    click.echo(to_json(value))


def command_line() -> str:
    """The command line, quoted so that it can be typed again."""
    words: tuple[str, ...] = click.get_current_context().find_root().obj
    return shlex.join(words)
