"""Suggest policy settings for a job log, and simulate their effect."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from rich.text import Text

from shadowtime.api.load import CLEAN, Cleaning
from shadowtime.api.run import Run
from shadowtime.cli.common import console, outputs, running
from shadowtime.cli.common.tables import numbers_table
from shadowtime.metrics import Classes, Window, by_classes
from shadowtime.policy import Policy, parse_policy
from shadowtime.result.write import as_object
from shadowtime.study.partition_advice import Advice, Choice, advise
from shadowtime.types import FileOrFolder
from shadowtime.workload import Workload

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.table import Table

COMMANDS = {"Commands": ("partitions",)}
BASE = "single-class"
SAME = 1.1
"""Users who wait at most a tenth longer on average do not count as paying."""


def partitions(
    trace: FileOrFolder,
    *,
    cluster: str | None = None,
    above: int | None = None,
    top: int = 4,
    cleaning: Cleaning = CLEAN,
    window: str | None = None,
    json: bool = False,
) -> None:
    """How many hosts (n) to keep for large jobs, and how short (r) others must be to run there.

    The three guidelines of class partitioning, computed from TRACE, and the simulated effect of
    the best few choices against no partition (single-class).

    \b
    shadowtime advise partitions january.swf.gz --cluster o2k
    shadowtime advise partitions log.swf.gz --cluster machine.toml --above 32 --top 6

    Parameters
    ----------
    above : P >= 0
        Large jobs request more processors than this. [default: half of the widest host]
    top : N in 1..50
        How many of the choices within the guidelines to simulate.
    """
    scored = Window.parse(window or "all")
    workload, machine = running.load(trace, cluster, cleaning)
    running.must_score_some(scored, workload)
    advice = advise(workload, machine, above=above)
    best = advice.best(top)
    runs = running.run_policies(workload, machine, policies_for(advice, best), scored)
    waits = [_waits(run, workload, advice.above, scored) for run in runs]
    if json:
        result = runs[0].as_report(*runs[1:])
        content = as_object(result, scored, advice=_as_dict(advice, best))
        for entry, classes in zip(content["policies"], waits, strict=True):
            entry["classes"] = classes
        outputs.print_json(content)
    else:
        console.show(*_parts(advice, best, runs, waits))


def policies_for(advice: Advice, best: Sequence[Choice]) -> list[Policy]:
    """No partition, L/SM for each choice, and L/A for the first."""
    texts = [BASE]
    for name, choices in (("part-l-sm", best), ("part-l-a", best[:1])):
        texts += [
            f"{name}(hosts={c.hosts}, hours={c.hours:g}, above={advice.above})" for c in choices
        ]
    return [parse_policy(text) for text in texts]


def _waits(run: Run, jobs: Workload, above: int, window: Window) -> dict[str, dict[str, float]]:
    """Waits of the large jobs and of the others."""
    classes = Classes((jobs.procs > above).astype("int64"), ("others", "large"))
    rows = by_classes(run.schedule, jobs, classes, kind="partition", window=window)
    return {row.label: {"jobs": row.jobs, **row.metrics} for row in rows}


def _as_dict(advice: Advice, best: Sequence[Choice]) -> dict[str, Any]:
    return {
        "large_above_procs": advice.above,
        "large_jobs": advice.large_jobs,
        "demand": advice.demand,
        "demand_large": advice.large,
        "demand_others_up_to_hours": {f"{r:g}": share for r, share in advice.up_to.items()},
        "choices": [choice.as_dict() for choice in advice.choices],
        "simulated": [{"hosts": choice.hosts, "hours": choice.hours} for choice in best],
    }


def _parts(
    advice: Advice,
    best: Sequence[Choice],
    runs: Sequence[Run],
    waits: Sequence[dict[str, dict[str, float]]],
) -> Iterator[RenderableType]:
    share = advice.large_jobs / advice.jobs
    yield Text(
        f"Large jobs ask for more than {advice.above} processors: {advice.large_jobs:,} of "
        f"{advice.jobs:,} jobs ({share:.1%}), {advice.large:.1%} of the machine's processing time; "
        f"all jobs together {advice.demand:.1%}.\n"
    )
    yield _demands(advice)
    yield Text(
        "\nGuidelines: (1) n hosts offer what large jobs need; (2) the jobs that may run there "
        "need more than that; (3) the first large job waits at most r."
    )
    if not best:
        yield Text("No number of hosts has room for the large jobs and leaves any for others.")
        return
    yield _guidelines(advice, best)
    yield Text("\nSimulated, the mean wait in hours unless noted otherwise:")
    yield _effects(runs, waits)
    yield Text(_verdict(runs, waits))


def _demands(advice: Advice) -> Table:
    table = numbers_table(
        "of the machine", "large", *(f"others, R <= {r:g} h" for r in list(advice.up_to)[3:7])
    )
    table.add_row(
        "share",
        f"{advice.large:.1%}",
        *(f"{share:.1%}" for share in list(advice.up_to.values())[3:7]),
    )
    return table


def _guidelines(advice: Advice, best: Sequence[Choice]) -> Table:
    table = numbers_table("n, r", "offered", "(1) large need", "(2) eligible jobs need", "(3) r")
    for choice in best:
        table.add_row(
            f"{choice.hosts} hosts, {choice.hours:g} h",
            f"{choice.offered:.1%}",
            f"{choice.large:.1%} {'yes' if choice.room else 'no'}",
            f"{choice.eligible:.1%} {'yes' if choice.filled else 'no'}",
            f"{choice.hours:g} h",
        )
    return table


def _effects(runs: Sequence[Run], waits: Sequence[dict[str, dict[str, float]]]) -> Table:
    table = numbers_table("policy", "all", "others", "large", "large, 95 %", "large, longest")
    for run, classes in zip(runs, waits, strict=True):
        large, others = classes.get("large", {}), classes.get("others", {})
        cells = (
            run.metrics.get("wait_mean_s"),
            others.get("wait_mean_s"),
            large.get("wait_mean_s"),
            large.get("wait_p95_s"),
            large.get("wait_max_s"),
        )
        table.add_row(run.name, *("-" if x is None else f"{x / 3600:,.2f}" for x in cells))
    return table


def _verdict(runs: Sequence[Run], waits: Sequence[dict[str, dict[str, float]]]) -> str:
    """Of those under which no class pays, the one with the least wait of large jobs."""

    def wait(at: int, label: str) -> float:
        return waits[at].get(label, {}).get("wait_mean_s", 0.0)

    fair = [
        at
        for at in range(1, len(runs))
        if wait(at, "large") < wait(0, "large") and wait(at, "others") <= SAME * wait(0, "others")
    ]
    if not fair:
        return (
            "None of these shortens the large jobs' wait without making the others wait more than "
            "a tenth longer: keep one class, or weigh the two columns yourself."
        )
    best = min(fair, key=lambda at: wait(at, "large"))
    less = 1 - wait(best, "large") / wait(0, "large")
    return (
        f"{runs[best].name}: large jobs wait {less:.0%} less than under {BASE}, and the others not "
        "more than a tenth longer."
    )
