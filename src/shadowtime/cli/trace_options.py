"""Options that the trace commands share."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import click

from shadowtime.cli.options import all_of

if TYPE_CHECKING:
    from shadowtime.workload import Workload

    SpanType = click.ParamType[int]
    RangeType = click.ParamType[tuple[int, int | None]]
else:  # only newer versions of click know what a type converts to
    SpanType = RangeType = click.ParamType

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


slurm = all_of(
    click.option("--tz", metavar="ZONE", help="Time zone of a Slurm export, as Europe/Zurich."),
    click.option(
        "--slurm-cluster", metavar="NAME", help="Which cluster of an export that holds several."
    ),
    click.option(
        "--unlimited",
        type=Span(),
        metavar="SPAN",
        help="What an UNLIMITED time limit stands for, as 30d. [default: unknown]",
    ),
    click.option(
        "--bad-lines",
        type=click.Choice(["refuse", "drop"]),
        default="refuse",
        show_default=True,
        help="Lines that cannot be read: an error, or dropped and counted.",
    ),
)


def how_to_read(tz: str | None, slurm_cluster: str | None, unlimited: int | None,
                bad_lines: str) -> dict[str, Any]:  # fmt: skip
    """The reader's arguments from these options."""
    return {
        "tz": tz,
        "cluster": slurm_cluster,
        "unlimited": unlimited,
        "bad_lines": bad_lines,
    }


def summary(workload: Workload) -> str:
    """A log in one line.

    Examples
    --------
    >>> from shadowtime.workload import Workload
    >>> summary(Workload.build(submit=[0, 86400], run=[9, 9], procs=[1, 1], machine={"procs": 4}))
    '2 jobs over 1 d, offered load 0.00 on 4 procs'
    """
    from shadowtime.cli.tables import count
    from shadowtime.cluster import Cluster
    from shadowtime.report.numbers import number, span
    from shadowtime.workload.scale import offered_load

    length = int(workload.submit[-1] - workload.submit[0]) if len(workload) else 0
    text = f"{count(len(workload), 'job')} over {span(length)}"
    procs = workload.machine.get("procs")
    if procs and length:
        load = offered_load(workload, Cluster.pool(procs))["procs"]
        text += f", offered load {load:.2f} on {number(procs)} procs"
    return text


def load_warning(workload: Workload) -> str:
    """What to say of a load at or above 1; empty below."""
    from shadowtime.cluster import Cluster
    from shadowtime.workload.scale import offered_load

    procs = workload.machine.get("procs")
    if not procs or len(workload) < 2 or workload.submit[0] == workload.submit[-1]:
        return ""
    load = offered_load(workload, Cluster.pool(procs))["procs"]
    if load < 1:
        return ""
    return f"warning: at an offered load of {load:.2f} the queue grows as long as jobs arrive"
