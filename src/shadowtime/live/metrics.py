"""What the loop has done and sees now, as Prometheus text."""

from __future__ import annotations

import contextlib
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING

from shadowtime import private
from shadowtime.errors import UsageError
from shadowtime.live.placing import FITS_NOWHERE
from shadowtime.live.port import Trust
from shadowtime.policy.snapshot import KINDS

if TYPE_CHECKING:
    from shadowtime.live.ineligible import Ineligible
    from shadowtime.live.loop import Step

PREFIX = "shadowtime_live"


@dataclass(frozen=True, kw_only=True)
class Counts:
    """Sums since the loop began and the last snapshot's figures; threads may share the value."""

    looks: int = 0
    passes: int = 0
    pass_seconds: float = 0.0
    decided: Mapping[str, int] = field(default_factory=lambda: dict.fromkeys(KINDS, 0))
    """Decisions carried out, in shadow mode those that would be, by kind."""
    refused_by_us: int = 0
    """Decisions that were dropped because something had changed since."""
    refused_by_scheduler: int = 0
    fallbacks: int = 0
    """Passes that the fallback decided."""
    errors: int = 0
    """Polls that failed."""
    looked: float = 0.0
    """When the scheduler last answered, in seconds since 1970."""
    queue: Mapping[str, int] = field(default_factory=dict)
    """Waiting jobs by what they wait for."""
    running: int = 0
    used: int = 0
    procs: int = 0
    trust: Trust = field(default_factory=Trust)
    """How far the last answers can be relied on."""


class Metrics:
    """Counts the polls of a loop.

    Rules
    -----
    Call :meth:`note` with every step and :meth:`failed` if a poll fails. In shadow mode a
    decision that stays the same over several passes counts once.

    Examples
    --------
    >>> metrics = Metrics({"policy": "easy", "partition": "batch"}, now=lambda: 60.0)
    >>> metrics.failed()
    >>> print(metrics.text())  # doctest: +ELLIPSIS
    # HELP shadowtime_live_info What this loop drives, always 1.
    # TYPE shadowtime_live_info gauge
    shadowtime_live_info{policy="easy",partition="batch"} 1
    ...
    # HELP shadowtime_live_errors_total Polls that failed.
    # TYPE shadowtime_live_errors_total counter
    shadowtime_live_errors_total 1
    ...
    """

    def __init__(self, labels: Mapping[str, str], *, now: Callable[[], float] = time.time) -> None:
        self.labels, self.now = dict(labels), now
        self.counts = Counts()
        self._told: set[object] = set()

    def failed(self, trust: Trust | None = None) -> None:
        """A poll failed."""
        was = self.counts
        self.counts = replace(
            was, looks=was.looks + 1, errors=was.errors + 1, trust=trust or was.trust
        )

    def watched(self, queue: Mapping[str, int], running: int) -> None:
        """A poll without a decision."""
        was = self.counts
        self.counts = replace(
            was, looks=was.looks + 1, looked=self.now(), queue=dict(queue), running=running
        )

    def note(
        self, step: Step, ineligible: Mapping[str, Ineligible], trust: Trust | None = None
    ) -> None:
        """A step of the loop; ``ineligible``: waiting jobs that it does not start, and why."""
        was, state = self.counts, step.state
        done = [(one.decision, one.done) for one in step.outcomes]
        refused = [decision for decision, carried_out in done if not carried_out]
        if step.acted:
            made = [decision for decision, carried_out in done if carried_out]
        else:
            made = [one for one in step.decisions if one not in self._told]
            if step.decided is not None:
                self._told = set(step.decisions)
        count = Counter(one.kind for one in made)
        self.counts = replace(
            was,
            looks=was.looks + 1,
            passes=was.passes + (step.decided is not None),
            pass_seconds=was.pass_seconds + step.seconds,
            fallbacks=was.fallbacks + step.fell_back,
            decided={kind: was.decided[kind] + count[kind] for kind in KINDS},
            refused_by_us=was.refused_by_us + len(refused) - step.refused,
            refused_by_scheduler=was.refused_by_scheduler + step.refused,
            looked=self.now(),
            queue=queue_by_reason(step, ineligible),
            running=len(state.running),
            used=sum(job.need[0] for job in state.running),
            procs=0 if state.closed else state.cluster.procs,
            trust=trust or was.trust,
        )

    def text(self, *, age: bool = True) -> str:
        """Everything in Prometheus text format; ``age=False``: without ages."""
        lines: list[str] = []
        for name, (help, values) in self._published(self.counts, age=age).items():
            lines.append(f"# HELP {PREFIX}_{name} {help}")
            lines.append(f"# TYPE {PREFIX}_{name} {'counter' if '_total' in name else 'gauge'}")
            shown = values if isinstance(values, Mapping) else {"": values}
            lines += [f"{PREFIX}_{name}{labels} {n:.15g}" for labels, n in shown.items()]
        return "".join(f"{line}\n" for line in lines)

    def _published(
        self, counts: Counts, *, age: bool
    ) -> dict[str, tuple[str, float | Mapping[str, float]]]:
        """Every metric with its help: a number, or numbers by label; sums end in ``_total``."""
        looked = max(0.0, self.now() - counts.looked) if counts.looked else float("nan")
        aged = {"last_look_age_seconds": ("Seconds since the scheduler last answered.", looked)}
        return {
            "info": ("What this loop drives, always 1.", {labelled(**self.labels): 1}),
            "looks_total": ("Polls of the cluster.", counts.looks),
            "errors_total": ("Polls that failed.", counts.errors),
            "passes_total": ("Passes of the policy.", counts.passes),
            "pass_seconds_total": ("Time spent in passes.", counts.pass_seconds),
            "fallback_passes_total": (
                "Passes that the fallback decided because the policy failed or took too long.",
                counts.fallbacks,
            ),
            "decisions_total": (
                "Decisions carried out, in shadow mode those it would carry out.",
                _by("kind", counts.decided),
            ),
            "refusals_total": (
                "Decisions not carried out: dropped by the loop, or refused by the scheduler.",
                _by("by", {"loop": counts.refused_by_us, "scheduler": counts.refused_by_scheduler}),
            ),
            "last_look_timestamp_seconds": (
                "When the scheduler last answered, since 1970.",
                counts.looked,
            ),
            **(aged if age else {}),
            "asked_again_total": (
                "Questions that were repeated as the answer could not be read.",
                counts.trust.asked_again,
            ),
            "unreadable_rows": (
                "Jobs and nodes about which the last answer could not be read.",
                counts.trust.unreadable,
            ),
            "stale_answer_age_seconds": (
                "Age of answers that stand, as later ones could not be read.",
                _by("of", dict(sorted(counts.trust.stale.items()))),
            ),
            "waiting_jobs": (
                "Waiting jobs by what they wait for.",
                _by("reason", dict(sorted(counts.queue.items()))),
            ),
            "running_jobs": ("Jobs that hold nodes.", counts.running),
            "processors_used": ("Processors in use.", counts.used),
            "processors": ("Processors that can be used.", counts.procs),
        }


def _by(label: str, values: Mapping[str, float]) -> dict[str, float]:
    """Numbers by a label in Prometheus text format."""
    return {labelled(**{label: name}): value for name, value in values.items()}


def queue_by_reason(step: Step, ineligible: Mapping[str, Ineligible]) -> dict[str, int]:
    """How many jobs wait for what.

    Examples
    --------
    >>> from shadowtime.cluster import Cluster, Host
    >>> from shadowtime.live.ineligible import Case, Ineligible
    >>> from shadowtime.live.loop import Step
    >>> from shadowtime.live.port import Snapshot, WaitingJob
    >>> one = Cluster(shape="nodes", hosts=(Host("n1", (4,)),))
    >>> job = WaitingJob(id="7", submit=0, need=(9,), request=9)
    >>> seen = Snapshot(now=5, cluster=one, waiting=(job,))
    >>> step = Step(state=seen, aside={"7": FITS_NOWHERE[1]})
    >>> held, new = Ineligible(Case.HELD, ("JobHeldAdmin",)), Ineligible(Case.OTHER, ("new",))
    >>> queue_by_reason(step, {"8": held, "9": new})
    {'room': 0, 'fits_nowhere': 1, 'held': 1, 'other': 1}
    """
    counts = {"room": 0}
    for job in step.state.waiting:
        why = step.aside.get(job.id, "")
        reason = (
            "room" if not why else "fits_nowhere" if why in FITS_NOWHERE else "refused_repeatedly"
        )
        counts[reason] = counts.get(reason, 0) + 1
    for one in ineligible.values():
        counts[one.case.label] = counts.get(one.case.label, 0) + 1
    return counts


def labelled(**labels: str) -> str:
    """Labels in Prometheus text format.

    Examples
    --------
    >>> labelled(policy='a"b')
    '{policy="a\\\\"b"}'
    """
    if not labels:
        return ""

    def quoted(value: str) -> str:
        return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")

    return "{" + ",".join(f'{name}="{quoted(value)}"' for name, value in labels.items()) + "}"


LOOPBACK = "127.0.0.1"
TYPE = "text/plain; version=0.0.4; charset=utf-8"
FOR_ALL = 0o644
"""The mode of a metrics file: node_exporter runs as another user."""


@contextlib.contextmanager
def served(text: Callable[[], str], port: int) -> Iterator[int]:
    """Answer GET /metrics on a loopback port while the block lasts; yields the port.

    ``port`` 0: any free one. A separate thread answers, so that a hanging scheduler command does
    not keep Prometheus from reading the age of the last poll.

    Examples
    --------
    >>> from http.client import HTTPConnection
    >>> with served(lambda: "x 1\\n", 0) as port:
    ...     one = HTTPConnection("127.0.0.1", port)
    ...     one.request("GET", "/metrics")
    ...     one.getresponse().read()
    b'x 1\\n'
    """

    class Answers(BaseHTTPRequestHandler):
        timeout = 5

        def do_GET(self) -> None:
            if self.path.partition("?")[0] != "/metrics":
                self.send_error(404, "see /metrics")
                return
            raw = text().encode()
            self.send_response(200)
            self.send_header("Content-Type", TYPE)
            self.send_header("Content-Length", str(len(raw)))
            self.end_headers()
            self.wfile.write(raw)

        def log_message(self, format: str, *values: object) -> None:
            """Log nothing: every scrape would be a line."""

    try:
        server = ThreadingHTTPServer((LOOPBACK, port), Answers)
    except OSError as error:
        raise UsageError(
            f"port {port} of {LOOPBACK} cannot be used for metrics ({error.strerror}): "
            "give --metrics-port another one"
        ) from None
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, name="metrics", daemon=True)
    thread.start()
    try:
        yield server.server_address[1]
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class MetricsFile:
    """Replaces a file atomically at every poll, readable by all users.

    A file that cannot be written is reported once, and once more when it can be again.
    """

    def __init__(self, path: Path, *, tell: Callable[[str], None]) -> None:
        self.path, self.tell = path, tell
        self._why = ""

    def write(self, text: str) -> None:
        """Replace the file."""
        try:
            private.replace_whole(self.path, text.encode(), mode=FOR_ALL, flush=False)
        except OSError as error:
            why = error.strerror or str(error)
            if why != self._why:
                self.tell(
                    f"the metrics file {self.path} cannot be written ({why}): continuing without it"
                )
            self._why = why
            return
        if self._why:
            self.tell(f"the metrics file {self.path} is written again")
            self._why = ""
