"""shadowtime hperf calibrate: the bandwidth of this node."""

from __future__ import annotations

import os

import click

from shadowtime.cli.common import options


@click.command("calibrate")
@click.option(
    "--processes", type=int, metavar="N", help="The largest number of processes. [default: cores]"
)
@click.option("--megabytes", type=int, default=64, show_default=True, help="Size of each array.")
@click.option(
    "--seconds", type=float, default=1.0, show_default=True, help="Duration of each measurement."
)
@options.as_json
def command(processes: int | None, megabytes: int, seconds: float, as_json: bool) -> None:
    """Measure the memory bandwidth of this node with a small program similar to STREAM, with 1, 2,
    4 ... processes at once. The largest figure is the value for --capacity.

    \b
    shadowtime hperf calibrate --seconds 0.2
    """
    from shadowtime.hperf.calibrate import calibrate

    most = processes or len(os.sched_getaffinity(0))
    counts = [1 << k for k in range(most.bit_length()) if 1 << k <= most]
    found = calibrate(sorted({*counts, most}), megabytes=megabytes, seconds=seconds)
    if as_json:
        options.print_json(
            {
                "bandwidth_mb_s": {str(n): rate for n, rate in found.by_processes.items()},
                "capacity_mb_s": found.capacity,
            }
        )
        return
    for count, rate in found.by_processes.items():
        click.echo(f"{count:4d} processes  {rate:12,.0f} MB/s  {rate / count:12,.0f} each")
    click.echo(f"capacity  {found.capacity:,.0f} MB/s")
