"""Measure speed, growth and memory against the bars set for them.

    scripts/bench                 every row; also writes docs/benchmarks
    scripts/bench easy lxfw       some rows, printed only
    scripts/bench slurm --update  some rows, put into docs/benchmarks in the place of the old ones
    scripts/bench --list          the names of the rows
    scripts/bench slurm-random N  record and check N drawn configurations on every Slurm

Ends with code 1 if a bar is missed.
"""

from __future__ import annotations

import argparse
import compileall
import sys
import tempfile
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from benchmarks import machine, report, slurm_random  # noqa: E402
from benchmarks.bench_changing import changing  # noqa: E402
from benchmarks.bench_command import first, help_, second  # noqa: E402
from benchmarks.bench_compare import compare, compare_cost, metrics  # noqa: E402
from benchmarks.bench_conservative import conservative  # noqa: E402
from benchmarks.bench_faults import faults  # noqa: E402
from benchmarks.bench_growth import growth  # noqa: E402
from benchmarks.bench_hosts import hosts  # noqa: E402
from benchmarks.bench_hperf import hperf_paper, store  # noqa: E402
from benchmarks.bench_live import live  # noqa: E402
from benchmarks.bench_live_site import live_site  # noqa: E402
from benchmarks.bench_memory import memory  # noqa: E402
from benchmarks.bench_metadata import metadata  # noqa: E402
from benchmarks.bench_nodes import nodes  # noqa: E402
from benchmarks.bench_own import own  # noqa: E402
from benchmarks.bench_papers import paper  # noqa: E402
from benchmarks.bench_peers import peers  # noqa: E402
from benchmarks.bench_pv_easy import pv_easy  # noqa: E402
from benchmarks.bench_reading import reading  # noqa: E402
from benchmarks.bench_resources import resources  # noqa: E402
from benchmarks.bench_site import site  # noqa: E402
from benchmarks.bench_site_year import site_year  # noqa: E402
from benchmarks.bench_slurm import slurm, slurm_passes, slurm_quarter  # noqa: E402
from benchmarks.bench_slurm_year import slurm_year  # noqa: E402
from benchmarks.bench_small import small  # noqa: E402
from benchmarks.bench_sweep import sweep  # noqa: E402
from benchmarks.bench_twins import easy, lxfw  # noqa: E402
from benchmarks.bench_watched import watched  # noqa: E402
from benchmarks.inputs import LOGS, log_path  # noqa: E402
from rich.console import Console  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from benchmarks.rows import Row

BENCHES: dict[str, Callable[[Path], Iterator[Row]]] = {
    "easy": easy,
    "lxfw": lxfw,
    "conservative": conservative,
    "pv-easy": pv_easy,
    "resources": resources,
    "nodes": nodes,
    "growth": growth,
    "hosts": hosts,
    "site": site,
    "slurm": slurm,
    "slurm-quarter": slurm_quarter,
    "watched": watched,
    "slurm-passes": slurm_passes,
    "slurm-year": slurm_year,
    "reading": reading,
    "site-year": site_year,
    "help": help_,
    "second": second,
    "first": first,
    "memory": memory,
    "compare": compare,
    "compare-cost": compare_cost,
    "metrics": metrics,
    "small": small,
    "sweep": sweep,
    "metadata": metadata,
    "own": own,
    "changing": changing,
    "paper": paper,
    "hperf-store": store,
    "hperf-paper": hperf_paper,
    "live": live,
    "live-site": live_site,
    "faults": faults,
    "peers": peers,
}


def main(words: Sequence[str] | None = None) -> int:
    """Run, print, write."""
    words = sys.argv[1:] if words is None else words
    if words and words[0] == "slurm-random":
        return slurm_random.main(words[1:])
    parser = argparse.ArgumentParser(
        prog="scripts/bench", description="Measure speed, growth and memory."
    )
    parser.add_argument("rows", nargs="*", metavar="ROW", help=f"some of: {', '.join(BENCHES)}")
    parser.add_argument("--list", action="store_true", help="print the names of the rows")
    parser.add_argument(
        "--update", action="store_true", help="put the named rows into docs/benchmarks"
    )
    chosen = parser.parse_args(words)
    unknown = [name for name in chosen.rows if name not in BENCHES]
    if unknown:
        parser.error(f"there is no row {unknown[0]}; choose some of {', '.join(BENCHES)}")
    if chosen.list:
        print("\n".join(BENCHES))
        return 0
    console = Console() if sys.stdout.isatty() else Console(width=140)
    for name in LOGS:
        if log_path(name) is None:
            console.print(f"no log of {name} (folder: SHADOWTIME_TRACES): generated jobs instead")
    # As an installation leaves it: where Python may not write bytecode after an edit, every command
    # would compile the edited files once more.
    compileall.compile_dir(ROOT / "src" / "shadowtime", quiet=2)
    about, busy_before = machine.describe(), machine.busy()
    rows: list[Row] = []
    with tempfile.TemporaryDirectory() as folder:
        for name in chosen.rows or BENCHES:
            print(f"measuring {name} ...", file=sys.stderr, flush=True)
            rows += BENCHES[name](Path(folder))
    busy = f"load average {busy_before:.1f} before, {machine.busy():.1f} at the end"
    console.print(report.terminal_table(rows))
    console.print(f"{about['processor']}, {about['cores']} cores; {busy}")
    if not chosen.rows:
        when = datetime.now(UTC).strftime("%Y-%m-%d")
        report.write(ROOT / "docs" / "benchmarks", rows, about, when, busy)
        console.print("written: docs/benchmarks/index.md, docs/benchmarks/latest.json")
    elif chosen.update:
        when = datetime.now(UTC).strftime("%Y-%m-%d")
        report.update(ROOT / "docs" / "benchmarks", rows, f"measured apart, {when}")
        console.print("updated: docs/benchmarks/index.md, docs/benchmarks/latest.json")
    return 1 if any(row.met is False for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
