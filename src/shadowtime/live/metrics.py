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
from shadowtime.live.port import Continue, Resize, Start, Stop, Suspend, Trust

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
    starts: int = 0
    stops: int = 0
    shrinks: int = 0
    suspends: int = 0
    continues: int = 0
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
        count = Counter(type(one) for one in made)
        self.counts = replace(
            was,
            looks=was.looks + 1,
            passes=was.passes + (step.decided is not None),
            pass_seconds=was.pass_seconds + step.seconds,
            fallbacks=was.fallbacks + step.fell_back,
            starts=was.starts + count[Start],
            stops=was.stops + count[Stop],
            shrinks=was.shrinks + count[Resize],
            suspends=was.suspends + count[Suspend],
            continues=was.continues + count[Continue],
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
        return "".join(f"{line}\n" for line in self._lines(self.counts, age=age))

    def _lines(self, counts: Counts, *, age: bool) -> Iterator[str]:
        def one(name: str, kind: str, help: str, *values: tuple[str, float]) -> Iterator[str]:
            yield f"# HELP {PREFIX}_{name} {help}"
            yield f"# TYPE {PREFIX}_{name} {kind}"
            for labels, value in values:
                yield f"{PREFIX}_{name}{labels} {value:.15g}"

        labels = labelled(**self.labels)
        yield from one("info", "gauge", "What this loop drives, always 1.", (labels, 1))
        yield from one("looks_total", "counter", "Polls of the cluster.", ("", counts.looks))
        yield from one("errors_total", "counter", "Polls that failed.", ("", counts.errors))
        yield from one("passes_total", "counter", "Passes of the policy.", ("", counts.passes))
        yield from one(
            "pass_seconds_total", "counter", "Time spent in passes.", ("", counts.pass_seconds)
        )
        yield from one(
            "fallback_passes_total",
            "counter",
            "Passes that the fallback decided because the policy failed or took too long.",
            ("", counts.fallbacks),
        )
        yield from one(
            "decisions_total",
            "counter",
            "Decisions carried out, in shadow mode those it would carry out.",
            (labelled(kind="start"), counts.starts),
            (labelled(kind="stop"), counts.stops),
            (labelled(kind="shrink"), counts.shrinks),
            (labelled(kind="suspend"), counts.suspends),
            (labelled(kind="continue"), counts.continues),
        )
        yield from one(
            "refusals_total",
            "counter",
            "Decisions not carried out: dropped by the loop, or refused by the scheduler.",
            (labelled(by="loop"), counts.refused_by_us),
            (labelled(by="scheduler"), counts.refused_by_scheduler),
        )
        yield from one(
            "last_look_timestamp_seconds",
            "gauge",
            "When the scheduler last answered, since 1970.",
            ("", counts.looked),
        )
        if age:
            yield from one(
                "last_look_age_seconds",
                "gauge",
                "Seconds since the scheduler last answered.",
                ("", max(0.0, self.now() - counts.looked) if counts.looked else float("nan")),
            )
        trust = counts.trust
        yield from one(
            "asked_again_total",
            "counter",
            "Questions that were repeated as the answer could not be read.",
            ("", trust.asked_again),
        )
        yield from one(
            "unreadable_rows",
            "gauge",
            "Jobs and nodes about which the last answer could not be read.",
            ("", trust.unreadable),
        )
        yield from one(
            "stale_answer_age_seconds",
            "gauge",
            "Age of answers that stand, as later ones could not be read.",
            *((labelled(of=what), seconds) for what, seconds in sorted(trust.stale.items())),
        )
        yield from one(
            "waiting_jobs",
            "gauge",
            "Waiting jobs by what they wait for.",
            *((labelled(reason=reason), n) for reason, n in sorted(counts.queue.items())),
        )
        yield from one("running_jobs", "gauge", "Jobs that hold nodes.", ("", counts.running))
        yield from one("processors_used", "gauge", "Processors in use.", ("", counts.used))
        yield from one("processors", "gauge", "Processors that can be used.", ("", counts.procs))


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
