"""Faults on a real Slurm under four policies, on a mixed site and on equal nodes; writes a page."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks import machine
from benchmarks.report import markdown_table
from benchmarks.rows import Row

from shadowtime.live.slurm.unit import NICE
from shadowtime.testing.slurm import missing_programs
from shadowtime.testing.slurm_accounting import missing_programs as missing_of_accounting

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "benchmarks" / "faults.md"
RUNS = (
    *((policy, True) for policy in ("easy", "conservative", "lxfw", "pv-easy")),
    *((policy, False) for policy in ("easy", "pv-easy")),
)
"""Policies, and whether on the mixed site."""
AT_A_TIME = 2
"""Runs at the same time, as most of each is waiting."""
APART = 20.0
"""Seconds between their starts: two clusters that come up at once may choose the same port."""
KEPT = ROOT / "build" / "faults"
"""Where the logs of every run are kept, so that each case can be judged later."""
AT_MOST = 5000.0
JOBS, FAULTS, SEED = 200, 150, 1
STALL = 10.0
"""Seconds for which nothing may begin while something could."""
BAD = ("lost", "doubled", "stuck")

TEXT = """\
# The live loop under faults

{jobs} submissions (arrays count as several jobs) and {faults} faults on a private Slurm, with the
loop in a separate process: loop, slurmctld, slurmd and, on the mixed site, slurmdbd killed and
restarted; nodes drained, jobs cancelled, time limits, node lists and the limits of partitions and
QOS changed; jobs that fit nowhere; a full disk, a broken state file, jumps of the loop's clock.
[How it is counted](../guides/live-slurm.md#under-faults). Written by `scripts/bench faults` on
{when}, {at_a_time} runs at a time, on {cores} cores for Slurm's daemons, the jobs, the loops and
whatever else ran. A loop has the priority that its systemd unit gives it (`Nice={nice}`, against
other sessions too), everything else the default priority.

{table}
Errors of Slurm itself under such faults are counted separately: a killed slurmctld had not saved
that a job began or ended and runs it again; a slurmd is killed just before launching a job, which
Slurm counts as running until its time limit; a slurmctld is killed while a job's record is being
sent to slurmdbd and later refuses every change of that job. *Put back* counts what the injector
repairs as an operator would: nodes that Slurm has taken out of service, jobs that it holds after a
failed launch, and jobs that have ended but occupy nodes because a killed slurmctld had not saved
their end. A *stall* is a time in which the first job fits on free nodes and nothing starts; on the
mixed site, a time in which every node is idle, a job that slurmctld allows to be changed waits for
no other job, and nothing starts. A job that Slurm has requeued itself does not count until the two
minutes are over by which Slurm delays it, even if it is released; a job that the loop has stopped
counts at once.
"""
LINES = {
    "jobs, faults": ("jobs", "faults"),
    "**lost, doubled, stuck**": BAD,
    "Slurm's own: lost, doubled, stuck": (
        "lost_as_slurmd_was_killed_at_its_launch",
        "doubled_as_slurmctld_forgot",
        "stuck_as_slurmctld_refuses_all_changes",
    ),
    "preempted in the seconds of their end and run again": ("doubled_as_preempted_while_ending",),
    "put back: nodes, held jobs, jobs that had ended": ("nodes_back", "held_back", "gone_back"),
    "longest stall (s)": ("longest_stall_s",),
    "starts of the loop, slowest exit after SIGTERM (s)": (
        "loop_starts",
        "slowest_end_after_sigterm_s",
    ),
    "load average before and after": ("load",),
}


def faults(folder: Path) -> Iterator[Row]:
    """Jobs lost, doubled or stuck under faults, and the longest stall."""
    missing = missing_programs() + missing_of_accounting()
    if missing:
        print(f"faults: Slurm is not here ({', '.join(missing)})", file=sys.stderr)
        return
    later = [APART * k if k < AT_A_TIME else 0.0 for k in range(len(RUNS))]
    with ThreadPoolExecutor(AT_A_TIME) as pool:
        found = list(pool.map(one_run, RUNS, later))
    PAGE.write_text(page(found))
    for one in found:
        yield from rows(one)


def one_run(what: tuple[str, bool], later: float) -> dict[str, Any]:
    """A campaign in a process of its own, ``later`` seconds from now, and where it was."""
    policy, site = what
    time.sleep(later)
    before = machine.busy()
    words = ["--policy", policy, "--jobs", str(JOBS), "--faults", str(FAULTS), "--seed", str(SEED)]
    words += ["--site"] if site else []
    words += ["--keep", str(KEPT / f"{policy}-{'mixed' if site else 'equal'}")]
    program = ROOT / "benchmarks" / "fault_injection.py"
    done = subprocess.run(
        [sys.executable, str(program), *words],
        stdout=subprocess.PIPE,
        text=True,
        timeout=AT_MOST,
        check=False,
    )
    if done.returncode != 0:
        print(done.stdout, file=sys.stderr, flush=True)  # which job, and what Slurm reports
    found: dict[str, Any] = json.loads(done.stdout)
    put_back = {
        "nodes_back": len(found["nodes_put_back"]),
        "held_back": len(found["jobs_put_back"]),
        "gone_back": len(found["jobs_gone"]),
    }
    load = f"{before:.1f}, {machine.busy():.1f}"
    return found | put_back | {"site": site, "load": load}


def rows(one: dict[str, Any]) -> Iterator[Row]:
    """A campaign against its bars."""
    where = "a mixed site" if one["site"] else "equal nodes"
    yield Row(
        what=f"{one['jobs']} jobs and {one['faults']} faults on {where} of a real Slurm under "
        f"{one['policy']}: lost, doubled, stuck",
        value=sum(one[name] for name in BAD), unit="jobs", bar=0, clock="-",
        note=", ".join(f"{name} {one[name]}" for name in BAD),
    )  # fmt: skip
    yield Row(
        what=f"the same: longest stall under {one['policy']} on {where}",
        value=one["longest_stall_s"], unit="s", bar=STALL, clock="wall",
        note=f"load average before and after: {one['load']}",
    )  # fmt: skip


def page(found: Sequence[dict[str, Any]]) -> str:
    """The page of the documentation.

    Examples
    --------
    >>> one = dict.fromkeys((key for keys in LINES.values() for key in keys), 0)
    >>> text = page([one | {"policy": "easy", "site": True}])
    >>> "| **lost, doubled, stuck** | 0, 0, 0 |" in text
    True
    """
    found = sorted(found, key=lambda one: (one["site"], one["policy"]))
    head = ("", *(f"`{one['policy']}`, {'mixed' if one['site'] else 'equal'}" for one in found))
    lines = [
        (what, *(", ".join(str(one[key]) for key in keys) for one in found))
        for what, keys in LINES.items()
    ]
    return TEXT.format(
        jobs=JOBS,
        faults=FAULTS,
        at_a_time=AT_A_TIME,
        when=datetime.now(UTC).strftime("%Y-%m-%d"),
        cores=os.cpu_count(),
        nice=NICE,
        table=markdown_table(head, lines),
    )
