"""How many falsified schedules does ``shadowtime check -p POLICY`` find, policy by policy?

    python benchmarks/mutants.py [--worlds N] [--each N] [--shape SHAPE ...] [--proofs]

Random pools, hosts and sites; schedules of the engine under every policy of the catalogue; for each
operator of tests/schedule/mutants.py ``--each`` mutants of a schedule. ``--proofs`` also counts
those that are found without following the policy, which is slow. Exits with 1 if one is missed.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))

from verify.campaign import campaign, policies, random_worlds


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, add_help=True)
    parser.add_argument("--worlds", type=int, default=20)
    parser.add_argument("--each", type=int, default=3)
    parser.add_argument("--shape", nargs="*", default=["pool", "hosts", "site"])
    parser.add_argument("--proofs", action="store_true")
    given = parser.parse_args()
    head = ("policy", "schedules", "accepted", "mutants", "found", "not found", "same schedule")
    missed = 0
    for shape in given.shape:
        worlds = random_worlds(shape, given.worlds)
        width = "{:<42}" + "{:>14}" * (len(head) - 1 + given.proofs)
        print(f"\n{shape}: {len(worlds)} worlds")
        print(width.format(*head, *(["other proofs"] * given.proofs)))
        sums = [0] * (len(head) - 1 + given.proofs)
        for text in policies(shape):
            one = campaign(text, worlds, each=given.each, proofs=given.proofs)
            row = [one.schedules, one.accepted, one.mutants, one.found, one.mutants - one.found]
            row += [one.same, *([one.by_other_proofs] * given.proofs)]
            sums = [a + b for a, b in zip(sums, row, strict=True)]
            print(width.format(text, *row), flush=True)
            for line in one.missed[:3]:
                print(f"    {line}")
        print(width.format(f"all policies ({shape})", *sums))
        missed += sums[0] - sums[1] + sums[4]
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
