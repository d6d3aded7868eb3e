"""For a Slurm that schedules by itself: predict starts, store them, compare with the real ones."""

from __future__ import annotations

import contextlib
import sys
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from shadowtime.engine.live_pass import natural
from shadowtime.eta.ranges import Corrections
from shadowtime.eta.starts import How
from shadowtime.live.backend import Wanted
from shadowtime.live.clock import Clock
from shadowtime.live.heartbeat import Heartbeat, heartbeat_of, notifier
from shadowtime.live.log import LogLine
from shadowtime.live.port import PortError
from shadowtime.live.predicted import Row, starts_of, write_starts
from shadowtime.live.predictions import Kind, Predictions, instants, read_predictions
from shadowtime.live.signals import Interrupted, Signals
from shadowtime.live.slurm import drive
from shadowtime.live.slurm.accounting import Accounting
from shadowtime.live.slurm.answers import Answers
from shadowtime.live.slurm.drive import Where
from shadowtime.live.slurm.forecast import Forecast, Seen, forecast, look
from shadowtime.live.slurm.state import HOLDS
from shadowtime.live.slurm.why import Reasons
from shadowtime.live.status import Status
from shadowtime.live.store import StateFile
from shadowtime.slurm.policy import SlurmPolicy

SLOWEST = 15.0
"""Seconds between two polls: predictions are for people, and Slurm reports when a job started."""
RELEARN = 300
"""Seconds between two looks at how predictions came true."""
AT_MOST = 0.1
"""The share of the time that is spent in polling and predicting."""


def predictions_of(state: Path) -> Path:
    """The predictions beside a state file.

    Examples
    --------
    >>> from pathlib import Path
    >>> str(predictions_of(Path("/var/lib/shadowtime/slurm-batch.json")))
    '/var/lib/shadowtime/slurm-batch.json.predictions'
    """
    return state.with_name(f"{state.name}.predictions")


def status_beside(
    seen: Seen, found: Forecast, *, partition: str = "", policy: str = "slurm"
) -> Status:
    """The state of a Slurm that schedules by itself; ``partition`` empty: all."""
    wanted, reasons = {*partition.split(",")} - {""}, Reasons(seen)
    mine = [row for row in seen.rows if not wanted or wanted & {*row.partition.split(",")}]
    rows = [
        Row(
            row.id,
            row.user,
            row.cpus,
            max(row.submit, 0),
            found.etas[row.id],
            reasons.of(row),
        )
        for row in mine
        if row.id in found.etas
    ]
    nodes = {
        name
        for one in seen.site.partitions
        if not wanted or one.name in wanted
        for name in one.nodes
    }
    procs = sum(node.amounts[0] for node in seen.site.nodes if node.name in nodes)
    running = [row for row in mine if row.state in HOLDS]
    return Status(
        policy=policy,
        now=seen.now,
        hosts=len(nodes & {node.name for node in seen.site.nodes}),
        used=(sum(row.cpus for row in running), procs),
        running=len(running),
        waiting=tuple(
            sorted(rows, key=lambda row: (row.eta.expected, row.since, natural(row.job)))
        ),
        ineligible={row.id: found.unknown[row.id] for row in mine if row.id in found.unknown},
    )


@dataclass(kw_only=True)
class Watch:
    """Polls repeatedly, read-only.

    Rules
    -----
    Polls every quarter of a minute, or less often, so that polling takes a tenth of the time at
    most. A job is reported when it is first predicted and when it starts. If Slurm does not answer,
    it retries.
    """

    answers: Answers
    clock: Clock
    predictions: Predictions
    policy: SlurmPolicy
    tell: Callable[[str], None] = lambda line: None
    beat: Callable[..., None] = lambda waiting_for, understood=True: None
    every: float = SLOWEST
    _expected: dict[str, int] = field(default_factory=dict)
    accounting: Accounting = field(default_factory=Accounting)
    _missing: tuple[str, ...] = ()
    """What accounting did not tell at the last poll."""
    _corrections: tuple[float, Corrections] = (float("-inf"), Corrections())

    def step(self) -> tuple[Seen, Forecast]:
        """One poll."""
        seen = look(self.answers, self.accounting)
        for sentence in seen.missing:
            if sentence not in self._missing:
                self.tell(LogLine(sentence, event="missing", why=sentence))
        self._missing = seen.missing
        found = forecast(seen, How(policy=self.policy), corrections=self._learned(seen.now))
        started = {row.id: row.start for row in seen.rows if row.start > 0 and _began(row.state)}
        slurm = {row.id: row.start for row in seen.rows if row.state == "PENDING" and row.start > 0}
        self.predictions.note(
            found.now,
            found.etas,
            slurm=slurm,
            started=started,
            pending=found.unknown,
            kinds={row.id: Kind(row.partition, row.cpus) for row in seen.rows},
        )
        self._tell(found, started)
        return seen, found

    def _learned(self, now: float) -> Corrections:
        """How the ends of ranges are corrected, by the predictions that have come true so far."""
        at, known = self._corrections
        if now - at >= RELEARN:
            path = self.predictions.path
            entries = read_predictions(path) if path.exists() else ()
            known = Corrections.learn(instants(entries))
            self._corrections = now, known
        return known

    def run_on(
        self,
        *,
        until_idle: bool = False,
        stopped: Callable[[], bool] = lambda: False,
        after: Callable[[Seen, Forecast], None] = lambda seen, found: None,
        failed: Callable[[], None] = lambda: None,
    ) -> None:
        """Poll until stopped, or with ``until_idle`` until no job waits or runs."""
        while not stopped():
            began, pause = time.monotonic(), self.every
            try:
                seen, found = self.step()
            except PortError as error:
                self.tell(LogLine(f"waiting for slurm: {error}", event="error", why=str(error)))
                failed()
                self.beat(f"slurm: {error}", understood=False)
            else:
                self.beat(f"the next poll, with {len(found.etas)} starts predicted")
                after(seen, found)
                busy = any(row.state == "PENDING" or row.state in HOLDS for row in seen.rows)
                if until_idle and not busy:
                    return
                pause = max(self.every, (time.monotonic() - began) * (1 / AT_MOST - 1))
            self._rest(pause, stopped)

    def _rest(self, pause: float, stopped: Callable[[], bool]) -> None:
        """Sleep in short pieces, so that the end of the run is not missed by a whole pause."""
        while pause > 0 and not stopped():
            self.clock.sleep(min(1.0, pause))
            pause -= 1.0

    def _tell(self, found: Forecast, started: Mapping[str, int]) -> None:
        for job in [job for job in self._expected if job in started]:
            late = started[job] - self._expected.pop(job)
            word = "later" if late >= 0 else "earlier"
            line = f"{job} started {abs(late)} s {word} than first predicted"
            self.tell(LogLine(line, event="started", job=job, late=late))
        for job, eta in found.etas.items():
            if job not in self._expected:
                self._expected[job] = eta.expected
                spans = [max(0, at - found.now) for at in (eta.expected, eta.earliest, eta.latest)]
                line = "{} is expected to start in {} s ({} s to {} s)".format(job, *spans)
                self.tell(LogLine(line, event="predicted", job=job, expected=eta.expected))


def _began(state: str) -> bool:
    return state in HOLDS or state in ("COMPLETING", "COMPLETED", "FAILED", "TIMEOUT")


def watch_slurm(wanted: Wanted, where: Where) -> None:
    """Predict the starts of a Slurm that schedules by itself, and store the predictions."""
    how = wanted.operation
    tell, notify = how.log(), notifier()
    with contextlib.ExitStack() as stack:
        stack.enter_context(contextlib.suppress(Interrupted))
        stack.enter_context(Signals())
        port = drive.wait_for_port(where, nodes=False, tell=tell, stopped=how.over())
        path = Path(wanted.state_file or drive.default_state_file(port.scope.partition))
        path.parent.mkdir(parents=True, exist_ok=True)
        kept = predictions_of(path)
        stack.enter_context(StateFile(kept, tell=tell).locked())
        labels = {"cluster": port.scope.name, "policy": wanted.policy.name, "mode": "predict"}
        counting = stack.enter_context(how.counting(labels, tell=tell))
        watch = Watch(
            answers=port.answers,
            clock=port.clock,
            predictions=Predictions(kept, tell=tell),
            policy=wanted.policy,
            tell=tell,
            beat=Heartbeat(path=heartbeat_of(kept), clock=port.clock, notify=notify),
            every=max(wanted.every, SLOWEST) if wanted.every < 1 else wanted.every,
        )

        def after(seen: Seen, found: Forecast) -> None:
            rows = status_beside(seen, found).waiting
            with contextlib.suppress(OSError):  # who asks predicts anew
                write_starts(starts_of(path), found.now, wanted.policy.name, rows)
            queue = Counter({"predicted": len(found.etas), "not_predicted": len(found.unknown)})
            counting.watched(queue, sum(row.state in HOLDS for row in seen.rows))

        notify("READY=1")
        line = f"{wanted.policy.name} on {port.scope.name}, read-only: predictions in {kept}"
        tell(LogLine(line, event="begin", **labels))
        with contextlib.suppress(Interrupted):
            watch.run_on(
                until_idle=wanted.until_idle,
                stopped=how.over(),
                after=after,
                failed=counting.failed,
            )
        notify("STOPPING=1")
    print("to see how accurate they were, run: shadowtime live slurm accuracy", file=sys.stderr)
