"""Three hundred jobs of twenty kinds on a real mixed Slurm under four policies; writes a page."""

from __future__ import annotations

import os
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks import machine
from benchmarks import mixed_site as mixed
from benchmarks.live_site import BAD, runs
from benchmarks.report import markdown_table
from benchmarks.rows import Row

from shadowtime.testing.slurm import missing_programs
from shadowtime.testing.slurm_accounting import missing_programs as missing_of_accounting

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "benchmarks" / "live-site.md"
POLICIES = ("easy", "conservative", "lxfw", "pv-easy")
JOBS, WARM, SEED = 300, 60, 2
IDLE = 10.0
"""Seconds that nodes may be idle before a job that is to start there."""

TEXT = """\
# The live loop on a mixed site

{jobs} jobs of twenty kinds, submitted as fast as sbatch takes them, on a real Slurm of sixteen
nodes in two sizes with memory and generic resources, three overlapping partitions, two QOS with
limits in a real slurmdbd and a reservation. Written by `scripts/bench live-site` on {when};
load average before and after: {before:.1f} and {after:.1f}, on {cores} cores for Slurm's daemons,
the jobs, the loop and whatever else ran.

{table}
*Decided differently* counts recorded passes that the simulator's code decides differently when
given the recorded snapshot. *Idle* is the time from the pass that first decides a start to the
job's own first line, or until the start is withdrawn (bar: 10 s); a start that is not carried out,
and that the next pass does not repeat, left no node idle. {warm} jobs before, which do
not count, ensure that every pass is compiled, which takes half a minute each. A job *preempted as
it ended* had finished its script when the policy stopped it; Slurm had not yet registered the end
and ran it again. *Taken back* counts starts whose nodes Slurm did not find free for five seconds:
an earlier start of the same pass uses the nodes differently than planned, or a stopped job still
holds them. These jobs return to the gate and are considered again.
"""
LINES = {
    "runs of jobs, completed": ("jobs", "completed"),
    "lost, run twice by mistake": ("lost", "doubled"),
    "requeued by the policy, of them preempted as they ended": (
        "stopped_and_run_again",
        "doubled_as_preempted_while_ending",
    ),
    "refused by Slurm after release, handed over to Slurm": (
        "refused_after_release",
        "handed_to_slurm",
    ),
    "taken back, errors": ("taken_back_as_nodes_were_not_free", "errors"),
    "passes, decisions, decided differently": (
        "passes",
        "decisions",
        "passes_decided_differently",
    ),
    "idle, longest and median (s)": (
        "from_decision_to_begin_longest_s",
        "from_decision_to_begin_median_s",
    ),
    "from the first submission to the last end (s)": ("seconds",),
}


def live_site(folder: Path) -> Iterator[Row]:
    """Jobs lost, doubled, refused or decided differently, and how long nodes were idle."""
    missing = missing_programs() + missing_of_accounting()
    if missing:
        print(f"live-site: Slurm is not here ({', '.join(missing)})", file=sys.stderr)
        return
    before, found = machine.busy(), []
    for one in runs(POLICIES, mixed.draw_mixed(SEED, JOBS), warm=WARM):
        found.append(one)
        name, bad = one["policy"], {key: one[key] for key in BAD if one[key]}
        yield Row(
            what=f"{JOBS} jobs on a real mixed Slurm under {name}: lost, run twice, refused, "
            "handed over, taken back, passes decided differently",
            value=sum(bad.values()), unit="jobs", bar=0, clock="-",
            note=", ".join(f"{key} {value}" for key, value in bad.items())
            or f"{one['passes']} passes, {one['decisions']} decisions",
        )  # fmt: skip
        yield Row(
            what=f"the same: longest time from the decision of a start to its first line, {name}",
            value=one["from_decision_to_begin_longest_s"], unit="s", bar=IDLE, clock="wall",
            note=f"median {one['from_decision_to_begin_median_s']} s",
        )  # fmt: skip
    PAGE.write_text(page(found, before=before, after=machine.busy()))


def page(found: Sequence[dict[str, Any]], *, before: float, after: float) -> str:
    """The page of the documentation.

    Examples
    --------
    >>> one = dict.fromkeys((key for keys in LINES.values() for key in keys), 0)
    >>> text = page([one | {"policy": "easy"}], before=0, after=0)
    >>> "| lost, run twice by mistake | 0, 0 |" in text
    True
    """
    head = ("", *(f"`{one['policy']}`" for one in found))
    lines = [
        (what, *(", ".join(str(one[key]) for key in keys) for one in found))
        for what, keys in LINES.items()
    ]
    return TEXT.format(
        jobs=JOBS,
        warm=WARM,
        when=datetime.now(UTC).strftime("%Y-%m-%d"),
        before=before,
        after=after,
        cores=os.cpu_count(),
        table=markdown_table(head, lines),
    )
