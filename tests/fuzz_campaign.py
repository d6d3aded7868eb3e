"""Break a million records over all formats: ``python tests/fuzz_campaign.py [RECORDS [SECONDS]]``.

Every format gets the same share, and no more than SECONDS (60 by default); what is left of the
records of one that the clock cut short goes to the quick ones, in further rounds. Exits with 1
where a reader raised what is not ours, with the seeds.
"""

from __future__ import annotations

import sys

from fuzzing import Tally, fuzz, must_be_clean
from test_fuzz import every_format


def main(records: int = 1_000_000, seconds: float = 60.0) -> int:
    formats = every_format()
    seed = {one.name: one.records for one in formats}  # the suite has had the first
    spent = dict.fromkeys(seed, 0.0)
    wrong: list[str] = []
    total = 0
    print(f"{'format':32} {'records':>9} {'inputs':>8} {'read':>8} {'seconds':>8} {'slowest':>8}")
    while total < records and formats:
        share = -(-(records - total) // len(formats))
        for one in formats:
            left = seconds - spent[one.name]
            tally = fuzz(one, records=share, seconds=left, first_seed=seed[one.name])
            seed[one.name] += tally.inputs
            spent[one.name] += tally.seconds
            total += tally.records
            _report(tally, wrong)
        formats = [one for one in formats if spent[one.name] < seconds]
    short = sorted(name for name, used in spent.items() if used >= seconds)
    print(f"{'in all':32} {total:9,}")
    if short:
        print(f"cut short after {seconds:g} s: {', '.join(short)}")
    print("\n".join(wrong), file=sys.stderr, end="\n" if wrong else "")
    return 1 if wrong else 0


def _report(tally: Tally, wrong: list[str]) -> None:
    print(
        f"{tally.name:32} {tally.records:9,} {tally.inputs:8,} {tally.accepted:8,} "
        f"{tally.seconds:8.1f} {tally.slowest:8.3f}",
        flush=True,
    )
    try:
        must_be_clean(tally)
    except AssertionError as error:
        wrong.append(str(error))


if __name__ == "__main__":
    arguments = sys.argv[1:]
    sys.exit(
        main(
            *(int(arguments[0]), float(arguments[1])) if len(arguments) > 1 else map(int, arguments)
        )
    )
