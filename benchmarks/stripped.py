"""Mean waits from what a site can export: simulated over recorded, per recording of every Slurm.

    .venv/bin/python benchmarks/stripped.py                      # every recording that is here
    .venv/bin/python benchmarks/stripped.py RECORDING... --phases 6

Each recording is reduced to what `pull` collects (``shadowtime.testing.slurm_recording.strip``) and
simulated under Slurm's own scheduler with passes at several offsets, once with sacct's SubmitLine
and once without, as on a site that does not keep it. A ratio beyond its bar is marked with a star:
5 % on recordings A to G, 20 % with fair-share, 10 % on the others, 20 % without SubmitLine. ``by
group`` is the largest deviation among accounts, partitions and QOS of at least 30 jobs. Below the
table is, for each version, the mean of the ratios, how far they are from 1 on average, and how many
are beyond their bar.
"""

from __future__ import annotations

import argparse
import os
import re
import tempfile
from collections import defaultdict
from pathlib import Path

from shadowtime.cluster.site_folder import read_site_alone
from shadowtime.errors import ShadowtimeError
from shadowtime.slurm.waits import Comparison, compare_groups
from shadowtime.testing.slurm_recording import strip

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


def row(
    recording: Path, ratios: dict[tuple[str, bool], list[tuple[float, bool]]], *, phases: int
) -> str:
    """A row of the table; its ratios are added to those of its version."""
    cells = [recording.parent.name, recording.name]
    for submit_line in (True, False):
        with tempfile.TemporaryDirectory() as place:
            folder = strip(recording, Path(place) / recording.name, submit_line=submit_line)
            try:
                found = compare_groups(folder, phases=phases, easy=False)
            except ShadowtimeError as error:
                cells += [f"not read: {error}"[:60], ""]
                continue
            whole = found.all_jobs
            if submit_line:
                cells += [str(whole.jobs), f"{whole.recorded:.1f}"]
            beyond = abs(whole.factor - 1) > bar(folder, submit_line=submit_line)
            cells += [f"{whole.factor:.2f}{'*' if beyond else ''}", f"{worst(found):+.0%}"]
            ratios[recording.parent.name, submit_line].append((whole.factor, beyond))
    return f"| {' | '.join(cells)} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("recordings", nargs="*", type=Path)
    parser.add_argument("--phases", type=int, default=3)
    given = parser.parse_args()
    print("| version | recording | jobs | recorded, s | ratio | by group | without | by group |")
    print("|---|---|---:|---:|---:|---:|---:|---:|")
    ratios: dict[tuple[str, bool], list[tuple[float, bool]]] = defaultdict(list)
    for recording in given.recordings or recordings():
        print(row(recording, ratios, phases=given.phases), flush=True)
    for (version, submit_line), found in sorted(ratios.items(), reverse=True):
        mean = sum(ratio for ratio, _ in found) / len(found)
        off = sum(abs(ratio - 1) for ratio, _ in found) / len(found)
        beyond = sum(one for _, one in found)
        how = "with" if submit_line else "without"
        print(
            f"\n{version} {how} SubmitLine: mean ratio {mean:.2f}, {off:.1%} from 1 on average, "
            f"{beyond} of {len(found)} beyond their bar"
        )


if __name__ == "__main__":
    main()
