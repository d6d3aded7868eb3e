"""A page of mean waits: recorded, by the model over several phases, and under EASY."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import stdev
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from shadowtime.slurm.waits import Comparison, Waits

HEAD = """# Mean waits of Slurm's own scheduler

Written by `{command}`.

Each recording is reduced to what `pull` collects from a site, sacct's table with SubmitLine and the
configuration, and simulated from that alone, with Slurm's passes at {phases} offsets: a log does
not record when they ran. Waits are in seconds. *Factor* is the mean over the offsets divided by the
recorded mean, *range* the smallest and the largest of the single offsets in the same measure, *sd*
their standard deviation. The recorded run is one of many equally
likely runs: it may be as far from the mean as single offsets are. How long nodes take to answer
after an end is measured from the same table. EASY runs on the same site, with the same limits, in
the order of submission.

"""


def wait_page(found: Sequence[Comparison], *, command: str) -> str:
    """Markdown: all recordings in one table, then each one's accounts, partitions and QOS.

    Examples
    --------
    >>> from shadowtime.slurm.waits import Comparison, Waits
    >>> one = Waits(jobs=3, recorded=10.0, phases=(9.0, 10.0), easy=12.0)
    >>> page = wait_page([Comparison(name="A", all_jobs=one, groups={})], command="x")
    >>> [line for line in page.splitlines() if line.startswith("| A")]
    ['| A | 3 | 10.0 | 9.5 | 0.95 | 0.90 to 1.00 | 0.07 | 12.0 | 1.20 |']
    """
    phases = len(found[0].all_jobs.phases) if found else 0
    columns = "jobs | recorded | slurm | factor | range | sd | EASY | factor |"
    rule = "---:|" * 8
    lines = [f"| recording | {columns}", f"|---|{rule}"]
    lines += [_row(one.name, one.all_jobs) for one in found]
    for one in found:
        if one.easy_failed:
            lines += ["", f"EASY could not be simulated on {one.name}: {one.easy_failed}"]
    for one in found:
        lines += ["", f"## {one.name}", "", f"| of | {columns}", f"|---|{rule}"]
        lines += [_row(f"{what} {name}", waits) for (what, name), waits in one.groups.items()]
    return HEAD.format(command=command, phases=phases) + "\n".join(lines) + "\n"


def _row(name: str, waits: Waits) -> str:
    recorded = waits.recorded
    cells = [name, str(waits.jobs), f"{recorded:.1f}", f"{waits.mean:.1f}"]
    if recorded:
        low, high = min(waits.phases) / recorded, max(waits.phases) / recorded
        spread = stdev(waits.phases) / recorded if len(waits.phases) > 1 else 0.0
        cells += [f"{waits.factor:.2f}", f"{low:.2f} to {high:.2f}", f"{spread:.2f}"]
    else:
        cells += ["-", "-", "-"]
    if waits.easy is None:
        cells += ["-", "-"]
    else:
        cells += [f"{waits.easy:.1f}", f"{waits.easy / recorded:.2f}" if recorded else "-"]
    return "| " + " | ".join(cells) + " |"
