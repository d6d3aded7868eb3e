"""How a live loop runs: where it logs, what it counts, how long it lasts."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shadowtime.engine.live_pass.decide import refuse
from shadowtime.errors import PolicyError
from shadowtime.live.guarded import OwnCode, is_own, whole_path
from shadowtime.live.ineligible import Case, Ineligible
from shadowtime.live.log import Log, LogFormat
from shadowtime.live.metrics import Metrics, MetricsFile, served
from shadowtime.live.port import trust_in
from shadowtime.policy import Policy, parse_policy
from shadowtime.types import File, Seconds

if TYPE_CHECKING:
    from shadowtime.live.loop import Loop, Step


@dataclass(frozen=True, kw_only=True)
class Operation:
    """How a loop runs: its log, metrics and duration, and the limits of a user's policy."""

    length: Seconds | None = None
    """SPAN : Exit after this time, such as 90s, 5m, 1h; in shadow mode with a summary."""
    log_file: File | None = None
    """FILE : Append to FILE, which may be rotated at any time. [default: standard output]"""
    log_format: LogFormat = "text"
    """Readable lines, or one JSON object per line."""
    metrics_port: int | None = None
    """PORT in 1..65535 : Prometheus metrics on http://127.0.0.1:PORT/metrics."""
    metrics_file: File | None = None
    """FILE : The same in FILE, replaced at every poll, for node_exporter."""
    pass_limit: float = 5.0
    """SECONDS > 0 : How long a pass of a policy from a Python file may take."""
    fallback: str = "easy"
    """P : The catalogue policy for passes in which a policy from a Python file fails."""

    def own_code(self, policy: Any, text: str) -> OwnCode | None:
        """How a policy from a Python file is run; None for one of the catalogue."""
        if not is_own(policy):
            return None
        fallback = parse_policy(self.fallback)
        if not isinstance(fallback, Policy) or is_own(fallback):
            raise PolicyError(f"--fallback {self.fallback}: use a policy of the catalogue")
        refuse(fallback)
        return OwnCode(text=whole_path(text), fallback=fallback, limit=self.pass_limit)

    def log(self) -> Log:
        """Where the loop reports what it does."""
        return Log(format=self.log_format, path=Path(self.log_file) if self.log_file else None)

    @contextlib.contextmanager
    def counting(
        self, labels: Mapping[str, str], *, tell: Callable[[str], None]
    ) -> Iterator[Counting]:
        """Count while the block lasts, and publish the counts as metrics."""
        metrics = Metrics(labels)
        file = MetricsFile(Path(self.metrics_file), tell=tell) if self.metrics_file else None
        with contextlib.ExitStack() as stack:
            if self.metrics_port is not None:
                stack.enter_context(served(metrics.text, self.metrics_port))
            yield Counting(metrics, file)

    def over(self) -> Callable[[], bool]:
        """Whether the run, which begins now, has reached its duration."""
        end = None if self.length is None else time.monotonic() + self.length
        return lambda: end is not None and time.monotonic() >= end

    def summary(self, loop: Loop, counting: Counting) -> str:
        """One line for the end of a run."""
        counts = counting.metrics.counts
        if not loop.act and self.length is not None:
            return (
                f"in shadow mode for {self.length} s: polls {counts.looks}, passes "
                f"{counts.passes}, jobs it would start {counts.decided['start']}, stop "
                f"{counts.decided['stop']}"
            )
        counters = ", ".join(f"{name} {n}" for name, n in sorted(loop.kept.counters.items()))
        return f"done: {counters or 'nothing to do'}"


class Counting:
    """Passes every step to the metrics, and writes their file."""

    def __init__(self, metrics: Metrics, file: Any) -> None:
        self.metrics, self.file = metrics, file

    def after(self, step: Step, port: Any) -> None:
        """A poll of the loop."""
        self.metrics.note(step, ineligible_jobs(port), trust_in(port))
        self._write()

    def watched(self, queue: Mapping[str, int], running: int) -> None:
        """A poll without a decision."""
        self.metrics.watched(queue, running)
        self._write()

    def failed(self, port: Any = None) -> None:
        """A poll that failed."""
        self.metrics.failed(trust_in(port))
        self._write()

    def _write(self) -> None:
        if self.file is not None:
            self.file.write(self.metrics.text(age=False))


def ineligible_jobs(port: Any) -> Mapping[str, Ineligible]:
    """Waiting jobs that the loop does not start, if a port reports them.

    Ports of other packages may report sentences, and under the former name, ``left_alone``.
    """
    found = getattr(port, "ineligible", getattr(port, "left_alone", {}))
    return {
        job: why if isinstance(why, Ineligible) else Ineligible(Case.OTHER, (why,))
        for job, why in found.items()
    }
