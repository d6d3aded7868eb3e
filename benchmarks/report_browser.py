"""How quickly the report is written, opened and zoomed, measured in headless Chromium.

    python benchmarks/report_browser.py [TRACE.swf.gz] [--procs 1152] [--policy easy ...]

Without a trace it makes 250,000 jobs by itself. Prints a table of what was measured beside what
is wanted, and ends with code 1 if anything falls short.
"""

from __future__ import annotations

import argparse
import shutil
import statistics
import sys
import tempfile
import time
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests" / "report"))

from browser import Browser  # noqa: E402

from shadowtime.cluster import Cluster  # noqa: E402
from shadowtime.engine import simulate  # noqa: E402
from shadowtime.metrics import measure  # noqa: E402
from shadowtime.policy import parse_policy  # noqa: E402
from shadowtime.report import PolicyRun, ReportInput  # noqa: E402
from shadowtime.report.page.html import write_html  # noqa: E402
from shadowtime.trace import read  # noqa: E402
from shadowtime.workload import Workload  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Sequence

ZOOM = """
const { view, figure } = shadowtime.world, done = arguments[0];
const times = [], length = figure.end, target = length * 0.6, seconds = 5;
let start = null;
document.getElementById('figure').scrollIntoView();
function step(now) {
  if (start === null) start = now;
  times.push(now);
  const t = (now - start) / 1000 / seconds;
  if (t >= 1) { done(times); return; }
  const depth = t < 0.5 ? 2 * t : 2 - 2 * t;         // in for half the time, then out again
  const size = length * (7200 / length) ** depth;    // from everything to two hours
  view.set(target - size * 0.6, target + size * 0.4);
  requestAnimationFrame(step);
}
requestAnimationFrame(step);
"""


def generated(jobs: int = 250_000, procs: int = 1024) -> Workload:
    """Jobs enough for a busy machine, for want of a trace."""
    rng = np.random.default_rng(1)
    size = 2 ** rng.integers(0, 9, jobs)
    run = np.maximum(1, np.exp(rng.normal(6.5, 1.8, jobs))).astype(np.int64)
    gap = float((size * run).mean()) / (0.85 * procs)
    return Workload.build(
        submit=np.cumsum(rng.exponential(gap, jobs)).astype(np.int64),
        run=run,
        request=run * 3,
        procs=size,
        user=rng.integers(1, 300, jobs),
        name=f"{jobs:,} generated jobs",
        machine={"procs": procs},
    )


def prepared(trace: Path | None, procs: int | None, policies: Sequence[str]) -> ReportInput:
    workload = generated() if trace is None else read(trace)
    cluster = Cluster.pool(procs or workload.machine["procs"])
    runs = []
    for name in policies:
        schedule = simulate(workload, cluster, parse_policy(name))
        metrics = measure(schedule, workload, cluster)
        runs.append(PolicyRun(name=name, schedule=schedule, metrics=metrics))
    title = f"Zoom through {workload.name}"
    return ReportInput(title=title, workload=workload, cluster=cluster, runs=tuple(runs))


def in_browser(path: Path, folder: Path) -> dict[str, float]:
    """First paint, time until the figure is drawn, and frames per second of a five-second zoom."""
    driver, chromium = shutil.which("chromedriver"), shutil.which("chromium")
    if not driver or not chromium:
        sys.exit("chromium and chromedriver are needed: apt-get install chromium chromium-driver")
    with Browser(driver, chromium, folder / "profile") as browser:
        browser.open(path)
        browser.settle()
        paint: Any = browser.run("return performance.getEntriesByType('paint')[0].startTime")
        ready: Any = browser.run("return performance.getEntriesByName('ready')[0].startTime")
        times = browser.wait(f"new Promise(done => {{ (function () {{ {ZOOM} }})(done) }})")
        errors = browser.errors()
    if errors:
        sys.exit(f"the page complained: {errors[0]}")
    frames = [1000 / max(b - a, 0.1) for a, b in pairwise(times)]
    return {
        "paint": paint / 1000,
        "ready": ready / 1000,
        "fps": statistics.median(frames),
        "slow": sorted(frames)[len(frames) // 20],
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("trace", nargs="?", type=Path)
    parser.add_argument("--procs", type=int, help="processors; left out: from the trace's header")
    parser.add_argument("--policy", action="append", help="default: easy, easy-sjbf, conservative")
    options = parser.parse_args()
    policies = options.policy or ["easy", "easy-sjbf", "conservative"]
    report = prepared(options.trace, options.procs, policies)
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "report.html"
        start = time.perf_counter()
        write_html(report, path)
        written = time.perf_counter() - start
        start = time.perf_counter()
        write_html(report, path)
        again = time.perf_counter() - start
        size = path.stat().st_size / 1e6
        seen = in_browser(path, Path(name))
    rows = [
        ("written, first time in a process, s", written, 5.0, "<="),
        ("written again, s", again, 5.0, "<="),
        ("size, MB", size, 25.0, "<="),
        ("first paint, s", seen["paint"], 2.0, "<="),
        ("figure ready, s", seen["ready"], None, ""),
        ("zoom, median frames/s", seen["fps"], 30.0, ">="),
        ("zoom, slowest twentieth, frames/s", seen["slow"], None, ""),
    ]
    print(f"{report.workload.name}: {len(report.workload):,} jobs, {', '.join(policies)}")
    short = False
    for label, value, bound, sign in rows:
        met = bound is None or (value <= bound if sign == "<=" else value >= bound)
        short |= not met
        wanted = "" if bound is None else f"{sign} {bound:g}" + ("" if met else "  FALLS SHORT")
        print(f"  {label:<40}{value:>10.2f}   {wanted}")
    return int(short)


if __name__ == "__main__":
    raise SystemExit(main())
