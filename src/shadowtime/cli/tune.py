"""shadowtime tune: tune parameters on past jobs, evaluate them on later ones."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from shadowtime.cli.common import options

if TYPE_CHECKING:
    from rich.console import RenderableType

    from shadowtime.study.tune import Tuned


@click.command("tune")
@options.log
@options.cluster
@options.policy
@click.option(
    "--over",
    multiple=True,
    required=True,
    metavar="NAME=RANGE",
    help="A parameter to tune: expansion=0..1, 'wait=0.001..1 log', reserve=1..8, order=fcfs,sjf; "
    "repeatable.",
)
@click.option(
    "--objective",
    "objectives",
    default="bsld_mean",
    show_default=True,
    metavar="M,...",
    help="Metrics to improve, the most important first.",
)
@click.option(
    "--method",
    type=click.Choice(["random", "halving", "optuna"]),
    default="halving",
    show_default=True,
    help="How to search; optuna needs the extra tune.",
)
@click.option(
    "--trials", type=click.IntRange(min=2), default=50, show_default=True, metavar="N",
    help="Candidates to try.",
)  # fmt: skip
@click.option(
    "--seed", type=click.IntRange(min=0), default=1, show_default=True, metavar="S",
    help="Seed of the search and of the copies.",
)  # fmt: skip
@click.option(
    "--copies",
    type=click.IntRange(min=2),
    default=10,
    show_default=True,
    metavar="N",
    help="Shaken copies of the last part, for the interval.",
)
@click.option(
    "--baseline", default="easy", show_default=True, metavar="P", help="The policy to compare with."
)
@click.option(
    "--report-on",
    metavar="LOG2",
    help="Report on another log; then 75 % of LOG are used for tuning and 25 % for selection.",
)
@options.cleaning
@options.as_json
def command(
    log: str,
    cluster: str | None,
    policy: str,
    over: tuple[str, ...],
    objectives: str,
    method: Any,
    trials: int,
    seed: int,
    copies: int,
    baseline: str,
    report_on: str | None,
    as_json: bool,
    **cleaning: Any,
) -> None:
    """Tune a policy on 60 % of LOG, select on the next 20 %, report on the last 20 % once.

    Prints the Pareto front, how much of the gain was optimism, and the paired interval against the
    baseline on jobs that were not used in the search.

    \b
    shadowtime tune log.swf.gz -p 'easy(order=weighted)' --over expansion=0..1 --over wait=0..1
    shadowtime tune log.swf.gz -p easy --over reserve=1..8 --objective bsld_mean,wait_max_s
    """
    from shadowtime.cli.common.console import show
    from shadowtime.cli.common.inputs import Cleaning, load
    from shadowtime.cli.common.progress import working
    from shadowtime.study.tune import Parts, Space, tune

    space = Space.of(policy, over)
    rules = Cleaning(**cleaning)
    jobs, machine = load(log, cluster, rules)
    other = None if report_on is None else load(report_on, cluster, rules)[0]
    names = [name.strip() for name in objectives.split(",") if name.strip()]
    with working("tuning") as advance:
        found = tune(
            Parts.of(jobs, report_on=other), machine, space, names, method=method, trials=trials,
            seed=seed, copies=copies, baseline=baseline, progress=advance,
        )  # fmt: skip
    if as_json:
        options.print_json(found.as_dict())
    else:
        show(*parts_of(found))


def parts_of(found: Tuned) -> list[RenderableType]:
    """The front, the choice, and the report on the last part."""
    from rich.text import Text

    from shadowtime.cli.common.tables import plain_table
    from shadowtime.report.numbers import number

    tune, select, report = (f"{n:,}" for n in found.jobs)
    head = Text.assemble((found.chosen, "bold"), f": best of {found.trials} candidates")
    head.append(f"\ntuned on {tune} jobs, selected on the next {select}, reported on {report}")
    if found.failed:
        head.append(f"\n{found.failed} candidates were rejected by the engine")
    columns = [f"{name} ({part})" for name in found.objectives for part in ("tune", "select")]
    front = plain_table("Pareto front on the second part", *columns)
    for one in found.front:
        values = [
            number(part.get(name))
            for name in found.objectives
            for part in (one.tuned, one.selected)
        ]
        front.add_row(one.policy, *values)
    last = plain_table(
        "last part", "chosen", found.baseline, "difference (95 %)", "gain", "gain when tuned",
        "optimism",
    )  # fmt: skip
    for row in found.report:
        inside = row.difference
        doubt = "" if inside is None or inside.excludes_zero else " ?"
        span = f"{number(inside.mean)} ± {number(inside.half)}{doubt}" if inside else ""
        shares = [f"{100 * share:.1f} %" for share in (row.gain[2], row.gain[0], row.optimism)]
        last.add_row(row.metric, number(row.value), number(row.baseline), span, *shares)
    copies = f"over {found.copies} shaken copies of the last part, paired; ? may be chance"
    legend = f"difference: {copies}; gain: share by which {found.baseline} is improved"
    return [head, Text(), front, Text(), last, Text(legend, "dim")]
