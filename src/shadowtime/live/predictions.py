"""Predicted starts, stored and compared with the real ones."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from shadowtime import plain
from shadowtime.live.json_lines import JsonLines, read_lines

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from shadowtime.live.eta import Eta

OFTEN = 60
"""The shortest time in seconds between two stored predictions of a job."""
SHARE = 0.25
"""And the shortest time as a share of the predicted wait: distant starts change little."""
HORIZONS = (
    (0, "under 1 min"),
    (60, "1 to 10 min"),
    (600, "10 to 60 min"),
    (3600, "1 to 6 h"),
    (21600, "over 6 h"),
)
"""How far ahead a start was predicted: the lower bound in seconds, and the name."""


@dataclass(frozen=True, kw_only=True)
class Prediction:
    """When a job was to start, predicted at ``at``, all in seconds since 1970.

    ``slurm`` is squeue's own prediction, -1 if it had none.
    """

    job: str
    at: int
    expected: int
    earliest: int
    latest: int
    slurm: int = -1


class Predictions:
    """Stores predictions, and the real starts, in a file of its owner.

    Rules
    -----
    One object per line, appended atomically. A job is predicted when it is first seen, and
    again once a minute and a quarter of the wait that was predicted have passed. A file that
    cannot be written is reported once.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from shadowtime.live.eta import Eta
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     kept = Predictions(Path(folder) / "p.jsonl")
    ...     kept.note(100, {"7": Eta(400, 200, 400)}, slurm={}, started={})
    ...     kept.note(500, {}, slurm={}, started={"7": 430})
    ...     found = list(pairs(read_predictions(kept.path)))
    >>> [(one.expected, start) for one, start in found]
    [(400, 430)]
    """

    def __init__(self, path: Path, *, tell: Callable[[str], None] = lambda line: None) -> None:
        self.path, self.tell = path, tell
        self._open: dict[str, Prediction] = {}
        """The last prediction of jobs that have not started."""
        self._lines = JsonLines(path, called="the predictions", tell=tell)
        for entry in read_predictions(path) if path.exists() else ():
            if isinstance(entry, Prediction):
                self._open[entry.job] = entry
            else:
                self._open.pop(entry[0], None)

    def note(
        self,
        now: int,
        etas: Mapping[str, Eta],
        *,
        slurm: Mapping[str, int],
        started: Mapping[str, int],
        pending: Iterable[str] = (),
    ) -> None:
        """What is predicted now, by squeue too, since when jobs run, and which wait at all."""
        lines: list[dict[str, Any]] = []
        listed = {*etas, *started, *pending}
        for job in [job for job in self._open if job not in listed]:  # cancelled
            del self._open[job]
        for job, start in started.items():
            if job in self._open:
                del self._open[job]
                lines.append({"job": job, "started": start})
        for job, eta in etas.items():
            last = self._open.get(job)
            if last is not None and now - last.at < max(OFTEN, SHARE * (last.expected - last.at)):
                continue
            made = Prediction(
                job=job,
                at=now,
                expected=eta.expected,
                earliest=eta.earliest,
                latest=eta.latest,
                slurm=slurm.get(job, -1),
            )
            self._open[job] = made
            lines.append(asdict(made))
        if lines:
            self._lines.append(lines)


def read_predictions(path: Path) -> Iterator[Prediction | tuple[str, int]]:
    """Predictions and starts in the order in which they were kept; InputError names a bad line."""
    return read_lines(
        path,
        _entry,
        wrong="no prediction",
        hint="Delete the line: the other lines do not depend on it.",
    )


def _entry(values: Mapping[str, Any]) -> Prediction | tuple[str, int]:
    job = plain.text(plain.entry(values, "job"), "job")
    if "started" in values:
        return job, plain.whole(values["started"], "started")
    times = ("at", "expected", "earliest", "latest", "slurm")
    return Prediction(
        job=job, **{name: plain.whole(plain.entry(values, name), name) for name in times}
    )


def pairs(
    entries: Iterable[Prediction | tuple[str, int]],
) -> Iterator[tuple[Prediction, int]]:
    """Every prediction with the start that followed; those still open are omitted."""
    waiting: dict[str, list[Prediction]] = {}
    for entry in entries:
        if isinstance(entry, Prediction):
            waiting.setdefault(entry.job, []).append(entry)
        else:
            for one in waiting.pop(entry[0], []):
                yield one, entry[1]


@dataclass(frozen=True, kw_only=True)
class Score:
    """Errors of predictions in seconds: the real start minus the predicted one."""

    count: int
    bias: float
    """The mean error: above zero, jobs started later than predicted."""
    median: float
    """Half of the predictions were off by less, early or late."""
    ninety: float
    """Nine of ten were."""

    @staticmethod
    def of(errors: Sequence[int]) -> Score | None:
        """From single errors; None without any.

        Examples
        --------
        >>> Score.of([-10, 0, 40])
        Score(count=3, bias=10.0, median=10.0, ninety=34.0)
        """
        if not errors:
            return None
        off = np.abs(np.array(errors, float))
        median, ninety = (float(x) for x in np.quantile(off, [0.5, 0.9]))
        bias = float(np.mean(errors))
        return Score(count=len(errors), bias=bias, median=median, ninety=ninety)


@dataclass(frozen=True, kw_only=True)
class Accuracy:
    """Scores of one horizon: all of ours, and ours with squeue's where both made a prediction."""

    horizon: str
    ours: Score | None
    both: Score | None
    slurm: Score | None
    inside: float
    """The share of starts within the predicted range."""


def accuracy(found: Iterable[tuple[Prediction, int]]) -> list[Accuracy]:
    """Scores by how far ahead a start was predicted, and over all of them last.

    Examples
    --------
    >>> near = Prediction(job="1", at=0, expected=30, earliest=30, latest=50, slurm=90)
    >>> [(one.horizon, one.ours.bias, one.slurm.bias) for one in accuracy([(near, 40)])]
    [('under 1 min', 10.0, -50.0), ('all', 10.0, -50.0)]
    """
    groups: dict[str, list[tuple[Prediction, int]]] = {}
    everything = list(found)
    for one, start in everything:
        ahead = max(0, one.expected - one.at)
        name = next(name for least, name in reversed(HORIZONS) if ahead >= least)
        groups.setdefault(name, []).append((one, start))
    order = [name for _, name in HORIZONS if name in groups]
    return [
        _scored(name, rows)
        for name, rows in [*((name, groups[name]) for name in order), ("all", everything)]
        if rows
    ]


def _scored(name: str, rows: Sequence[tuple[Prediction, int]]) -> Accuracy:
    both = [(one, start) for one, start in rows if one.slurm >= 0]
    inside = sum(one.earliest <= start <= one.latest for one, start in rows)
    return Accuracy(
        horizon=name,
        ours=Score.of([start - one.expected for one, start in rows]),
        both=Score.of([start - one.expected for one, start in both]),
        slurm=Score.of([start - one.slurm for one, start in both]),
        inside=inside / len(rows),
    )
