"""Digests of schedules: proof that a change of the code changes no schedule.

    python benchmarks/digests.py --compare              # with benchmarks/digests.json
    python benchmarks/digests.py --compare --only site  # one group: live, site, recording, machine
    python benchmarks/digests.py --write                # after a decision: renew the file

Every policy of the catalogue and the variants of the papers' pages run on every shape of machine,
on the embedded workload and on the archive's logs in SHADOWTIME_TRACES (else ../shared/traces):
the first 2,000 jobs of each, or --full. They and ``slurm`` run on drawn sites and on those of the
recordings beside the traces; the logged passes of the recordings are made again; and the live loop
decides on snapshots of pools, hosts, nodes and sites. Ends with code 1 where a digest differs, and
where a run fails: that is listed and never kept as a digest.
A digest that changes is a defect, or a decision in docs/decisions: then renew it, with --only.
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

from benchmarks.digest_cases import GROUPS, cases  # noqa: E402

from shadowtime.errors import ShadowtimeError  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Sequence

    from benchmarks.digest_cases import Case

JOBS = 2_000
KEPT = Path(__file__).parent / "digests.json"
REFUSED = "refused"
"""Stands for a digest where a policy is not defined on a machine."""


def main(words: Sequence[str] | None = None) -> int:
    """Print, write or compare; 1 if something differs."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    file = {"type": Path, "nargs": "?", "const": KEPT, "metavar": "FILE"}
    parser.add_argument("--write", help="save the digests, those of other cases stay", **file)
    parser.add_argument("--compare", help=f"hold them against a file ({KEPT.name})", **file)
    parser.add_argument("--jobs", type=int, default=JOBS, help="of each workload (%(default)s)")
    parser.add_argument("--full", action="store_true", help="whole logs: an hour and more")
    parser.add_argument(
        "--only", default="", metavar="TEXT",
        help=f"a group ({', '.join(GROUPS)}), or cases whose name holds it",
    )  # fmt: skip
    given = parser.parse_args(words)
    known = json.loads(given.compare.read_text(encoding="utf-8")) if given.compare else None
    found: dict[str, str] = {}
    failed: dict[str, str] = {}
    for case in cases(jobs=None if given.full else given.jobs, only=given.only):
        begun = time.perf_counter()
        made, broken = digests_of(case)
        print(
            f"{case.name}: {len(made)} digests, {len(broken)} failures, {case.jobs:,} jobs, "
            f"{time.perf_counter() - begun:.1f} s",
            file=sys.stderr,
            flush=True,
        )
        found |= made
        failed |= broken
        if given.write:  # after every case: a run may be broken off
            before = json.loads(given.write.read_text()) if given.write.is_file() else {}
            text = json.dumps(before | found, indent=0, sort_keys=True)
            given.write.write_text(text + "\n", encoding="utf-8")
    for name, why in failed.items():
        print(f"{name} fails with {why}", file=sys.stderr)
    if known is not None:
        return max(bool(failed), compare(known, found, whole=not given.only))
    if not given.write:
        for name, digest in found.items():
            print(digest, name)
    return int(bool(failed))


def digests_of(case: Case) -> tuple[dict[str, str], dict[str, str]]:
    """A digest by text, under the names of case and text and the number of jobs; and failures.

    Examples
    --------
    >>> from benchmarks.digest_cases import Case
    >>> def run(text: str) -> list[bytes]:
    ...     return [b"1" if text == "good" else b"%d" % len(text) % 0]
    >>> digests_of(Case("a", 3, ("good", "bad"), run))
    ({'a / good / 3 jobs': '6b86b273ff34fce1'}, {'a / bad / 3 jobs': 'TypeError: not all arguments \
converted during bytes formatting'})
    """
    found, failed = {}, {}
    for text in case.texts:
        name = f"{case.name} / {text} / {case.jobs} jobs"
        made = hashlib.sha256()
        try:
            for part in case.run(text):
                made.update(part)
            found[name] = made.hexdigest()[:16]
        except ShadowtimeError:
            found[name] = REFUSED
        except Exception as error:  # a defect, of whatever kind
            failed[name] = f"{type(error).__name__}: {error}"
    return found, failed


def compare(known: dict[str, str], found: dict[str, str], *, whole: bool) -> int:
    """Print the differences; schedules missing from a whole run count too.

    Examples
    --------
    >>> compare({"a": "1", "b": "2"}, {"a": "3"}, whole=False)
    a: 1 before, 3 now
    1 schedules compared, 1 differ; 0 are not in the file; 0 combinations are not defined
    1
    """
    wanted = {name: made for name, made in known.items() if whole or name in found}
    differing = [name for name in wanted if found.get(name) != wanted[name]]
    for name in differing:
        print(f"{name}: {wanted[name]} before, {found.get(name, 'missing')} now")
    fresh = [name for name in found if name not in known]
    refused = sum(made == REFUSED for made in found.values())
    print(
        f"{len(wanted)} schedules compared, {len(differing)} differ; {len(fresh)} are not in the "
        f"file; {refused} combinations are not defined"
    )
    return 1 if differing or not wanted else 0


if __name__ == "__main__":
    sys.exit(main())
