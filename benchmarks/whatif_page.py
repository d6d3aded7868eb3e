"""Replays and what-ifs judged by recorded runs of a real Slurm: writes docs/benchmarks/whatif.md.

    .venv/bin/python benchmarks/whatif_page.py RECORDINGS [--phases 6] [--only replay|whatif]

RECORDINGS is a folder of recordings, each reduced to what `pull` collects. Every run is replayed
under its own scheduler; then the settings of one run are given as ``--set`` to the jobs of another
one that was fed the same jobs, and the predicted mean waits are compared with what the daemon did.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple
from zoneinfo import ZoneInfo

from shadowtime.metrics.groups import groups_of
from shadowtime.slurm.policy import SlurmPolicy
from shadowtime.slurm.recording.strip import strip
from shadowtime.study.expected_error import within
from shadowtime.study.site.changes import Change
from shadowtime.study.site.replay import replay_site
from shadowtime.study.site.trials import Repeats
from shadowtime.study.site.whatif import what_if
from shadowtime.study.site.world import SiteWorld
from shadowtime.trace.site_folder import read_site

if TYPE_CHECKING:
    from shadowtime.cluster.site import Site
    from shadowtime.workload import Workload

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "benchmarks" / "whatif.md"
BACKFILL = "SchedulerParameters=batch_sched_delay=0,sched_interval=2,bf_interval=3,bf_resolution=1"
CHEM, BIO, PHYSICS = ("games", "man"), ("uucp", "proxy"), ("lp", "news")
ACCOUNTS = (("chem", CHEM), ("bio", BIO), ("physics", PHYSICS))


class Prediction(NamedTuple):
    """From the jobs of one run, with these settings, the waits of another."""

    source: str
    target: str
    settings: tuple[str, ...]
    note: str = ""


PREDICTIONS = (
    Prediction("A", "B2", ("SchedulerType=sched/backfill", BACKFILL)),
    Prediction("B2", "A", ("SchedulerType=sched/builtin",)),
    Prediction("B2", "B1", ("SchedulerParameters=bf_interval=5",)),
    Prediction(
        "B2",
        "E2",
        (
            "AccountingStorageEnforce=limits,qos",
            *(f"user.{user}.DefaultAccount={name}" for name, users in ACCOUNTS for user in users),
            *(f"user.{user}.DefaultQOS=few" for user in CHEM),
            *(f"user.{user}.DefaultQOS=grp" for user in PHYSICS),
            *(f"user.{user}.MaxNodes=4" for user in PHYSICS),
        ),
        "E2's users of QOS `grp` asked for 4 nodes at most, as its GrpTRES=cpu=64 holds no more. "
        "The key MaxNodes was added after a first prediction without it, in which 4 jobs could "
        "never run and 5 of 12 groups were missed.",
    ),
    Prediction(
        "B2",
        "F",
        (
            "node.n3.Drain=2026-11-15T12:25:06/2026-11-15T12:30:46",
            "reservation.maint1=StartTime=2026-11-15T12:31:54 Duration=4 Nodes=n[5-6] Users=root "
            "Flags=MAINT",
        ),
    ),
)


def main() -> None:
    """Write the page."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("recordings", type=Path)
    parser.add_argument("--phases", type=int, default=6)
    parser.add_argument("--only", choices=("replay", "whatif"))
    parser.add_argument("-o", "--output", type=Path, default=PAGE)
    given = parser.parse_args()
    repeats = Repeats(phases=given.phases)
    parts = [HEAD.format(phases=given.phases)]
    if given.only != "replay":
        parts += predictions(given.recordings, repeats)
    if given.only != "whatif":
        parts += replays(given.recordings, repeats)
    given.output.write_text("\n".join(parts).rstrip() + "\n")


HEAD = """# What-ifs compared with a real Slurm

Written by `benchmarks/whatif_page.py RECORDINGS`, from runs of a real Slurm 22.05.8 on 8 to 64
nodes with 150 to 600 jobs each, reduced to what `pull` collects. Mean waits in seconds; the range
is that of one run, from {phases} offsets of the passes
([how it is computed](../reference/trust.md)).
"""


def exported(recording: Path) -> tuple[Site, Workload]:
    """A recording as a site could export it."""
    with tempfile.TemporaryDirectory() as place:
        return read_site(strip(recording, Path(place) / recording.name))


def called(by: str, name: str) -> str:
    """A group in a table."""
    return "all jobs" if by == "all" else f"{by} {name or '(none)'}"


def predictions(folder: Path, repeats: Repeats) -> list[str]:
    """The settings of one run on the jobs of another, beside what the daemon did."""
    lines = ["## What-ifs", ""]
    hits = total = 0
    for one in PREDICTIONS:
        site, jobs = exported(folder / one.source)
        _, real = exported(folder / one.target)
        world = SiteWorld(site=site, jobs=jobs, policy=SlurmPolicy(), zone=ZoneInfo("UTC"))
        changes = [Change("set", text) for text in one.settings]
        found = what_if(world, changes, repeats=repeats, alone=False).together
        was = (real.recorded_start - real.submit).astype(float)
        truth = {group.key: float(was[group.members].mean()) for group in groups_of(real)}
        lines += [f"### {one.target} from {one.source}", "", "```text"]
        lines += [f"--set '{text}'" for text in one.settings]
        lines += ["```", "", *([one.note, ""] if one.note else [])]
        lines += [
            "| group | jobs | baseline | predicted | range | the daemon | within |",
            "|---|--:|--:|--:|--:|--:|---|",
        ]
        for row in found.groups:
            if (row.by, row.name) not in truth:
                continue
            daemon = truth[row.by, row.name]
            within = row.changed.low <= daemon <= row.changed.high
            hits, total = hits + within, total + 1
            lines.append(
                f"| {called(row.by, row.name)} | {row.jobs} | {row.baseline_s:.0f} | "
                f"{row.changed.mean:.0f} | {row.changed.low:.0f} to {row.changed.high:.0f} | "
                f"{daemon:.0f} | {'yes' if within else 'no'} |"
            )
        lines.append("")
        print(one.source, "->", one.target, f"{hits} of {total}", flush=True)
    lines.insert(1, f"\n{hits} of {total} groups lie within the range that was predicted.")
    return lines


def replays(folder: Path, repeats: Repeats) -> list[str]:
    """Every run under its own scheduler."""
    rows, hits, total = [], 0, 0
    missed = []
    for path in sorted(one for one in folder.iterdir() if (one / "jobs.psv").is_file()):
        site, jobs = exported(path)
        found = replay_site(jobs, site, SlurmPolicy(), repeats=repeats)
        inside = sum(row.within for row in found.groups)
        hits, total = hits + inside, total + len(found.groups)
        whole = found.groups[0]
        shares = found.backfilled
        stated = "" if shares is None else f"{shares[0]:.0%}"
        made = "" if shares is None else f"{shares[1]:.0%} to {shares[2]:.0%}"
        rows.append(
            f"| {path.name} | {whole.jobs} | {whole.recorded_s:.0f} | {whole.simulated.mean:.0f} | "
            f"{whole.simulated.low:.0f} to {whole.simulated.high:.0f} | {inside} of "
            f"{len(found.groups)} | {stated} | {made} | {within(found.trust.expected.error)} |"
        )
        missed += [
            f"| {path.name} | {called(row.by, row.name)} | {row.jobs} | "
            f"{row.recorded_s:.0f} | {row.simulated.low:.0f} to {row.simulated.high:.0f} |"
            for row in found.groups
            if not row.within
        ]
        print(path.name, f"{hits} of {total}", flush=True)
    return [
        "## Replays",
        "",
        f"{hits} of {total} groups (all, partition, account, QOS, size) lie within their ranges.",
        "",
        "| run | jobs | recorded | simulated | range | groups within | by backfill | simulated "
        "| expected error |",
        "|---|--:|--:|--:|--:|--:|--:|--:|---|",
        *rows,
        "",
        *(["Outside of their ranges:", "", "| run | group | jobs | recorded | range |",
           "|---|---|--:|--:|--:|", *missed, ""] if missed else []),
    ]  # fmt: skip


if __name__ == "__main__":
    main()
