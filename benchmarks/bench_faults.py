"""Faults on real Slurms under several policies and under Slurm itself; writes a page."""

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

from benchmarks.report import markdown_table, update
from benchmarks.rows import Row

from shadowtime.live.slurm.setup import NICE
from shadowtime.testing.slurm import missing_programs
from shadowtime.testing.slurm_accounting import missing_programs as missing_of_accounting

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "benchmarks" / "faults.md"
RUNS = {
    "easy-equal": ("--policy", "easy"),
    "plain-equal": ("--plain",),
    "pv-easy-equal": ("--policy", "pv-easy"),
    "easy-mixed": ("--policy", "easy", "--site"),
    "conservative-mixed": ("--policy", "conservative", "--site"),
    "pv-easy-mixed": ("--policy", "pv-easy", "--site"),
    "plain-mixed": ("--plain", "--site"),
    "easy-24.11": ("--policy", "easy", "--slurm", "24.11"),
    "easy-26.05": ("--policy", "easy", "--slurm", "26.05"),
    "easy-condor": ("--policy", "easy"),
    "plain-condor": ("--plain",),
}
"""Campaigns by name: the policy or Slurm itself, equal nodes or the mixed site, the version; the
last ones on HTCondor."""
CONDOR = "-condor"
AT_A_TIME = 2
"""Runs at the same time, as most of each is waiting."""
APART = 20.0
"""Seconds between their starts: two clusters that come up at once may choose the same port."""
KEPT = ROOT / "build" / "faults"
"""Where the logs of every run are kept, so that each case can be judged later."""
AT_MOST = 5000.0
JOBS, FAULTS, SEED = 200, 100, 1
STALL = 30.0
"""Seconds for which no feasible job may wait on idle nodes, faults aside."""
BAD = ("lost", "doubled", "stuck")
RESULT = "found.json"

TEXT = """\
# The live loop under faults

{jobs} submissions (arrays count as several jobs) and {faults} faults of 23 kinds (25 on the mixed
site) per campaign on a private Slurm, with the loop in a separate process: loop, slurmctld, slurmd
and, on the mixed site, slurmdbd killed or stopped; answers of Slurm's commands cut off, garbled,
failing or slow (5 to 30 s); nodes drained or taken out of the partition, epilogs that hang, jobs
cancelled, time limits, node lists and the limits of partitions and QOS changed; jobs that fit
nowhere and jobs with forged records in their texts; a full disk, a broken state file, jumps of the
loop's clock; on HTCondor schedd, collector, negotiator and startds killed or stopped, jobs held,
removed and changed by their owners.
[How it is counted](../guides/live-slurm.md#under-faults). `slurm itself` is a Slurm without gate
and loop under the same submissions and faults (those of the loop have no effect on
it). Written by `scripts/bench faults`, or by `python -m benchmarks.bench_faults build/faults` from
the results that it keeps, on {when}; on {cores} cores for Slurm's daemons, the jobs and the loops
of one or two campaigns at a time, and whatever else ran (load averages of 3 to 8, against which the
campaigns had priority). A loop has the priority that its systemd unit gives it (`Nice={nice}`,
against other sessions too).

{table}
## Rules that excuse a case, and how many they excused

{excused}
Cases are judged from files that the jobs write and, on the mixed site, from sacct. A *feasible job*
fits on idle nodes by separate rules; its wait is counted without a break while no fault is going
on, whatever else starts, so waits that a policy imposes count too. A *stall* is a time in which the
first job fits on free nodes and nothing starts, also during faults; on the mixed site, in which
every node is idle and a job waits for no other one. A job that Slurm has requeued itself does not
count until the two minutes are over by which Slurm delays it; one that the loop has stopped counts
at once. *Put back* counts what the injector repairs as an operator would: nodes that Slurm has
taken out of service, jobs that it holds after a failed launch, and jobs that have ended but occupy
nodes as a killed slurmctld had not saved their end.
"""
LINES = {
    "jobs, faults": ("jobs", "faults"),
    "**lost, doubled, stuck**": BAD,
    "preempted in the seconds of their end and run again": ("doubled_as_preempted_while_ending",),
    "feasible jobs that waited longer than 30 s on idle nodes": ("stalled_jobs",),
    "longest wait of a feasible job on idle nodes (s)": ("longest_feasible_wait_s",),
    "longest stall, faults included (s)": ("longest_stall_s",),
    "by sacct: completed twice; ended without a record": ("sacct_twice", "sacct_without"),
    "put back: nodes, held jobs, jobs that had ended": ("nodes_back", "held_back", "gone_back"),
    "starts of the loop; of these after it had ended by itself": ("loop_starts", "by_itself"),
    "slowest exit after SIGTERM (s)": ("slowest_end_after_sigterm_s",),
}


def faults(folder: Path) -> Iterator[Row]:
    """Jobs lost, doubled or stuck under faults, and the longest wait of a feasible one."""
    missing = missing_programs() + missing_of_accounting()
    if missing:
        print(f"faults: Slurm is not here ({', '.join(missing)})", file=sys.stderr)
        return
    later = [APART * k if k < AT_A_TIME else 0.0 for k in range(len(RUNS))]
    with ThreadPoolExecutor(AT_A_TIME) as pool:
        list(pool.map(one_run, RUNS, later))
    found = kept_in(KEPT)
    PAGE.write_text(page(found))
    for one in found:
        yield from rows(one)


def one_run(name: str, later: float) -> None:
    """A campaign in a process of its own, ``later`` seconds from now; its result is kept."""
    time.sleep(later)
    words = ["--jobs", str(JOBS), "--faults", str(FAULTS), "--seed", str(SEED), *RUNS[name]]
    words += ["--keep", str(KEPT / name)]
    script = "condor_faults.py" if name.endswith(CONDOR) else "fault_injection.py"
    program = ROOT / "benchmarks" / script
    done = subprocess.run(
        [sys.executable, str(program), *words],
        stdout=subprocess.PIPE,
        text=True,
        timeout=AT_MOST,
        check=False,
    )
    if done.returncode != 0:
        print(done.stdout, file=sys.stderr, flush=True)  # which job, and what Slurm reports
    (KEPT / name / RESULT).write_text(done.stdout)


def kept_in(folder: Path) -> list[dict[str, Any]]:
    """The results of the campaigns that are kept in a folder, in their order."""
    found = []
    for name in RUNS:
        path = folder / name / RESULT
        if path.is_file():
            found.append(_flat(json.loads(path.read_text())) | {"site": "--site" in RUNS[name]})
    return found


def _flat(found: dict[str, Any]) -> dict[str, Any]:
    sacct = found["sacct"]
    return found | {
        "stalled_jobs": len(found["feasible_jobs_stalled"]),
        "sacct_twice": sacct.get("completed twice", "-"),
        "sacct_without": sacct.get("ended without a record of it", "-"),
        "nodes_back": len(found["nodes_put_back"]),
        "held_back": len(found["jobs_put_back"]),
        "gone_back": len(found["jobs_gone"]),
        "by_itself": len(found["loop_ended_by_itself"]),
    }


def rows(one: dict[str, Any]) -> Iterator[Row]:
    """A campaign against its bars; Slurm itself has none."""
    where = "a mixed site" if one["site"] else "equal nodes"
    name = f"faults under {one['policy']} on {where} of Slurm ({one['slurm']})"
    if not one["slurm"]:
        name = f"faults under {one['policy']} on HTCondor"
    ours = not one["policy"].endswith("itself")
    counted = ", ".join(f"{what} {one[what]}" for what in ("jobs", "faults", *BAD))
    yield Row(
        what=f"{name}: lost, doubled, stuck",
        value=sum(one[what] for what in BAD), unit="jobs", bar=0 if ours else None, clock="-",
        note=counted,
    )  # fmt: skip
    yield Row(
        what=f"{name}: longest wait of a feasible job on idle nodes",
        value=one["longest_feasible_wait_s"], unit="s", bar=STALL if ours else None, clock="wall",
        note=f"{one['stalled_jobs']} jobs waited longer than {STALL:g} s, faults aside",
    )  # fmt: skip


def page(found: Sequence[dict[str, Any]]) -> str:
    """The page of the documentation.

    Examples
    --------
    >>> one = dict.fromkeys((key for keys in LINES.values() for key in keys), 0)
    >>> one |= {"policy": "easy", "site": True, "slurm": "24.11", "excused": {"a rule": 2}}
    >>> text = page([one])
    >>> "| **lost, doubled, stuck** | 0, 0, 0 |" in text, "| a rule | 2 |" in text
    (True, True)
    """
    head = ("", *(title(one) for one in found))
    lines = [
        (what, *(", ".join(str(one[key]) for key in keys) for one in found))
        for what, keys in LINES.items()
    ]
    rules = list(dict.fromkeys(rule for one in found for rule in one["excused"]))
    excused = [(rule, *(str(one["excused"].get(rule, "-")) for one in found)) for rule in rules]
    return TEXT.format(
        jobs=JOBS,
        faults=FAULTS,
        when=datetime.now(UTC).strftime("%Y-%m-%d"),
        cores=os.cpu_count(),
        nice=NICE,
        table=markdown_table(head, lines),
        excused=markdown_table(head, excused),
    )


def title(one: dict[str, Any]) -> str:
    """A campaign as the head of a column."""
    by = one["policy"] if one["policy"].endswith("itself") else f"`{one['policy']}`"
    if not one["slurm"]:
        return by if by != f"`{one['policy']}`" else f"{by}, HTCondor"
    version = "" if one["slurm"] == "system" else f", {one['slurm']}"
    return f"{by}, {'mixed' if one['site'] else 'equal'}{version}"


def main(folder: Path) -> None:
    """Page and rows of the documentation from results that are kept in a folder."""
    found = kept_in(folder)
    PAGE.write_text(page(found))
    when = datetime.now(UTC).strftime("%Y-%m-%d")
    update(PAGE.parent, [row for one in found for row in rows(one)], f"measured apart, {when}")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
