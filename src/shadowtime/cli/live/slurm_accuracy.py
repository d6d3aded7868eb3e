"""shadowtime live slurm accuracy: predicted starts compared with real ones."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from rich.text import Text

from shadowtime.cli.common.console import show
from shadowtime.cli.common.outputs import print_json
from shadowtime.cli.common.tables import numbers_table
from shadowtime.errors import UsageError
from shadowtime.eta import scores
from shadowtime.live.predictions import read_predictions, resolved
from shadowtime.live.slurm import drive
from shadowtime.live.slurm.watch import predictions_of

if TYPE_CHECKING:
    from shadowtime.eta.scores import Accuracy, Score
    from shadowtime.types import File


def accuracy(
    predictions: File | None = None,
    *,
    partition: str = "",
    state: File | None = None,
    timeout: float = 20.0,
    json: bool = False,
) -> None:
    """Compare predicted with real starts, by how far ahead they were made, and with squeue --start.

    PREDICTIONS is the file written by `shadowtime live slurm --policy slurm`; the default is the
    one beside the state file. Bias is the mean of real minus predicted start; the other two figures
    are the median and the 90th percentile of the error.

    \b
    shadowtime live slurm --policy slurm --for 1h
    shadowtime live slurm accuracy
    """
    path = _path(predictions, partition, state, timeout)
    entries = list(read_predictions(path))
    found = scores.accuracy(resolved(entries))
    if json:
        print_json({"predictions": str(path), "scores": [asdict(one) for one in found]})
        return
    if not found:
        raise UsageError(f"{path}: none of the {len(entries)} predicted jobs has started yet")
    _show(found)


def _path(predictions: str | None, partition: str, state: str | None, timeout: float) -> Path:
    if predictions is not None:
        return Path(predictions)
    if state is None:
        where = drive.Where(partition=partition, timeout=timeout)
        state = str(drive.default_state_file(drive.make_port(where).scope.partition))
    path = predictions_of(Path(state))
    if not path.exists():
        raise UsageError(
            f"there are no predictions in {path}: run `shadowtime live slurm --policy slurm` first"
        )
    return path


def _show(found: list[Accuracy]) -> None:
    table = numbers_table(
        "", "by", "predictions", "jobs", "bias", "median error", "90 % error", "in range"
    )

    def add(name: str, by: str, score: Score | None, jobs: str = "", inside: str = "") -> None:
        if score is not None:
            figures = (seconds(score.bias), seconds(score.median), seconds(score.ninety))
            table.add_row(name, by, str(score.count), jobs, *figures, inside)

    last = ""
    for one in found:
        if one.kind != last:
            last = one.kind
            table.add_section()
        doubt = " ?" if one.few else ""
        add(one.name, "shadowtime", one.ours, str(one.jobs), f"{one.inside:.0%}{doubt}")
        if one.slurm is not None:
            add("", "shadowtime, same jobs", one.both)
            add("", "squeue --start", one.slurm)
    words = "real start minus predicted start; in range: should be 80 %"
    few = f"; ? fewer than {scores.FEW} jobs" if any(one.few for one in found) else ""
    show(Text(f"{words}{few}"), table)


def seconds(value: float) -> str:
    """A duration with its sign.

    Examples
    --------
    >>> seconds(-90.4), seconds(7200)
    ('-1:30', '2:00:00')
    """
    whole = round(abs(value))
    minutes, rest = divmod(whole, 60)
    hours, minutes = divmod(minutes, 60)
    text = f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
    return f"-{text}" if value <= -0.5 else text
