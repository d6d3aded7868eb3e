"""shadowtime live check: repeat decisions on recorded snapshots."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from shadowtime.cli.common.outputs import print_json
from shadowtime.cli.common.progress import compile_notice
from shadowtime.errors import InputError
from shadowtime.live.record import read_passes
from shadowtime.live.reports import words
from shadowtime.policy import parse_policy

if TYPE_CHECKING:
    from shadowtime.types import File


def check(recording: File, *, json: bool = False) -> int:
    """Repeat the decisions of every pass of RECORDING (written with --record) and compare.

    Exits with 1 if a decision differs.

    \b
    shadowtime live slurm --policy easy --record passes.jsonl
    shadowtime live check passes.jsonl
    """
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
    if json:
        print_json({"passes": passes, "decisions": decisions, "different": wrong})
    else:
        print(f"{passes} passes with {decisions} decisions: {len(wrong)} decided differently")
        for entry in wrong[:5]:
            print(f"line {entry['line']}: recorded {entry['recorded']}, now {entry['again']}")
    return 1 if wrong else 0
