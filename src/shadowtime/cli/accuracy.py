"""shadowtime accuracy: run time predictors on a log, and what each does to the schedule."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich.text import Text

from shadowtime.api.load import CLEAN, Cleaning
from shadowtime.cli.common import compared, console, outputs, running, tables
from shadowtime.errors import UsageError
from shadowtime.policy import Policy, parse_policy
from shadowtime.study.accuracy import USUAL, Row, compare_predictors
from shadowtime.types import FileOrFolder


def accuracy(
    trace: FileOrFolder,
    *,
    cluster: str | None = None,
    policy: str = "easy-sjbf",
    predictors: tuple[str, ...] = (),
    shake: int = 0,
    seed: int = 1,
    cleaning: Cleaning = CLEAN,
    json: bool = False,
) -> None:
    """Compare run time predictors on the job log TRACE.

    For each predictor: its error, how often it underestimates, and the waits and slowdowns of the
    policy that uses its predictions.

    \b
    shadowtime accuracy log.swf.gz
    shadowtime accuracy log.swf.gz -p easy -e requested -e nearest -e lightgbm --shake 10

    Parameters
    ----------
    policy : P
        The policy that uses the predictions.
    predictors : PART
        An estimate part, such as 'user-quantile(quantile=0.8)', 'file(path=mine.csv)', lightgbm or
        mine.py:name; repeatable; the others are compared with the first. [default: all that need no
        further input]
    shake : N >= 0
        Also run N shaken copies of the log: differences get an interval.
    seed : S >= 0
        Seed of the copies, which are the same for every predictor.
    """
    chosen = parse_policy(policy)
    if not isinstance(chosen, Policy):
        raise UsageError(
            f"{policy} is implemented by its own code and has no slot for an "
            "estimate: choose another with -p"
        )
    workload, machine = running.load(trace, cluster, cleaning)
    rows = compare_predictors(
        workload,
        machine,
        chosen,
        predictors or USUAL,
        shake=shake,
        seed=seed,
        run=compared.run_comparison,
    )
    if json:
        outputs.print_json(
            {
                "trace": {"name": workload.name, "jobs": len(workload)},
                "policy": chosen.name,
                "predictors": [row.as_dict() for row in rows],
            }
        )
    else:
        show_rows(rows, f"{workload.name}: {len(workload):,} jobs under {chosen.name}", shake)


def show_rows(rows: Sequence[Row], title: str, shake: int) -> None:
    """A line for each predictor."""
    heads = ["predictor", "mean error", "accuracy", "too short", "mean wait", "mean bsld"]
    table = tables.plain_table(*heads, *(["wait against the first"] if shake else []))
    for row in rows:
        error, effect = row.errors, row.effects
        cells: list[Any] = [
            Text(row.predictor, "cyan"),
            f"{error['prediction_error_mean_s']:,.0f} s",
            f"{error['prediction_accuracy_mean']:.0%}",
            f"{error['prediction_under']:.1%}",
            f"{effect['wait_mean_s']:,.0f} s",
            f"{effect['bsld_mean']:.2f}",
        ]
        if shake:
            found = row.differences.get("wait_mean_s")
            doubt = "" if found is None or found.excludes_zero else " ?"
            cells.append(
                f"{found.mean:+,.0f} s ({found.low:+,.0f} to {found.high:+,.0f}){doubt}"
                if found
                else ""
            )
        table.add_row(*cells)
    legend = (
        "accuracy: the smaller of prediction and run over the larger; too short: predicted less "
        "than the run time; bsld: bounded slowdown"
    )
    if shake:
        legend += f"; differences over {shake} copies, 95 % interval, ? the sign is not certain"
    console.show(Text(title, "bold"), table, Text(legend, "dim"))
