"""How a live loop is left running: where it logs, what it counts, how long it lasts."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from shadowtime.cli.common import options
from shadowtime.cli.common.amounts import Span

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from shadowtime.live.guarded import OwnCode
    from shadowtime.live.log import Log
    from shadowtime.live.loop import Loop, Step
    from shadowtime.live.metrics import Metrics

operation = options.all_of(
    click.option(
        "--for",
        "length",
        type=Span(),
        metavar="SPAN",
        help="Leave after so long, as in 90s, 5m, 1h; in shadow mode with a summary.",
    ),
    click.option(
        "--log",
        "log_file",
        metavar="FILE",
        type=click.Path(dir_okay=False),
        help="Append to FILE, which may be rotated at any time. [default: standard output]",
    ),
    click.option(
        "--log-format",
        type=click.Choice(["text", "json"]),
        default="text",
        show_default=True,
        help="Lines for people, or a JSON object a line.",
    ),
    click.option(
        "--metrics-port",
        type=click.IntRange(1, 65535),
        metavar="PORT",
        help="Prometheus metrics on http://127.0.0.1:PORT/metrics.",
    ),
    click.option(
        "--metrics-file",
        metavar="FILE",
        type=click.Path(dir_okay=False),
        help="The same in FILE, replaced at every look, for node_exporter.",
    ),
    click.option(
        "--pass-limit",
        type=click.FloatRange(min=0, min_open=True),
        default=5.0,
        show_default=True,
        metavar="SECONDS",
        help="How long a pass of a policy from a Python file may take.",
    ),
    click.option(
        "--fallback",
        default="easy",
        show_default=True,
        metavar="P",
        shell_complete=options.policy_names,
        help="The catalogue policy for passes that a policy from a Python file misses.",
    ),
)
"""Options of every loop."""


@dataclass(frozen=True, kw_only=True)
class Operation:
    """What the options say."""

    length: int | None = None
    log_file: str | None = None
    log_format: Any = "text"
    metrics_port: int | None = None
    metrics_file: str | None = None
    pass_limit: float = 5.0
    fallback: str = "easy"

    def own_code(self, policy: Any, text: str) -> OwnCode | None:
        """How a policy from a Python file is run; None for one of the catalogue."""
        from shadowtime.engine.live_pass.decide import refuse
        from shadowtime.errors import PolicyError
        from shadowtime.live.guarded import OwnCode, is_own, whole_path
        from shadowtime.policy import Policy, parse_policy

        if not is_own(policy):
            return None
        fallback = parse_policy(self.fallback)
        if not isinstance(fallback, Policy) or is_own(fallback):
            raise PolicyError(f"--fallback {self.fallback}: use a policy of the catalogue")
        refuse(fallback)
        return OwnCode(text=whole_path(text), fallback=fallback, limit=self.pass_limit)

    def log(self) -> Log:
        """Where the loop tells what it does."""
        from pathlib import Path

        from shadowtime.cli.common.outputs import check_file
        from shadowtime.live.log import Log

        for option, name in (("--log", self.log_file), ("--metrics-file", self.metrics_file)):
            if name is not None:
                check_file(option, name)
        return Log(format=self.log_format, path=Path(self.log_file) if self.log_file else None)

    @contextlib.contextmanager
    def counting(
        self, labels: Mapping[str, str], *, tell: Callable[[str], None]
    ) -> Iterator[Counting]:
        """Count while the block lasts, and show the counts to whoever asks."""
        from pathlib import Path

        from shadowtime.live.exporter import MetricsFile, served
        from shadowtime.live.metrics import Metrics

        metrics = Metrics(labels)
        file = MetricsFile(Path(self.metrics_file), tell=tell) if self.metrics_file else None
        with contextlib.ExitStack() as stack:
            if self.metrics_port is not None:
                stack.enter_context(served(metrics.text, self.metrics_port))
            yield Counting(metrics, file)

    def over(self) -> Callable[[], bool]:
        """Tells whether the run has lasted as long as it is meant to, from now on."""
        import time

        end = None if self.length is None else time.monotonic() + self.length
        return lambda: end is not None and time.monotonic() >= end

    def run(self, loop: Loop, counting: Counting, *, until_idle: bool) -> None:
        """Let the loop run for as long as it is meant to."""
        try:
            loop.run(
                until_idle=until_idle,
                stopped=self.over(),
                after=lambda step: counting.after(step, left_alone(loop.port)),
                failed=counting.failed,
            )
        finally:
            loop.end()

    def summary(self, loop: Loop, counting: Counting) -> str:
        """One line for the end of a run."""
        counts = counting.metrics.counts
        if not loop.act and self.length is not None:
            return (
                f"in shadow mode for {self.length} s: {counts.looks} looks, {counts.passes} "
                f"passes, would start {counts.starts} jobs and stop {counts.stops}"
            )
        told = ", ".join(f"{name} {n}" for name, n in sorted(loop.kept.counters.items()))
        return f"done: {told or 'nothing to do'}"


class Counting:
    """Hands every step to the metrics, and these to their file."""

    def __init__(self, metrics: Metrics, file: Any) -> None:
        self.metrics, self.file = metrics, file

    def after(self, step: Step, alone: Mapping[str, str]) -> None:
        """A look."""
        self.metrics.note(step, alone)
        self._write()

    def watched(self, queue: Mapping[str, int], running: int) -> None:
        """A look by which nothing was decided."""
        self.metrics.watched(queue, running)
        self._write()

    def failed(self) -> None:
        """A look that failed."""
        self.metrics.failed()
        self._write()

    def _write(self) -> None:
        if self.file is not None:
            self.file.write(self.metrics.text(age=False))


def left_alone(port: Any) -> Mapping[str, str]:
    """Waiting jobs that are not the loop's, where a port tells them."""
    found = getattr(getattr(port, "sorted", None), "left_alone", {})
    return dict(found)
