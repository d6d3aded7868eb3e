"""shadowtime live slurm status, accuracy: when each waiting job starts, and how true that was."""

from __future__ import annotations

import getpass
import math
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rich.text import Text

from shadowtime.cli.common import console, outputs, tables
from shadowtime.cli.live.slurm_poll import NOW, Poll
from shadowtime.cli.live.status import poll as poll_once
from shadowtime.cli.live.status import show_status
from shadowtime.errors import UsageError
from shadowtime.eta import asking, ranges, scores, starts
from shadowtime.eta.scores import Accuracy, Score
from shadowtime.live import predicted, store
from shadowtime.live.predictions import instants, read_predictions, resolved
from shadowtime.live.slurm import drive, forecast, site_look, watch
from shadowtime.live.slurm.port import SlurmPort
from shadowtime.live.status import Status
from shadowtime.policy import parse_policy
from shadowtime.slurm.policy import SlurmPolicy
from shadowtime.types import File


def look(poll: Poll) -> Status:
    """The waiting jobs, and when each will start."""
    port = _port(poll)
    path = _state_of(poll, port)
    kept = store.StateFile(path, tell=console.note).load()
    chosen: Any = parse_policy(poll.policy or kept.policy or "slurm")
    if isinstance(chosen, SlurmPolicy):  # no loop runs: Slurm schedules by itself
        seen = _seen(port)
        found = forecast.forecast(seen, starts.How(policy=chosen), corrections=_corrections(path))
        return watch.status_beside(seen, found, partition=poll.partition, policy=chosen.name)
    shape = drive.choose_shape(port, chosen, poll.shape)
    drive.suit(port, chosen, shape)
    notes = kept.memory.jobs
    port.stopped = lambda job: job in notes and notes[job].kills > 0
    return poll_once(port, chosen, kept, path, shape=shape)


def ask(poll: Poll, text: str) -> tuple[int, predicted.Eta, asking.Answer]:
    """When a job with these options of sbatch would start if Slurm schedules by itself."""
    chosen: Any = parse_policy(poll.policy or "slurm")
    if not isinstance(chosen, SlurmPolicy):
        raise UsageError("--request is answered for Slurm's own scheduler: leave --policy out")
    port = _port(poll)
    seen = _seen(port)
    user = getpass.getuser()
    usual = site_look.default_account(port.answers.text, seen.site, user)
    job = asking.parse_request(text, seen.site, user=user, now=seen.now, account=usual)
    present = forecast.present_of(seen, forecast.predictable(seen)[0])
    corrections = _corrections(_state_of(poll, port))
    found = asking.ask_start(present, job, starts.How(policy=chosen), corrections=corrections)
    if not math.isfinite(found.estimate.expected):
        raise UsageError(
            f"--request {text}: Slurm's scheduler does not start it on the nodes that can be used"
        )
    return seen.now, predicted.Eta.of(found.estimate, seen.now), found


def _port(poll: Poll) -> SlurmPort:
    """The partitions that are named."""
    return drive.make_port(
        drive.Where(partition=poll.partition, gres=poll.gres, timeout=poll.timeout)
    )


def _state_of(poll: Poll, port: SlurmPort) -> Path:
    """The state file of their loop."""
    return Path(poll.state or drive.default_state_file(port.scope.partition))


def status(*, poll: Poll = NOW, json: bool = False) -> None:
    """The live state: nodes in use, waiting jobs, the predicted start of each with its range.

    If no loop has left a state file, Slurm schedules by itself and its own passes are simulated.

    \b
    shadowtime live slurm status
    shadowtime live slurm status --policy easy --json
    """
    show_status(look(poll), json=json)


def _seen(port: SlurmPort) -> forecast.Seen:
    seen = forecast.look(port.answers)
    for sentence in seen.missing:
        console.note(sentence)
    return seen


def _corrections(state: Path) -> ranges.Corrections:
    """How ranges are corrected by the predictions that a watch has stored."""
    watched = watch.predictions_of(state)
    return ranges.Corrections.learn(instants(read_predictions(watched)) if watched.exists() else ())


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
        outputs.print_json({"predictions": str(path), "scores": [asdict(one) for one in found]})
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
    path = watch.predictions_of(Path(state))
    if not path.exists():
        raise UsageError(
            f"there are no predictions in {path}: run `shadowtime live slurm --policy slurm` first"
        )
    return path


def _show(found: list[Accuracy]) -> None:
    table = tables.numbers_table(
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
    console.show(Text(f"{words}{few}"), table)


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
