"""Digests of schedules: proof that a change of the code changes no schedule.

    python benchmarks/digests.py --write before.json     # before the change
    python benchmarks/digests.py --compare before.json   # after it

Every policy of the catalogue and the variants of the papers' pages run on every shape of machine,
on the embedded workload and on the archive's logs in SHADOWTIME_TRACES (else ../shared/traces):
the first 2,000 jobs of each, or --full. Ends with code 1 where a digest differs or is missing.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

import numpy as np  # noqa: E402
from benchmarks.digest_cases import cases  # noqa: E402

from shadowtime.engine import simulate  # noqa: E402
from shadowtime.errors import ShadowtimeError  # noqa: E402
from shadowtime.policy import parse_policy  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Sequence

    from benchmarks.digest_cases import Case

    from shadowtime.schedule import Schedule

JOBS = 2_000
COLUMNS = ("start", "end", "reason", "kills", "killed", "promised", "limit", "place", "penalised")
REFUSED = "refused"
"""Stands for a digest where a policy is not defined on a machine."""


def main(words: Sequence[str] | None = None) -> int:
    """Print, write or compare; 1 if something differs."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--write", type=Path, metavar="FILE", help="save the digests as JSON")
    parser.add_argument("--compare", type=Path, metavar="FILE", help="hold them against a file")
    parser.add_argument("--jobs", type=int, default=JOBS, help="of each workload (%(default)s)")
    parser.add_argument("--full", action="store_true", help="whole logs: an hour and more")
    parser.add_argument("--only", default="", metavar="TEXT", help="cases whose name holds it")
    given = parser.parse_args(words)
    known = json.loads(given.compare.read_text(encoding="utf-8")) if given.compare else None
    found: dict[str, str] = {}
    for case in cases(jobs=None if given.full else given.jobs):
        if given.only in case.name:
            begun = time.perf_counter()
            made = digests_of(case)
            print(
                f"{case.name}: {len(made)} policies, {len(case.workload):,} jobs, "
                f"{time.perf_counter() - begun:.1f} s",
                file=sys.stderr,
                flush=True,
            )
            found |= made
    if given.write:
        given.write.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    if known is not None:
        return compare(known, found, only=given.only)
    if not given.write:
        for name, digest in found.items():
            print(digest, name)
    return 0


def digests_of(case: Case) -> dict[str, str]:
    """A digest by policy, under the names of case and policy and the number of jobs."""
    found = {}
    for text in case.policies:
        try:
            made = digest(simulate(case.workload, case.cluster, parse_policy(text)))
        except ShadowtimeError:
            made = REFUSED
        found[f"{case.name} / {text} / {len(case.workload)} jobs"] = made
    return found


def digest(schedule: Schedule) -> str:
    """One text for all columns that a schedule has, and for the attempts of preempted jobs."""
    made = hashlib.sha256()
    for name in COLUMNS:
        column = getattr(schedule, name)
        if column is None:
            continue
        made.update(name.encode())
        if name == "place":
            made.update("\n".join(column).encode())
        else:
            made.update(np.asarray(column, np.int64).tobytes())
    tried = schedule.attempts
    for rows in (tried.job_id, tried.start, tried.end, tried.killed):
        made.update(np.asarray(rows, np.int64).tobytes())
    return made.hexdigest()[:16]


def compare(known: dict[str, str], found: dict[str, str], *, only: str) -> int:
    """Print the differences; schedules missing from this run count too."""
    wanted = {name: digest for name, digest in known.items() if only in name.partition(" / ")[0]}
    if only:
        wanted = {name: digest for name, digest in known.items() if name in found} or wanted
    differing = [name for name in wanted if found.get(name) != wanted[name]]
    for name in differing:
        print(f"{name}: {wanted[name]} before, {found.get(name, 'missing')} now")
    fresh = [name for name in found if name not in known]
    refused = sum(digest == REFUSED for digest in found.values())
    print(
        f"{len(wanted)} schedules compared, {len(differing)} differ; {len(fresh)} are not in the "
        f"file; {refused} combinations are not defined"
    )
    return 1 if differing or not wanted else 0


if __name__ == "__main__":
    sys.exit(main())
