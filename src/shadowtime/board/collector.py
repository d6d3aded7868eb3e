"""The process that polls: one poll for all browsers, however many there are.

It hands finished bytes to the server, which only sends them on.
"""

from __future__ import annotations

import gzip
import json
import os
import queue
import sys
import threading
import time
from dataclasses import dataclass, field
from typing import Any

from shadowtime.board.estimator import Estimating
from shadowtime.board.keeper import Document, Keeper
from shadowtime.board.view import Hidden, Source
from shadowtime.child_process import PYTHON, Child, ChildEnded, Tasks, packed
from shadowtime.errors import ShadowtimeError
from shadowtime.live.slurm.drive import Where

COLLECT = (*PYTHON, "from shadowtime.board.collector import serve; serve()")
ESTIMATE = (*PYTHON, "from shadowtime.board.estimator import serve; serve()")
LARGE = 100_000
"""Bytes: a larger change is fetched, compressed, as a whole state."""
SHARE = 0.6
"""The share of the time that polling may take."""
RESTART = 30.0
"""Seconds until an estimator that ended is started again."""


@dataclass(frozen=True, kw_only=True)
class Wanted:
    """What the board shows, and of what."""

    system: str
    where: Where | None = None
    pool: str = ""
    schedd: str = ""
    every: float = 2.0
    hide: Hidden | None = None
    estimates: bool = True
    state_file: str | None = None
    shadow: str = ""

    def source(self) -> Source:
        """The system that is polled."""
        if self.system == "condor":
            from shadowtime.board.condor_source import CondorSource

            return CondorSource(pool=self.pool, schedd=self.schedd)
        from shadowtime.board.slurm_source import SlurmSource

        assert self.where is not None
        return SlurmSource(self.where)

    def estimating(self) -> Estimating | None:
        """What the estimator needs; None where nothing is estimated."""
        if self.system == "condor" or not self.estimates or self.where is None:
            return None
        return Estimating(where=self.where, state_file=self.state_file, shadow=self.shadow)


@dataclass(frozen=True)
class Published:
    """What the server gets: documents by name, compressed, and an event for those who watch."""

    version: int
    event: str
    documents: dict[str, bytes] = field(default_factory=dict)


def compressed(document: Document) -> bytes:
    """A document as compressed JSON; the same document gives the same bytes."""
    text = json.dumps(document, separators=(",", ":"), allow_nan=False)
    return gzip.compress(text.encode(), compresslevel=4, mtime=0)


class Collector:
    """Polls and joins; what it finds is published by ``publish``."""

    def __init__(self, wanted: Wanted, publish: Any) -> None:
        self.wanted, self.publish = wanted, publish
        # One that is started again does not repeat versions that browsers know.
        self.keeper = Keeper(hide=wanted.hide, every=wanted.every, version=int(time.time()))
        self._first = True
        self.source: Source | None = None

    def poll(self) -> None:
        """One poll, published."""
        before = self.keeper.version
        try:
            self.source = self.source or self.wanted.source()
            changes = self.keeper.poll(self.source.poll())
        except ShadowtimeError as error:
            changes = self.keeper.fail(str(error))
        self._publish(changes, before, past=bool(changes.get("ended")))

    def learn(self, found: Any) -> None:
        """What the estimator found, or why it found nothing."""
        before = self.keeper.version
        if isinstance(found, str):
            self.keeper.not_estimated = found
            return
        changes = self.keeper.learn(found)
        self._publish(changes, before, past=bool(changes.get("past")), scores=True)

    def job(self, job: str) -> bytes | None:
        """One job with the words why it waits."""
        found = self.keeper.estimates
        why = self.source.why(job, found.site) if self.source is not None and found else ""
        document = self.keeper.job(job, why)
        return None if document is None else compressed(document)

    def _publish(
        self, changes: Document, before: int, *, past: bool = False, scores: bool = False
    ) -> None:
        version = self.keeper.version
        documents = {}
        first, self._first = self._first, False
        if version != before or self.keeper.problem or scores or first:
            documents["state"] = compressed(self.keeper.state())
        if past or first:
            documents["history"] = compressed(self.keeper.history())
        if scores or first:
            documents["scores"] = compressed(self.keeper.scores())
        if version == before:
            for name in ("jobs", "ended", "gone", "nodes", "gone_nodes"):
                changes.pop(name, None)
        event = json.dumps(changes, separators=(",", ":"), allow_nan=False)
        if len(event) > LARGE:
            head = {"version": version, "base": -1, "polled": changes["polled"], "reload": True}
            event = json.dumps(head, separators=(",", ":"))
        self.publish(Published(version, event, documents))


def serve() -> None:
    """The process: polls, asks the estimator, and answers what the server asks."""
    tasks = Tasks()
    asked = iter(tasks)
    wanted = next(asked)
    inbox: queue.Queue[tuple[str, Any]] = queue.Queue()
    collector = Collector(wanted, lambda made: tasks.answer(("published", made)))

    def listen() -> None:
        for task in asked:
            inbox.put(("job", task))
        os._exit(0)  # the server has ended

    threading.Thread(target=listen, daemon=True).start()
    estimating = wanted.estimating()
    child: Child | None = None
    again = 0.0
    while True:
        began = time.monotonic()
        if estimating is not None and child is None and began >= again:
            child = Child(ESTIMATE, packed(estimating), keep_errors=True)
            threading.Thread(target=_forward, args=(child, inbox), daemon=True).start()
        collector.poll()
        took = time.monotonic() - began
        pace = max(wanted.every, took / SHARE)
        if not collector.keeper.problem:
            collector.keeper.every = round(pace, 1)  # by it a page knows what is old
        until = began + pace
        while (left := until - time.monotonic()) > 0:
            try:
                kind, content = inbox.get(timeout=left)
            except queue.Empty:
                break
            if kind == "job":
                number, job = content
                tasks.answer(("job", number, collector.job(job)))
            elif kind == "estimates":
                collector.learn(content)
            else:
                print(f"shadowtime: the estimator ended: {content}", file=sys.stderr, flush=True)
                collector.learn(f"the estimator ended ({content}); it is started again")
                child, again = None, time.monotonic() + RESTART


def _forward(child: Child, inbox: queue.Queue[tuple[str, Any]]) -> None:
    while True:
        try:
            inbox.put(("estimates", child.receive()))
        except ChildEnded as error:
            inbox.put(("ended", str(error)))
            return
