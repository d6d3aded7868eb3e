"""Parameters that several commands share, amounts as they are typed, completion of policies."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

if TYPE_CHECKING:
    SpanType = click.ParamType[int]
    RangeType = click.ParamType[tuple[int, int | None]]
    CommasType = click.ParamType[tuple[str, ...]]
else:  # only newer versions of click know what a type converts to
    SpanType = RangeType = CommasType = click.ParamType

UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}


class Span(SpanType):
    """A length of time: 90, 90s, 5m, 36h, 7d, 2w.

    Examples
    --------
    >>> Span().convert("36h", None, None)
    129600
    """

    name = "span"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        if isinstance(value, int):
            return value
        match = re.fullmatch(r"(\d{1,12})\s*([smhdw]?)", str(value).strip().lower())
        if match is None:
            self.fail(f"{value!r} is not a length of time: write 90s, 5m, 36h, 7d or 2w")
        return int(match[1]) * UNITS[match[2] or "s"]


class Range(RangeType):
    """Two whole numbers, FROM:TO; either may be left out.

    Examples
    --------
    >>> Range().convert("10:", None, None)
    (10, None)
    """

    name = "range"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[int, int | None]:
        if isinstance(value, tuple):
            return value
        match = re.fullmatch(r"(\d{0,12}):(\d{0,12})", str(value).strip())
        if match is None:
            self.fail(f"{value!r} is not a range: write FROM:TO, as in 0:30")
        return int(match[1] or 0), int(match[2]) if match[2] else None


class Size(SpanType):
    """A size of a file in bytes: 500MB, 8GB, 1000000.

    Examples
    --------
    >>> Size().convert("8GB", None, None)
    8589934592
    """

    name = "size"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        if isinstance(value, int):
            return value
        match = re.fullmatch(r"([0-9]{1,15})\s*([kmgt]?)i?b?", str(value).strip().lower())
        if match is None:
            self.fail(f"{value!r} is not a size: write 500MB or 8GB")
        return int(match[1]) << (10 * " kmgt".index(match[2] or " "))


class Commas(CommasType):
    """Several texts, separated by commas.

    Examples
    --------
    >>> Commas().convert("bsld_mean, wait_max_s", None, None)
    ('bsld_mean', 'wait_max_s')
    """

    name = "commas"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[str, ...]:
        if isinstance(value, tuple):
            return value
        return tuple(part.strip() for part in str(value).split(",") if part.strip())


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
