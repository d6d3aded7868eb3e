"""shadowtime hperf collectors: what can be measured here, and what it costs."""

from __future__ import annotations

import sys

import click

from shadowtime.cli.common import options

LOAD = "x = 0\nfor i in range(3_000_000): x += i * i"
"""A run of about a fifth of a second."""


@click.command("collectors")
@click.option("--overhead", "runs", type=int, metavar="N",
              help="Run a small program N times with and without a collector.")  # fmt: skip
@options.as_json
def command(runs: int | None, as_json: bool) -> None:
    """Which collectors work on this machine, and why the others do not.

    With --overhead the cost of collecting is measured as in the thesis' Figures 3.1 and 3.2: the
    same program alternately with and without. If no counter works, it is the cost of starting the
    job under a wrapper that counts nothing.

    \b
    shadowtime hperf collectors
    """
    from shadowtime.hperf.collect import perf, resctrl

    reasons = {"perf": perf.missing(), "resctrl": resctrl.missing(), "declared": "", "csv": ""}
    content: dict[str, object] = {
        "collectors": {name: why or "works" for name, why in reasons.items()}
    }
    if not as_json:
        for name, why in reasons.items():
            click.echo(f"{name:10s} {why or 'works'}")
    if runs is not None:
        from shadowtime.hperf.overhead import overhead

        works = not reasons["perf"]
        wrapper = [*perf.COMMAND, "-o", "/dev/null"] if works else ["/usr/bin/env"]
        found = overhead([sys.executable, "-c", LOAD], wrapper, runs=runs)
        content["overhead"] = {
            "wrapper": wrapper[0],
            "runs": runs,
            "plain_s": list(found.plain),
            "collected_s": list(found.collected),
            "mean": found.mean,
            "interval_95": found.interval,
        }
        if not as_json:
            click.echo(
                f"overhead   {100 * found.mean:+.2f} % (95 %: +- {100 * found.interval:.2f}) over "
                f"{runs} pairs of runs, {wrapper[0]} {'counting' if works else 'counting nothing'}"
            )
    if as_json:
        options.print_json(content)
