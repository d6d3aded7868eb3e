"""shadowtime hperf collectors, calibrate: what can be measured on this machine."""

from __future__ import annotations

import os
import sys

import click

from shadowtime.cli.common.outputs import print_json

LOAD = "x = 0\nfor i in range(3_000_000): x += i * i"
"""A run of about a fifth of a second."""


def collectors(*, overhead: int | None = None, json: bool = False) -> None:
    """Which collectors work on this machine, and why the others do not.

    With --overhead the cost of collecting is measured as in the thesis' Figures 3.1 and 3.2: the
    same program alternately with and without. If no counter works, it is the cost of starting the
    job under a wrapper that counts nothing.

    \b
    shadowtime hperf collectors

    Parameters
    ----------
    overhead : N
        Run a small program N times with and without a collector.
    """
    from shadowtime.hperf.collect import perf, resctrl

    reasons = {"perf": perf.missing(), "resctrl": resctrl.missing(), "declared": "", "csv": ""}
    content: dict[str, object] = {
        "collectors": {name: why or "works" for name, why in reasons.items()}
    }
    if not json:
        for name, why in reasons.items():
            click.echo(f"{name:10s} {why or 'works'}")
    if overhead is not None:
        from shadowtime.hperf.calibrate import overhead as measure

        works = not reasons["perf"]
        wrapper = [*perf.COMMAND, "-o", "/dev/null"] if works else ["/usr/bin/env"]
        found = measure([sys.executable, "-c", LOAD], wrapper, runs=overhead)
        content["overhead"] = {
            "wrapper": wrapper[0],
            "overhead": overhead,
            "plain_s": list(found.plain),
            "collected_s": list(found.collected),
            "mean": found.mean,
            "interval_95": found.interval,
        }
        if not json:
            click.echo(
                f"overhead   {100 * found.mean:+.2f} % (95 %: +- {100 * found.interval:.2f}) over "
                f"{overhead} pairs of runs, {wrapper[0]} counting{'' if works else ' nothing'}"
            )
    if json:
        print_json(content)


def calibrate(
    *, processes: int | None = None, megabytes: int = 64, seconds: float = 1.0, json: bool = False
) -> None:
    """Measure the memory bandwidth of this node.

    A small program similar to STREAM runs in 1, 2, 4 ... processes at once. The largest figure is
    the value for --capacity.

    \b
    shadowtime hperf calibrate --seconds 0.2

    Parameters
    ----------
    processes : N
        The largest number of processes. [default: cores]
    megabytes
        Size of each array.
    seconds
        Duration of each measurement.
    """
    from shadowtime.hperf.calibrate import calibrate

    most = processes or len(os.sched_getaffinity(0))
    counts = [1 << k for k in range(most.bit_length()) if 1 << k <= most]
    found = calibrate(sorted({*counts, most}), megabytes=megabytes, seconds=seconds)
    if json:
        print_json(
            {
                "bandwidth_mb_s": {str(n): rate for n, rate in found.by_processes.items()},
                "capacity_mb_s": found.capacity,
            }
        )
        return
    for count, rate in found.by_processes.items():
        click.echo(f"{count:4d} processes  {rate:12,.0f} MB/s  {rate / count:12,.0f} each")
    click.echo(f"capacity  {found.capacity:,.0f} MB/s")
