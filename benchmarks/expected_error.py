"""How often mean waits are within their expected error, over recordings of real Slurms.

    .venv/bin/python benchmarks/expected_error.py [RECORDING...]
    .venv/bin/python benchmarks/expected_error.py -o docs/benchmarks/expected-error.md

Each recording is reduced to what `pull` collects, with and without SubmitLine, and simulated under
Slurm's own scheduler. One half of its jobs states the expected error of each group's mean wait
(``shadowtime.study.expected_error``), the other half judges it, both ways. The constant FEW is
fitted without the recording that it is judged on. Runs of one recording with and without SubmitLine
are not independent of each other, nor are its groups.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.stripped import recordings

from shadowtime.metrics.groups import groups_of
from shadowtime.slurm.policy import SlurmPolicy
from shadowtime.slurm.recording.strip import strip
from shadowtime.study.expected_error import (
    FEW,
    JUDGED,
    LEVEL,
    expected_error,
    off_by,
)  # fmt: skip
from shadowtime.study.site.trials import Repeats, run_trials
from shadowtime.trace.site_folder import read_site
from shadowtime.workload.site_requests import counted_jobs

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from shadowtime.types import AnyArray

LEAST = 8
"""Jobs that a group needs in each half."""
SMALL = 30


@dataclass(frozen=True, kw_only=True)
class Case:
    """A group of one half: what it states, and what the other half shows."""

    version: str
    recording: str
    submit_line: bool
    fair_share: bool
    by: str
    jobs: int
    stated: float
    true: float

    def holds(self, few: float) -> bool:
        """Within the statement, with another constant."""
        return self.true**2 <= self.stated**2 + (few - FEW) / self.jobs


def cases(recording: Path, *, submit_line: bool, phases: int) -> Iterator[Case]:
    """Every group of both halves of a recording, each set of jobs once."""
    with tempfile.TemporaryDirectory() as place:
        site, jobs = read_site(strip(recording, Path(place) / "site", submit_line=submit_line))
    trials = run_trials(jobs, site, SlurmPolicy(), Repeats(phases=phases))
    waits = np.stack([one.waits for one in trials])
    recorded = (jobs.recorded_start - jobs.submit).astype(float)
    run = jobs.effective_run
    which = (jobs.recorded_start >= 0) & counted_jobs(jobs) & ~np.isnan(waits).any(axis=0)
    first = which & (np.cumsum(which) <= which.sum() // 2)

    def true(rows: AnyArray) -> float:
        means = waits[:, rows].mean(), recorded[rows].mean(), run[rows].mean()
        return abs(off_by(*map(float, means)))

    seen = set()
    for group in groups_of(jobs, ("all", *JUDGED), only=which):
        if group.members.tobytes() in seen:
            continue
        seen.add(group.members.tobytes())
        halves = group.members & first, group.members & ~first
        if min(int(half.sum()) for half in halves) < LEAST:
            continue
        for mine, other in (halves, halves[::-1]):
            yield Case(
                version=recording.parent.name.partition("runs-")[2] or "22.05",
                recording=recording.name.removesuffix("twin"),
                submit_line=submit_line,
                fair_share="multifactor" in site.setting("PriorityType"),
                by=group.by,
                jobs=int(mine.sum()),
                stated=expected_error(recorded[mine], waits[:, mine], run[mine]),
                true=true(other),
            )


def fitted(found: Sequence[Case]) -> float:
    """The smallest constant, in hundredths, with which LEVEL of the statements hold."""
    for few in np.arange(0.0, 5.0, 0.01):
        if np.mean([one.holds(float(few)) for one in found]) >= LEVEL:
            return float(few)
    raise SystemExit("no constant up to 5 holds: the rule does not describe these recordings")


def page(found: Sequence[Case]) -> str:
    """The table, as Markdown."""
    names = sorted({(one.version, one.recording) for one in found})
    constants = {
        name: fitted([one for one in found if (one.version, one.recording) != name])
        for name in names
    }
    held = {id(one): one.holds(constants[one.version, one.recording]) for one in found}

    def row(what: str, chosen: Sequence[Case]) -> str:
        share = np.mean([held[id(one)] for one in chosen])
        stated, true = (
            float(np.median([getattr(one, name) for one in chosen])) for name in ("stated", "true")
        )
        return f"| {what} | {len(chosen)} | {share:.0%} | {stated:.0%} | {true:.0%} |"

    kinds = [
        ("all cases", list(found)),
        *((f"Slurm {v}", [one for one in found if one.version == v])
          for v in sorted({one.version for one in found})),
        ("with SubmitLine", [one for one in found if one.submit_line]),
        ("without SubmitLine", [one for one in found if not one.submit_line]),
        ("fair-share", [one for one in found if one.fair_share]),
        ("all jobs of a log", [one for one in found if one.by == "all"]),
        *((f"by {by}", [one for one in found if one.by == by]) for by in JUDGED),
        (f"{SMALL} jobs and more", [one for one in found if one.jobs >= SMALL]),
        (f"fewer than {SMALL} jobs", [one for one in found if one.jobs < SMALL]),
    ]  # fmt: skip
    return "\n".join([
        "# Expected errors against recordings", "",
        "Written by `benchmarks/expected_error.py -o docs/benchmarks/expected-error.md`.", "",
        "One half of a recording, as a site can export it, states the expected error of each",
        "group's mean wait; the other half judges it. *Within*: how often the true error was not",
        f"larger, where {LEVEL:.0%} is meant; the constant was fitted without the recording that",
        f"is judged ({min(constants.values()):.2f} to {max(constants.values()):.2f}; on all of",
        f"them {fitted(found):.2f}, in use {FEW:g}). *Stated* and *true* are medians.", "",
        f"{len(names)} recordings of {len({one.version for one in found})} versions.", "",
        "| of | cases | within | stated | true |", "|---|--:|--:|--:|--:|",
        *(row(what, chosen) for what, chosen in kinds if chosen), "",
    ])  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("recordings", nargs="*", type=Path)
    parser.add_argument("--phases", type=int, default=6)
    parser.add_argument("-o", "--output", type=Path)
    given = parser.parse_args()
    found = [
        case
        for recording in given.recordings or recordings()
        for submit_line in (True, False)
        for case in cases(recording, submit_line=submit_line, phases=given.phases)
    ]
    text = page(found)
    if given.output:
        given.output.write_text(text)
    print(text)


if __name__ == "__main__":
    main()
