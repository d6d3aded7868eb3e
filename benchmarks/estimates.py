"""Start estimates on recordings of real Slurms and on public logs: coverage and errors.

    .venv/bin/python benchmarks/estimates.py slurm-runs/B2 slurm-runs-26.05/... KTH-SP2 ...

A name with a slash is a recording beside the traces; another is a public log, with EASY as the
site. Prints a row for each: how many starts the ranges of 80 % held, the errors, and Slurm's own.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

import shadowtime as st
from shadowtime.api.load import load
from shadowtime.cluster.site import Node, Site
from shadowtime.eta import starts
from shadowtime.eta.on_log import predict_log
from shadowtime.eta.present import LogAt, Present, Running, Waiting
from shadowtime.eta.scores import accuracy
from shadowtime.eta.starts import DEEP, How, draw_starts
from shadowtime.policy import parse_policy
from shadowtime.workload.request import Request

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from shadowtime.cluster import Cluster
    from shadowtime.eta.present import Arrived
    from shadowtime.workload import Workload

SHARED = Path(__file__).resolve().parents[2] / "shared"
PAGE = (
    "# Start estimates beside the real starts",
    "",
    "How often the ranges of 80 % of `shadowtime eta` held the real start, on recordings of real "
    "Slurms (22.05, 24.11, 26.05) and on public logs with EASY as the site. At each of the "
    "instants nothing later was known, but for when a log stops submitting. Errors are medians in "
    "seconds, beside those of `squeue --start` for the same jobs; a start within one pass (3 s; "
    "60 s on logs) of the range counts as inside. *Far ahead* are the predictions of waits of at "
    "least twenty such passes, with their number: near now a range is hardly wider than a pass, "
    "which then covers nearly all. Rows marked (few) score fewer than 20 jobs, "
    "which says little; a blank is a recording without samples of squeue. The recordings are "
    "compressed about 1:100, and several share "
    "their submissions, so that their errors are not independent.",
    "",
    "    .venv/bin/python benchmarks/estimates.py slurm-runs/A KTH-SP2 --instants 24 "
    "--write docs/benchmarks/estimates.md",
    "",
)
HEAD = (
    "| recording | jobs | predictions | instants | inside | inside, far ahead | median error "
    "| bias | pinball | Slurm's own median | ours, same jobs | never started | CPU s |",
    "|---|---|---|---|---|---|---|---|---|---|---|---|---|",
)
FAR = 20
"""Passes: where a start was predicted at least so many ahead, the tolerance adds little."""
PASS = 3
"""Seconds: recordings are compressed, and passes come every three seconds."""


def own_plans(folder: Path) -> Callable[[int], Mapping[str, int]]:
    """What squeue showed as starts of waiting jobs, at the last sample before a time."""
    path = folder / "squeue_samples.psv"
    samples: dict[int, dict[str, int]] = {}
    lines = path.read_text().split("\n") if path.exists() else []
    head = lines[0].split("|") if lines else []
    if {"t", "JobId", "State", "Start"} <= set(head):
        at = {name: head.index(name) for name in ("t", "JobId", "State", "Start")}
        for line in lines[1:]:
            words = line.split("|")
            if len(words) == len(head) and words[at["State"]] in ("PENDING", "PD"):
                known = samples.setdefault(int(float(words[at["t"]])), {})
                text = words[at["Start"]]
                if text[:2] == "20":
                    stamp = datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()
                    known[words[at["JobId"]]] = int(stamp)
    times = sorted(samples)

    def before(now: int) -> Mapping[str, int]:
        near = [one for one in times if now - 30 <= one <= now]
        return samples[near[-1]] if near else {}

    return before


def all_known(workload: Workload, machine: Cluster | Site) -> None:
    """Draw what came true, for the model alone: run times of all jobs, and submissions."""
    at = LogAt(workload, machine)
    rows = {str(job): row for row, job in enumerate(workload.job_id.tolist())}
    final = at.present(int(at.end.max()) + 1).past

    def remaining(present: Present, *_: object, **__: object) -> tuple[list[int], list[int]]:
        running, waiting = (
            [rows[one.id] for one in each] for each in (present.running, present.waiting)
        )
        when = present.now - at.epoch
        runs = workload.effective_run.tolist()
        return [max(1, at.run_at(row, when)[1] - when) for row in running], [
            runs[row] for row in waiting
        ]

    def future(past: object, now: int, reach: int, *_: object, **__: object) -> list[Arrived]:
        return [one for one in final if now < one.submit <= now + reach]

    starts.remaining, starts.future = remaining, future  # type: ignore[assignment]


def score(name: str, given: argparse.Namespace) -> str:
    """A recording's or log's row of the table."""
    begun = time.process_time()
    folder = SHARED / name
    if "/" in name:
        machine, jobs = st.read_site(folder)
        policy, plans, near = parse_policy("slurm"), own_plans(folder), PASS
    else:
        path = next((SHARED / "traces").glob(f"{name}*.swf*"))
        jobs, machine = load(str(path), report=print)
        schedule = st.simulate(jobs, machine, "easy").schedule
        jobs = jobs.replace(recorded_start=schedule.start)
        policy, plans, near = parse_policy("easy"), (lambda at: {}), 60
    if given.all_known:
        all_known(jobs, machine)
    how = How(
        policy=policy, draws=given.draws, submissions=not given.no_submissions, seed=1,
        deep=given.deep,
    )  # fmt: skip
    found = list(
        predict_log(
            jobs, machine, how, instants=given.instants, slurm=plans,
            recalibrate=not given.no_recalibration,
        )
    )  # fmt: skip
    rows = [one for each in found for one in each.scored]
    never = sum(each.never for each in found)
    if not rows:
        return f"| {name} | 0 | 0 | 0 | | | | | | | | {never} | {time.process_time() - begun:.0f} |"
    tolerance = near if given.tolerance is None else given.tolerance
    total = accuracy(rows, tolerance=tolerance)[-1]
    ahead = [one for one in rows if one.expected - one.at >= FAR * near]
    far = f"{accuracy(ahead, tolerance=tolerance)[-1].inside:.0%} of {len(ahead)}" if ahead else ""
    assert total.ours is not None
    theirs = (
        f"{total.slurm.median:.0f} | {total.both.median:.0f}"
        if total.slurm and total.both
        else " | "
    )
    few = " (few)" if total.few else ""
    return (
        f"| {name} | {total.jobs}{few} | {len(rows)} | {total.instants} | {total.inside:.0%} | "
        f"{far} | {total.ours.median:.0f} | {total.ours.bias:+.0f} | {total.pinball:.0f} | "
        f"{theirs} | {never} | {time.process_time() - begun:.0f} |"
    )


def put(page: Path, row: str) -> None:
    """Write a row to the page, in the place of the one of the same name."""
    name = row.split("|")[1].strip()
    lines = page.read_text(encoding="utf-8").split("\n") if page.exists() else [*PAGE, *HEAD, ""]
    at = [k for k, line in enumerate(lines) if line.startswith(f"| {name} |")]
    if at:
        lines[at[0]] = row
    else:
        last = max(k for k, line in enumerate(lines) if line.startswith("|"))
        lines.insert(last + 1, row)
    page.write_text("\n".join(lines), encoding="utf-8")


def speed(waiting: int, nodes: int, *, draws: int = 2) -> str:
    """What a draw costs: every node is taken by running jobs, and so many wait."""
    rng = np.random.default_rng(1)
    names = [f"n{k}" for k in range(nodes)]
    machine = Site(nodes=tuple(Node(name=name, amounts=(32,)) for name in names))
    now = 1_700_000_000
    running = tuple(
        Running(
            id=f"r{k}", user=f"u{k % 40}", limit=7200, cpus=32, start=now - 600,
            pieces=(Request(max_nodes=1, tasks=32, wanted=(name,)),),
        )
        for k, name in enumerate(names)
    )  # fmt: skip
    asked = [Request(tasks=int(n), max_nodes=1) for n in (1, 2, 4, 8, 16, 32)]
    asked += [Request(nodes=n, max_nodes=n, tasks=32 * n, tasks_per_node=32) for n in (2, 4, 8)]
    queue = tuple(
        Waiting(
            id=f"w{k}", user=f"u{rng.integers(40)}", limit=int(rng.choice([1800, 7200, 28_800])),
            request=asked[rng.integers(len(asked))],
        )
        for k in range(waiting)
    )  # fmt: skip
    at = Present(now=now, machine=machine, running=running, waiting=queue)
    small = Present(now=now, machine=machine, running=running[:1], waiting=queue[:60])
    how = How(draws=draws, submissions=False)
    compiled = replace(how, draws=1, deep=how.deep if waiting <= how.deep else 0)
    draw_starts(small, compiled)
    begun = time.process_time()
    found = draw_starts(at, how)
    each = (time.process_time() - begun) / draws
    return (
        f"{waiting:,} waiting on {nodes:,} nodes: {each:.2f} s of CPU a draw, "
        f"{30 * each:.0f} s for 30; median start in {np.median(found.waits) / 3600:.1f} h"
    )


def main() -> None:
    """Score the named recordings and logs."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument(
        "--speed", nargs=2, type=int, metavar=("WAITING", "NODES"),
        help="CPU time of one draw without submissions, for so many waiting jobs and nodes",
    )  # fmt: skip
    parser.add_argument("--draws", type=int, default=19)
    parser.add_argument("--instants", type=int, default=12)
    parser.add_argument("--no-submissions", action="store_true")
    parser.add_argument(
        "--deep",
        type=int,
        default=DEEP,
        help="where more jobs wait, Slurm's passes have a stand-in",
    )
    parser.add_argument("--no-recalibration", action="store_true")
    parser.add_argument(
        "--all-known",
        action="store_true",
        help="with the run times and submissions that came true: the model alone",
    )
    parser.add_argument("--tolerance", type=float)
    parser.add_argument("--write", type=Path, metavar="PAGE", help="put the rows into a page")
    given = parser.parse_args()
    if given.speed:
        print(speed(*given.speed))
        return
    print("\n".join(HEAD))
    for name in given.names:
        row = score(name, given)
        print(row, flush=True)
        if given.write is not None:
            put(given.write, row)


if __name__ == "__main__":
    main()
