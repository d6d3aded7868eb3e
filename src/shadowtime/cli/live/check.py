"""shadowtime live check: repeat decisions on recorded snapshots."""

from __future__ import annotations

import click

from shadowtime.cli.common import options
from shadowtime.errors import InputError


@click.command("check")
@click.argument("recording", type=click.Path(dir_okay=False))
@options.as_json
def command(recording: str, as_json: bool) -> int:
    """Repeat the decisions of every pass of RECORDING (written with --record) and compare.

    Exits with 1 if a decision differs.

    \b
    shadowtime live slurm --policy easy --record passes.jsonl
    shadowtime live check passes.jsonl
    """
    from pathlib import Path

    from shadowtime.cli.common.compiling import compile_notice
    from shadowtime.live.record import read_passes
    from shadowtime.live.reports import words
    from shadowtime.policy import parse_policy

    passes = decisions = 0
    wrong = []
    with compile_notice("the policy's pass", "half a minute"):
        for number, found in enumerate(read_passes(Path(recording)), 1):
            again = found.decide_again(parse_policy(found.policy))
            passes += 1
            decisions += len(found.decisions)
            if again != found.decisions:
                wrong.append(
                    {
                        "line": number,
                        "recorded": [words(d) for d in found.decisions],
                        "again": [words(d) for d in again],
                    }
                )
    if passes == 0:
        raise InputError(
            "contains no recorded pass: was the loop run with --record?", path=recording
        )
    if as_json:
        options.print_json({"passes": passes, "decisions": decisions, "different": wrong})
    else:
        print(f"{passes} passes with {decisions} decisions: {len(wrong)} decided differently")
        for entry in wrong[:5]:
            print(f"line {entry['line']}: recorded {entry['recorded']}, now {entry['again']}")
    return 1 if wrong else 0
