"""The parameters that several commands share, each described once, and completion of policies."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import click
    from click.shell_completion import CompletionItem

SHARED = """
by : KEYS
    Group results by account,partition,qos,user,gpus,nodes,size.
cluster : C
    The machine: pool:430, pool:1024,memory=1TB, a TOML file, Slurm's nodes.txt or slurm.conf, or a
    site's folder. [default: that of the trace's header or folder]
clusters : C
    The machine, as for simulate; give it once for each machine to compare. [default: that of the
    trace's header or folder]
demand : D
    Nodes: the bandwidth that each process demands, by classes assigned to jobs at random: HIGH,
    MED, LOW or shares such as 80/10/10; 'HIGH,seed=2,high=1750' changes the assignment. [default:
    that of the log]
figures : DIR
    Draw figures for papers and slides (SVG and PDF).
json
    One JSON object on standard output, nothing else.
output : DIR
    Write a result folder: schedules, metrics, inputs, the command.
policies : P
    As for simulate; give it once for each policy.
policy : P
    A name with or without parameters (easy, 'easy(reserve=4, order=lxfw)'), a TOML file, or
    my.py:name, which executes that file with your permissions; parts may be in files, too:
    'easy(order=my.py:f1)'.
report : OUT.html
    Write one self-contained page: the verdict, the schedules, the source of each number.
resume : DIR
    Save every simulated run in DIR and reuse runs found there: the same command resumes after
    Ctrl-C (without DIR, too, if it took over a minute), and another change simulates only what it
    affects.
schedule : OUT.csv
    Write the schedule, a row per job (.csv or .parquet).
state : FILE
    The loop's state file. [default: in $STATE_DIRECTORY or ~/.local/state/shadowtime]
where : COND
    Only these jobs count (all are simulated): partition=gpu,user!=root, procs>=64, gpus>0,
    qos=a|b.
window : W
    Score only jobs submitted after a warm-up and before a cool-down, such as 7d:1d. [default: all
    jobs]
"""
"""Read as a section Parameters by :mod:`shadowtime.cli.common.declared`."""


def policy_names(
    context: click.Context, parameter: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """The policies of the catalogue, for a shell."""
    from click.shell_completion import CompletionItem

    from shadowtime.policy import catalogue

    return [
        CompletionItem(entry.name, help=entry.summary)
        for entry in catalogue()
        if entry.name.startswith(incomplete)
    ]
