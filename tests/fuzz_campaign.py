"""Break a million records over all formats: ``python tests/fuzz_campaign.py [RECORDS [SECONDS]]``.

Every format gets the same share, and no more than SECONDS (60 unless told); one that is cut short
by the clock says so, and those behind it take the rest of its share. Exits with 1 where a reader
raised what is not ours, with the seeds.
"""

from __future__ import annotations

import sys

from fuzzing import fuzz, must_be_clean
from test_fuzz import RECORDS, every_format


def main(records: int = 1_000_000, seconds: float = 60.0) -> int:
    formats = every_format()
    wrong, total = [], 0
    print(f"{'format':24} {'records':>9} {'inputs':>8} {'read':>8} {'seconds':>8} {'slowest':>8}")
    for place, one in enumerate(formats):
        share = -(-(records - total) // (len(formats) - place))
        # The suite has had the first seeds.
        tally = fuzz(one, records=share, seconds=seconds, first_seed=RECORDS)
        total += tally.records
        cut = "" if tally.records >= share else f"  cut short after {seconds:g} s"
        print(
            f"{tally.name:24} {tally.records:9,} {tally.inputs:8,} {tally.accepted:8,} "
            f"{tally.seconds:8.1f} {tally.slowest:8.3f}{cut}",
            flush=True,
        )
        try:
            must_be_clean(tally)
        except AssertionError as error:
            wrong.append(str(error))
    print(f"{'in all':24} {total:9,}")
    print("\n".join(wrong), file=sys.stderr, end="\n" if wrong else "")
    return 1 if wrong else 0


if __name__ == "__main__":
    told = sys.argv[1:]
    sys.exit(main(*(int(told[0]), float(told[1])) if len(told) > 1 else map(int, told)))
