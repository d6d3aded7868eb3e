"""Predicted starts, stored and compared with the real ones."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from shadowtime import plain
from shadowtime.eta.ranges import Instant
from shadowtime.eta.scores import Scored
from shadowtime.live.json_lines import JsonLines, read_lines

if TYPE_CHECKING:
    from shadowtime.live.predicted import Eta

OFTEN = 60
"""The shortest time in seconds between two stored predictions of a job."""
SHARE = 0.25
"""And the shortest time as a share of the predicted wait: distant starts change little."""


@dataclass(frozen=True, kw_only=True)
class Prediction:
    """When a job was to start, predicted at ``at``, all in seconds since 1970.

    ``slurm`` is squeue's own prediction, -1 if it had none; ``drawn`` the ends before experience
    moved them, from which it must go on learning: those that it moved need no further move.
    """

    job: str
    at: int
    expected: int
    earliest: int
    latest: int
    slurm: int = -1
    partition: str = ""
    cpus: int = 0
    drawn: tuple[int, int] | None = None

    @property
    def ends(self) -> tuple[int, int]:
        """The ends as they were drawn; in older files those that were shown."""
        return self.drawn or (self.earliest, self.latest)

    def scored(self, start: int) -> Scored:
        """What was shown, with the start that followed."""
        return Scored(
            job=self.job,
            at=self.at,
            expected=self.expected,
            earliest=self.earliest,
            latest=self.latest,
            start=start,
            slurm=self.slurm,
            partition=self.partition,
            cpus=self.cpus,
        )


class Outcome(NamedTuple):
    """What came of a job's predictions: when it started, -1 if it left the queue without."""

    job: str
    started: int


class Kind(NamedTuple):
    """What jobs are told apart by in scores."""

    partition: str = ""
    cpus: int = 0


Entry = Prediction | Outcome


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
    >>> from shadowtime.live.predicted import Eta
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     kept = Predictions(Path(folder) / "p.jsonl")
    ...     kept.note(100, {"7": Eta(400, 200, 400)}, slurm={}, started={})
    ...     kept.note(500, {}, slurm={}, started={"7": 430})
    ...     found = list(resolved(read_predictions(kept.path)))
    >>> [(one.expected, one.start) for one in found]
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
                self._open.pop(entry.job, None)

    def note(
        self,
        now: int,
        etas: Mapping[str, Eta],
        *,
        slurm: Mapping[str, int],
        started: Mapping[str, int],
        pending: Iterable[str] = (),
        kinds: Mapping[str, Kind] | None = None,
    ) -> None:
        """What is predicted now, by squeue too, since when jobs run, and which wait at all."""
        lines: list[dict[str, Any]] = []
        listed = {*etas, *started, *pending}
        for job in [job for job in self._open if job not in listed]:  # cancelled
            del self._open[job]
            lines.append({"job": job, "started": -1})
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
                drawn=eta.drawn,
                **(kinds or {}).get(job, Kind())._asdict(),
            )
            self._open[job] = made
            lines.append(asdict(made))
        if lines:
            self._lines.append(lines)


def read_predictions(path: Path) -> Iterator[Entry]:
    """Predictions and starts in the order in which they were kept; InputError names a bad line."""
    return read_lines(
        path,
        _entry,
        wrong="no prediction",
        hint="Delete the line: the other lines do not depend on it.",
    )


def _entry(values: Mapping[str, Any]) -> Entry:
    job = plain.text(plain.entry(values, "job"), "job")
    if "started" in values:
        return Outcome(job, plain.whole(values["started"], "started"))
    times = ("at", "expected", "earliest", "latest", "slurm")
    ends = plain.wholes(values.get("drawn") or [], "drawn")
    return Prediction(
        job=job,
        partition=plain.text(values.get("partition", ""), "partition"),
        cpus=plain.whole(values.get("cpus", 0), "cpus"),
        drawn=(ends[0], ends[1]) if len(ends) == 2 else None,
        **{name: plain.whole(plain.entry(values, name), name) for name in times},
    )


def resolved(entries: Iterable[Entry]) -> Iterator[Scored]:
    """Every prediction with the start that followed; those still open are omitted."""
    waiting: dict[str, list[Prediction]] = {}
    for entry in entries:
        if isinstance(entry, Prediction):
            waiting.setdefault(entry.job, []).append(entry)
            continue
        for one in waiting.pop(entry.job, []):
            if entry.started >= 0:
                yield one.scored(entry.started)


def instants(entries: Iterable[Entry]) -> list[Instant]:
    """The times at which predictions were made all of whose jobs have started or gone."""
    made: dict[int, list[Prediction]] = {}
    outcome: dict[str, int] = {}
    for entry in entries:
        if isinstance(entry, Prediction):
            made.setdefault(entry.at, []).append(entry)
            outcome.pop(entry.job, None)
        else:
            outcome[entry.job] = entry.started
    found = []
    for at, rows in made.items():
        if all(one.job in outcome for one in rows):
            begun = [one for one in rows if outcome[one.job] >= 0]
            found.append(
                Instant(
                    expected=[one.expected - at for one in begun],
                    earliest=[one.ends[0] - at for one in begun],
                    latest=[one.ends[1] - at for one in begun],
                    real=[outcome[one.job] - at for one in begun],
                )
            )
    return found
