"""What the verdict of `replay` is worth: its measures where the truth is known.

    python benchmarks/trust_calibration.py [--runs DIR] [--seeds N]

Four kinds of rows, from the noise to what must be refused:

- *itself*: a real Slurm beside itself, two clusters fed the same jobs at once. A perfect model
  cannot do better on a log, so this must be good.
- *shaken*: a simulated log beside the same policy on the same log with every submission and run
  time moved a little: what a perfect model makes of a log whose times are not exact.
- *other configuration*: the same jobs on the same real Slurm with other settings. How far a model
  is off that lacks exactly that feature: fair-share, partitions, limits, drains, backfilling.
- *model*: our policies beside the recorded waits.

Recordings come from --runs (a folder per run with jobs.psv), else ../shared/slurm-runs; runs that
are not there are skipped and named.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from benchmarks.inputs import LOGS, log_path  # noqa: E402

from shadowtime.cluster import Cluster  # noqa: E402
from shadowtime.cluster.spec import parse_cluster  # noqa: E402
from shadowtime.engine import simulate  # noqa: E402
from shadowtime.metrics import Window  # noqa: E402
from shadowtime.policy import parse_policy  # noqa: E402
from shadowtime.schedule import Schedule  # noqa: E402
from shadowtime.study.trust import RULES  # noqa: E402
from shadowtime.study.trust_measures import trust_of  # noqa: E402
from shadowtime.trace import read  # noqa: E402
from shadowtime.workload.embedded import demo_workload  # noqa: E402
from shadowtime.workload.shake import shaken  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Iterator

    from shadowtime.study.trust import Trust
    from shadowtime.workload import Workload

MACHINE = Cluster.pool(128)
"""Eight nodes of 16 processors; every job of these runs takes whole nodes."""
TWIN = ("B2", "B2twin")
OTHERS = {
    "A": "no backfilling",
    "B1": "default backfill resolution and interval",
    "D1": "Fair Tree",
    "D2": "classic fair-share",
    "E1": "overlapping partitions with tiers",
    "E2": "QOS limits",
    "F": "a drained node, a reservation",
}
MODELS = ("fcfs", "easy", "easy(reserve=all)", "conservative", "greedy")
MEASURES = tuple(rule.name for rule in RULES if rule.kind == "agreement")


def with_starts_of(workload: Workload, starts: dict[int, int], submits: dict[int, int]) -> Schedule:
    """The jobs of ``workload`` with the waits that another run of the same jobs gave them."""
    waits = np.array([starts[job] - submits[job] for job in workload.job_id.tolist()], np.int64)
    return Schedule.recorded(workload.replace(recorded_start=workload.submit + waits))


def beside(workload: Workload, other: Workload, cluster: Cluster, name: str) -> Trust:
    """The verdict over one recorded run, with another run of the same jobs as the model."""
    ids = other.job_id.tolist()
    starts = dict(zip(ids, other.recorded_start.tolist(), strict=True))
    submits = dict(zip(ids, other.submit.tolist(), strict=True))
    model = with_starts_of(workload, starts, submits)
    recorded = Schedule.recorded(workload)
    return trust_of(workload, cluster, recorded, model, policy=name, window=Window.all())


def under(workload: Workload, cluster: Cluster, policy: str) -> Trust:
    """The verdict over a recorded run, with a policy as the model."""
    model = simulate(workload, cluster, parse_policy(policy))
    recorded = Schedule.recorded(workload)
    return trust_of(workload, cluster, recorded, model, policy=policy, window=Window.all())


def shaken_rows(seeds: int) -> Iterator[tuple[str, str, Trust]]:
    """A log that EASY made, beside EASY on shaken copies of it."""
    jobs = demo_workload()
    cluster, easy = Cluster.pool(256), parse_policy("easy")
    log = jobs.replace(recorded_start=simulate(jobs, cluster, easy).start)
    for seed in range(1, seeds + 1):
        copy = shaken(jobs, seed=np.random.default_rng(seed))
        made = copy.replace(recorded_start=simulate(copy, cluster, easy).start)
        yield "shaken", f"demo, easy, seed {seed}", beside(log, made, cluster, "easy")


def rows(folder: Path, seeds: int) -> Iterator[tuple[str, str, Trust]]:
    """Every row of the table."""
    names = [*TWIN, *OTHERS]
    there = [name for name in names if (folder / name / "jobs.psv").is_file()]
    missing = [name for name in names if name not in there]
    if missing:
        print(f"no recording {', '.join(missing)} in {folder}", file=sys.stderr)
    runs = {name: read(folder / name / "jobs.psv") for name in there}
    if all(name in runs for name in TWIN):
        one, other = (runs[name] for name in TWIN)
        yield "itself", " as ".join(TWIN), beside(one, other, MACHINE, TWIN[1])
        yield "itself", " as ".join(TWIN[::-1]), beside(other, one, MACHINE, TWIN[0])
    yield from shaken_rows(seeds)
    if TWIN[0] in runs:
        for name, what in OTHERS.items():
            if name in runs:
                trust = beside(runs[name], runs[TWIN[0]], MACHINE, TWIN[0])
                yield "other configuration", f"{name} without: {what}", trust
    for name, jobs in runs.items():
        for policy in MODELS:
            yield "model", f"{name} under {policy}", under(jobs, MACHINE, policy)
    for name in LOGS:
        path = log_path(name)
        if path is not None:
            jobs = read(path)
            cluster = parse_cluster(None, machine=jobs.machine)
            yield "model", f"{name} under easy", under(jobs, cluster, "easy")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=Path, default=ROOT.parent / "shared" / "slurm-runs")
    parser.add_argument("--seeds", type=int, default=5)
    options = parser.parse_args()
    bounds = {rule.name: f"{rule.good:g}/{rule.fair:g}" for rule in RULES if rule.name in MEASURES}
    print(f"| kind | log and model | {' | '.join(MEASURES)} | verdict |")
    print(f"|---|---|{'---|' * len(MEASURES)}---|")
    print(f"| *bounds* | good/fair | {' | '.join(bounds.values())} | |")
    for kind, what, trust in rows(options.runs, options.seeds):
        values = {finding.rule.name: finding.value for finding in trust.findings}
        cells = " | ".join(f"{values.get(name, float('nan')):.3f}" for name in MEASURES)
        print(f"| {kind} | {what} | {cells} | {trust.grade} |", flush=True)


if __name__ == "__main__":
    main()
