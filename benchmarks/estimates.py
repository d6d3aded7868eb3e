"""Start estimates on recordings of real Slurms and on public logs: coverage and errors.

    .venv/bin/python benchmarks/estimates.py slurm-runs/B2 slurm-runs-26.05/... KTH-SP2 ...

A name with a slash is a recording beside the traces; another is a public log, with EASY as the
site. Prints a row for each: how many starts the ranges of 80 % held, the errors, and Slurm's own.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING
from unittest import mock

import numpy as np

import shadowtime as st
from shadowtime.api.load import load
from shadowtime.cluster.site import Node, Site
from shadowtime.eta import starts
from shadowtime.eta.on_log import predict_log
from shadowtime.eta.present import LogAt, Present, Running, Waiting
from shadowtime.eta.scores import Scored, accuracy
from shadowtime.eta.starts import DEEP, How, draw_starts
from shadowtime.live.predicted import Eta, Row, starts_of, write_starts
from shadowtime.policy import parse_policy
from shadowtime.workload.request import Request

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from shadowtime.cluster import Cluster
    from shadowtime.eta.present import Arrived
    from shadowtime.workload import Workload

SHARED = Path(__file__).resolve().parents[2] / "shared"
RUNS = (
    "A B1 B2 C D1 D2 E1 E2 F G H I I2 J L1 L2 M1 M2 N",
    "B D F H I J K L1 L2",
    "plain qos tier mem arrays res60 preempt gpu",
)
NAMES = (
    *(
        f"{release}/{run}"
        for release, runs in zip(
            ("slurm-runs", "slurm-runs-24.11", "slurm-runs-26.05"), RUNS, strict=True
        )
        for run in runs.split()
    ),
    *("KTH-SP2", "SDSC-SP2", "CTC-SP2"),
)
DEEP_QUEUES, DEEP_INSTANTS = ("slurm-runs/M1", "slurm-runs/M2"), 5
"""Hundreds of jobs wait at each of their instants."""
ALL_KNOWN = ("slurm-runs-26.05/plain", "slurm-runs-26.05/res60", "slurm-runs/D1", "slurm-runs/D2")
PAGE = (
    "# Start estimates beside the real starts",
    "",
    "How often the ranges of 80 % of `shadowtime eta` held the real start, on recordings of real "
    "Slurms (22.05, 24.11, 26.05) and on public logs with EASY as the site. At each of the "
    "instants nothing later was known, but for when a log stops submitting. Errors are medians in "
    "seconds, beside those of `squeue --start` for the same jobs. *Inside* is to the second, as "
    "times are whole seconds and the drawn futures have their passes at drawn offsets; *within a "
    "pass* counts a start within one pass (3 s; 60 s on logs) of the range too, which near now is "
    "wider than the range. *Far ahead* are the predictions of waits of at least twenty passes, "
    "with their number. Rows marked (few) score fewer than 20 jobs, which says little; a blank is "
    "a recording without samples of squeue. The recordings are compressed about 1:100, and several "
    "share their submissions, so that their errors are not independent.",
    "",
    "    .venv/bin/python benchmarks/estimates.py --keep build/estimates --instants 8 "
    "--write docs/benchmarks/estimates.md",
    "",
)
HEAD = (
    "| recording | jobs | predictions | instants | inside | within a pass | inside, far ahead "
    "| median error | bias | pinball | Slurm's own median | ours, same jobs | never started "
    "| CPU s |",
    "|---|---|---|---|---|---|---|---|---|---|---|---|---|---|",
)
KNOWN = (
    "",
    "## What is left when nothing has to be guessed",
    "",
    "With the run times and submissions that came true and nine draws, so that only Slurm's model "
    "is left; within a pass.",
    "",
    "| recording | inside | median error | bias |",
    "|---|---|---|---|",
)
RANKS = (
    "",
    "Where fair share decides (D1, D2), usage and priorities at the moment of a prediction are "
    "those of `sshare` and `sprio`; from then on ranks decide, and a start that a second makes "
    "possible or not changes them. A job's error stays the same over many instants.",
    "",
)
FAR = 20
"""Passes: so many ahead a pass adds little to a range."""
EXACT, PASS, MINUTE = 1, 3, 60
"""Seconds. Recordings are compressed, and passes come every three seconds."""
BAR, QUARTER = (0.75, 0.88), 0.25
"""What is asked of the ranges, and of the error beside that of `squeue --start`."""


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


@contextlib.contextmanager
def all_known(workload: Workload, machine: Cluster | Site) -> Iterator[None]:
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

    with mock.patch.multiple(starts, remaining=remaining, future=future):
        yield


@dataclass(frozen=True, kw_only=True)
class Scores:
    """The scored predictions of a recording or log."""

    name: str
    rows: tuple[Scored, ...]
    never: int
    cpu: int

    @property
    def near(self) -> int:
        """Seconds of a pass."""
        return PASS if "/" in self.name else MINUTE


def score(name: str, given: argparse.Namespace, *, known: bool = False) -> Scores:
    """Predictions of a recording or log beside what came; ``known``: nothing has to be guessed."""
    begun = time.process_time()
    folder = SHARED / name
    machine: Cluster | Site
    if "/" in name:
        machine, jobs = st.read_site(folder)
        policy, plans = parse_policy("slurm"), own_plans(folder)
    else:
        path = next((SHARED / "traces").glob(f"{name}*.swf*"))
        jobs, machine = load(str(path), report=print)
        schedule = st.simulate(jobs, machine, "easy").schedule
        jobs = jobs.replace(recorded_start=schedule.start)
        policy, plans = parse_policy("easy"), (lambda at: {})
    how = How(
        policy=policy, draws=9 if known else given.draws, submissions=not given.no_submissions,
        seed=1, deep=given.deep,
    )  # fmt: skip
    instants = min(given.instants, DEEP_INSTANTS) if name in DEEP_QUEUES else given.instants
    learns = not (known or given.no_recalibration)
    with all_known(jobs, machine) if known else contextlib.nullcontext():
        found = list(
            predict_log(jobs, machine, how, instants=instants, slurm=plans, recalibrate=learns)
        )
    return Scores(
        name=name,
        rows=tuple(one for each in found for one in each.scored),
        never=sum(each.never for each in found),
        cpu=round(time.process_time() - begun),
    )


def kept(name: str, given: argparse.Namespace, *, known: bool = False) -> Scores:
    """As :func:`score`; with --keep from an earlier run of the same options where it has them."""
    if given.keep is None:
        return score(name, given, known=known)
    path = given.keep / f"{name.replace('/', '_')}{'-known' * known}.json"
    used = ("instants", "draws", "deep", "no_recalibration", "no_submissions")
    options = {one: getattr(given, one) for one in used}
    values = json.loads(path.read_text()) if path.exists() else {}
    if values.get("options") != options:
        given.keep.mkdir(parents=True, exist_ok=True)
        values = {"options": options, "scores": asdict(score(name, given, known=known))}
        path.write_text(json.dumps(values))
    found = values["scores"]
    return Scores(**found | {"rows": tuple(Scored(**one) for one in found["rows"])})


def row_of(found: Scores) -> str:
    """A recording's or log's row of the table."""
    rows, near = found.rows, found.near
    if not rows:
        return f"| {found.name} | 0 | 0 | 0 | | | | | | | | | {found.never} | {found.cpu} |"
    total, loose = (accuracy(rows, tolerance=at)[-1] for at in (EXACT, near))
    ahead = [one for one in rows if one.expected - one.at >= FAR * near]
    far = f"{accuracy(ahead, tolerance=EXACT)[-1].inside:.0%} of {len(ahead)}" if ahead else ""
    assert total.ours is not None
    theirs = (
        f"{total.slurm.median:.0f} | {total.both.median:.0f}"
        if total.slurm and total.both
        else " | "
    )
    few = " (few)" if total.few else ""
    return (
        f"| {found.name} | {total.jobs}{few} | {len(rows)} | {total.instants} | "
        f"{total.inside:.0%} | {loose.inside:.0%} | {far} | {total.ours.median:.0f} | "
        f"{total.ours.bias:+.0f} | {total.pinball:.0f} | {theirs} | {found.never} | {found.cpu} |"
    )


def total_of(found: Sequence[Scores]) -> list[str]:
    """The sums below the table."""
    scored = [one for one in found if one.rows]
    lines: list[str] = []
    after: list[str] = []
    for called, wanted in (("recordings", True), ("logs", False)):
        some = [one for one in scored if ("/" in one.name) == wanted]
        if len(some) < 2:
            continue
        exact, loose = (
            [accuracy(one.rows, tolerance=one.near if pass_ else EXACT)[-1] for one in some]
            for pass_ in (False, True)
        )
        counts = [len(one.rows) for one in some]
        inside, within = (
            sum(each.inside * n for each, n in zip(those, counts, strict=True)) / sum(counts)
            for those in (exact, loose)
        )
        beside = [one for one in exact if one.slurm and one.both]
        lines.append(
            f"| **all {len(some)} {called}** | {sum(one.jobs for one in exact)} | {sum(counts)} | "
            f"{sum(one.instants for one in exact)} | {inside:.0%} | {within:.0%} | | | | | | | "
            f"{sum(one.never for one in some)} | {sum(one.cpu for one in some)} |"
        )
        if wanted:
            held, held_loosely = (
                sum(BAR[0] <= round(one.inside, 2) <= BAR[1] for one in those)
                for those in (exact, loose)
            )
            close = sum(
                one.both.median <= QUARTER * one.slurm.median
                for one in beside
                if one.both and one.slurm
            )
            after = [
                "",
                f"Of {len(some)} recordings {held} have {BAR[0]:.0%} to {BAR[1]:.0%} of the starts "
                f"inside, {held_loosely} with the tolerance of a pass. The median error is at most "
                f"a quarter of that of `squeue --start` in {close} of {len(beside)}.",
            ]
    return [*lines, *after]


def page(given: argparse.Namespace) -> Iterator[str]:
    """The whole page, line by line as it is found."""
    yield from (*PAGE, *HEAD)
    found = []
    for name in given.names:
        found.append(kept(name, given))
        yield row_of(found[-1])
    yield from total_of(found)
    if left := [name for name in NAMES if name not in given.names]:
        yield from ("", f"Not scored: {', '.join(left)}.")
    if given.write is None:
        return
    yield from KNOWN
    for name in ALL_KNOWN:
        total = accuracy(kept(name, given, known=True).rows, tolerance=PASS)[-1]
        assert total.ours is not None
        yield (
            f"| {name} | {total.inside:.0%} | {total.ours.median:.0f} | {total.ours.bias:+.0f} |"
        )
    yield from RANKS
    yield from ("## How fast", "", f"- {speed(10_000, 1_000)}.", f"- {asked(10_000)}.")


def speed(waiting: int, nodes: int, *, draws: int = 30) -> str:
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


def asked(waiting: int) -> str:
    """What `shadowtime eta JOB` costs from a watch's last refresh, with a stand-in for scontrol."""
    now = int(time.time())
    with tempfile.TemporaryDirectory() as folder:
        tools, state = Path(folder) / "bin", Path(folder) / "shadowtime" / "slurm-batch.json"
        tools.mkdir()
        state.parent.mkdir()
        said = "PartitionName=batch Default=YES Nodes=n1 State=UP"
        (tools / "scontrol").write_text(f"#!/bin/sh\necho '{said}'\n")
        (tools / "scontrol").chmod(0o755)
        rows = [
            Row(str(k), "eva", 4, now, Eta(now + 400, now + 200, now + 900, 0.9), "others go first")
            for k in range(waiting)
        ]
        write_starts(starts_of(state), now, "slurm", rows)
        command = [sys.executable, "-m", "shadowtime", "eta", "77"]
        path = f"{tools}:{os.environ['PATH']}"
        env = os.environ | {"PATH": path, "XDG_STATE_HOME": folder, "STATE_DIRECTORY": ""}
        spent = []
        for _ in range(5):
            before, begun = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
            subprocess.run(command, check=True, capture_output=True, env=env)
            after, took = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic() - begun
            cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
            spent.append((took, cpu))
    took, cpu = (sorted(each)[2] for each in zip(*spent, strict=True))
    return (
        f"`shadowtime eta JOB` from the last refresh of {waiting:,} waiting jobs: {took:.2f} s to "
        f"its answer, {cpu:.2f} s of CPU (median of five)"
    )


def main() -> None:
    """Score the named recordings and logs; without names all of them."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("names", nargs="*", metavar="NAME", default=list(NAMES))
    parser.add_argument(
        "--speed", nargs=2, type=int, metavar=("WAITING", "NODES"),
        help="CPU time of 30 draws without submissions, for so many waiting jobs and nodes",
    )  # fmt: skip
    parser.add_argument(
        "--asked", type=int, metavar="WAITING", help="time `shadowtime eta JOB` of so many"
    )
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
        "--keep", type=Path, metavar="FOLDER", help="store and reuse what is scored"
    )
    parser.add_argument("--write", type=Path, metavar="PAGE", help="write the page to a file")
    given = parser.parse_args()
    if given.speed:
        print(speed(*given.speed))
        return
    if given.asked:
        print(asked(given.asked))
        return
    lines = []
    for line in page(given):
        print(line, flush=True)
        lines.append(line)
    if given.write is not None:
        given.write.write_text("\n".join([*lines, ""]), encoding="utf-8")


if __name__ == "__main__":
    main()
