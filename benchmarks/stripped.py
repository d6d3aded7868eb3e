"""Mean waits from what a site can export: simulated over recorded, per recording of every Slurm.

    .venv/bin/python benchmarks/stripped.py                      # every recording that is here
    .venv/bin/python benchmarks/stripped.py RECORDING... --phases 6
    .venv/bin/python benchmarks/stripped.py --phases 8 --again FOLDER -o PAGE.md

Each recording is reduced to what `pull` collects (``shadowtime.slurm.recording.strip``) and
simulated under Slurm's own scheduler with passes at several offsets, once with sacct's SubmitLine
and once without, as on a site that does not keep it. A ratio beyond its bar is marked with a star:
5 % on recordings A to G, 20 % with fair-share, 10 % on the others, 20 % without SubmitLine. The
range is that of single offsets. ``by group`` is the largest deviation among accounts, partitions
and QOS of at least 30 jobs. Below the table is, for each version, the mean of the ratios, how far
they are from 1 on average, and how many are beyond their bar.

``--again`` names a folder of recordings in which a daemon got the jobs of a recording once more, as
VERSION-RECORDING-NUMBER (``benchmarks/record_like.py RECORDING FOLDER --again``): a second table
has their mean waits, the daemon against itself, beside the simulated ones.
"""

from __future__ import annotations

import argparse
import os
import re
import tempfile
from collections import defaultdict
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING

from shadowtime.cluster.site_folder import read_site_alone
from shadowtime.errors import ShadowtimeError
from shadowtime.slurm.recording.strip import strip
from shadowtime.slurm.waits import Comparison, Waits, compare_groups, compare_waits

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

SHARED = Path(__file__).resolve().parents[2] / "shared"
FOLDERS = {"22.05": "slurm-runs", "24.11": "slurm-runs-24.11", "26.05": "slurm-runs-26.05"}
FEWEST = 30
"""Jobs of a group whose mean wait is looked at."""


def recordings() -> list[Path]:
    """Those of every version, in ``SHADOWTIME_RECORDINGS`` or beside the project."""
    given = os.environ.get("SHADOWTIME_RECORDINGS")
    first = Path(given) if given else SHARED / FOLDERS["22.05"]
    folders = [first, *(first.parent / name for name in list(FOLDERS.values())[1:])]
    return sorted(
        path for one in folders if one.is_dir() for path in one.iterdir()
        if (path / "jobs.psv").is_file()
    )  # fmt: skip


def bar(folder: Path, *, submit_line: bool) -> float:
    """How far the ratio may be from 1."""
    if not submit_line:
        return 0.2
    site = read_site_alone(folder)
    if "multifactor" in site.setting("PriorityType"):
        return 0.2
    return 0.05 if re.fullmatch(r"[A-G]\d*(twin)?", folder.name) else 0.1


def worst(found: Comparison) -> float:
    """The largest deviation of a group, as a ratio minus 1."""
    off = [one.factor - 1 for one in found.groups.values() if one.jobs >= FEWEST and one.recorded]
    return max(off, key=abs, default=0.0)


def version_of(recording: Path) -> str:
    """The Slurm of a recording, by its folder."""
    return recording.parent.name.partition("runs-")[2] or "22.05"


def span(found: Waits) -> str:
    """The smallest and the largest ratio of a single offset."""
    low, high = (one / found.recorded for one in (min(found.phases), max(found.phases)))
    return f"{low:.2f} to {high:.2f}"


def again(folder: Path, chosen: Sequence[Path], *, phases: int) -> Iterator[str]:
    """The table of daemons that got the jobs of a recording again."""
    columns = "recorded, s | the daemon again, s | simulated, s | to the daemon's mean"
    yield f"| version | recording | {columns} | ratios of the others |"
    yield "|---|---|---:|---:|---:|---:|---:|"
    ratios = []
    for recording in chosen:
        more = sorted(folder.glob(f"{version_of(recording)}-{recording.name}-*/jobs.psv"))
        if not more:
            continue
        with tempfile.TemporaryDirectory() as place:
            found, *others = (
                compare_waits(strip(one, Path(place) / str(number)), phases=phases)
                for number, one in enumerate([recording, *(path.parent for path in more)])
            )
        waits = [one.recorded for one in others]
        ratios += [one.factor for one in others]
        yield (
            f"| {version_of(recording)} | {recording.name} | {found.recorded:.1f} | "
            f"{', '.join(f'{one:.1f}' for one in waits)} | {found.mean:.1f} | "
            f"{found.mean / fmean([found.recorded, *waits]):.2f} | "
            f"{', '.join(f'{one.factor:.2f}' for one in others)} |"
        )
    if ratios:
        yield f"\nThe mean of the {len(ratios)} ratios of the others is {fmean(ratios):.2f}."


def row(
    recording: Path, ratios: dict[tuple[str, bool], list[tuple[float, bool]]], *, phases: int
) -> str:
    """A row of the table; its ratios are added to those of its version."""
    cells = [version_of(recording), recording.name]
    for submit_line in (True, False):
        with tempfile.TemporaryDirectory() as place:
            folder = strip(recording, Path(place) / recording.name, submit_line=submit_line)
            try:
                found = compare_groups(folder, phases=phases, easy=False)
            except ShadowtimeError as error:
                cells += [f"not read: {error}"[:60], *[""] * (4 if submit_line else 1)]
                continue
            whole = found.all_jobs
            if submit_line:
                cells += [str(whole.jobs), f"{whole.recorded:.1f}"]
            beyond = abs(whole.factor - 1) > bar(folder, submit_line=submit_line)
            cells.append(f"{whole.factor:.2f}{'*' if beyond else ''}")
            if submit_line:
                cells.append(span(whole))
            cells.append(f"{worst(found):+.0%}")
            ratios[version_of(recording), submit_line].append((whole.factor, beyond))
    return f"| {' | '.join(cells)} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("recordings", nargs="*", type=Path)
    parser.add_argument("--phases", type=int, default=3)
    parser.add_argument("--again", type=Path, help="recordings of the same jobs once more")
    parser.add_argument("-o", "--output", type=Path)
    given = parser.parse_args()
    chosen = given.recordings or recordings()
    lines: list[str] = []

    def tell(line: str) -> None:
        print(line, flush=True)
        lines.append(line)

    columns = "jobs | recorded, s | ratio | range | by group | without | by group"
    tell(f"| version | recording | {columns} |")
    tell("|---|---|---:|---:|---:|---:|---:|---:|---:|")
    ratios: dict[tuple[str, bool], list[tuple[float, bool]]] = defaultdict(list)
    for recording in chosen:
        tell(row(recording, ratios, phases=given.phases))
    for (version, submit_line), found in sorted(ratios.items(), reverse=True):
        mean = sum(ratio for ratio, _ in found) / len(found)
        off = sum(abs(ratio - 1) for ratio, _ in found) / len(found)
        beyond = sum(one for _, one in found)
        how = "with" if submit_line else "without"
        tell(
            f"\n{version} {how} SubmitLine: mean ratio {mean:.2f}, {off:.1%} from 1 on average, "
            f"{beyond} of {len(found)} beyond their bar"
        )
    if given.again:
        tell("\n## The daemon against itself\n")
        for line in again(given.again, chosen, phases=given.phases):
            tell(line)
    if given.output:
        given.output.write_text(HEAD.format(phases=given.phases) + "\n".join(lines) + "\n")


HEAD = """# Replays of what a site can export

Written by `benchmarks/stripped.py --phases {phases} --again FOLDER -o docs/benchmarks/stripped.md`.

Each recording of a real Slurm is reduced to what `pull` collects and simulated under Slurm's own
scheduler with passes at {phases} offsets. *Ratio*: simulated over recorded mean wait, with a star
where it is beyond its bar (5 % on A to G, 20 % with fair-share, 10 % on the others, 20 % without
SubmitLine); *range* is that of single offsets, *by group* the largest deviation among accounts,
partitions and QOS of at least 30 jobs. A recording is one run of many that its daemon could have
made: where the daemon got the same jobs at the same times once more, the second table shows how far
its own mean waits are apart, and the ratios of those runs, simulated from their own tables.

"""


if __name__ == "__main__":
    main()
