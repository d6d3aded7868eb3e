"""Joins polls and estimates into the documents that browsers get (docs/reference/board-api.md).

A document has a version; what has changed since the one before is a document of its own.
"""

from __future__ import annotations

import bisect
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from shadowtime.board.lanes import Lanes, Pieces
from shadowtime.board.view import Estimates, Hidden, Job, View

FORMAT = "shadowtime.board/1"
DAY = 86400
MOST_PAST = 20_000
"""So many ended jobs are kept."""
MINUTE = 60
WHO = ("user", "account")
"""Groups of a comparison that are not shown where users are hidden."""

Document = dict[str, Any]


class Keeper:
    """The board's state.

    Rules
    -----
    ``hide`` None: what the system keeps private. What is hidden is removed before anything else is
    done with a poll. ``version`` is where versions begin. Positions follow the priorities; a job's
    ``rank`` stays the same while the order does, so that the start of one job does not change all
    others.
    """

    def __init__(self, *, hide: Hidden | None = None, every: float = 2.0, version: int = 0) -> None:
        self.hide, self.every = hide, every
        self.version = version
        self.began = -1
        """Since when the past is known."""
        self.polled = -1
        self.problem = ""
        self.not_estimated = ""
        """Why there are no new estimates."""
        self.view: View | None = None
        self.estimates: Estimates | None = None
        self.past: dict[str, Document] = {}
        self._lanes = Lanes(())
        self._jobs: dict[str, Document] = {}
        self._nodes: dict[str, Document] = {}
        self._ranks: dict[str, float] = {}
        self._predicted: dict[str, Pieces] = {}
        self._until: dict[str, int] = {}
        """When what runs and what is drawn of the future probably ends."""
        self._seen: dict[str, Job] = {}
        """Jobs that waited or ran at the last poll."""

    @property
    def hidden(self) -> Hidden:
        """What is not shown."""
        if self.hide is not None:
            return self.hide
        return self.view.private if self.view is not None else frozenset()

    def fail(self, why: str) -> Document:
        """A poll failed: the data grow old and say so."""
        self.problem = why
        return self._head()

    def poll(self, view: View) -> Document:
        """A poll; what changed by it."""
        hidden = self.hide if self.hide is not None else view.private
        jobs = [job.without(hidden) for job in view.jobs]
        self.view = replace(view, jobs=tuple(jobs))
        self.polled, self.problem = view.now, ""
        if self.began < 0:
            self.began = view.now
        nodes = {
            one.name: {
                "name": one.name, "cpus": one.cpus, "state": one.state, "usable": one.usable,
                "partitions": list(one.partitions),
            }
            for one in view.nodes
        }  # fmt: skip
        if [(one["name"], one["cpus"]) for one in nodes.values()] != [
            (one["name"], one["cpus"]) for one in self._nodes.values()
        ]:
            self._lanes = Lanes(view.nodes)
            self._replay([job for job in jobs if job.state == "running"])
        self._lanes.nodes = sorted(view.nodes, key=lambda node: self._lanes.first.get(node.name, 0))
        ended = self._end(jobs)
        now = {job.id: job for job in jobs if job.state != "ended"}
        self._rank([job for job in now.values() if job.state == "waiting"])
        rows = {job.id: self._row(job) for job in now.values()}
        changes: Document = {
            "jobs": [row for job, row in rows.items() if row != self._jobs.get(job)],
            "ended": ended,
            "gone": [job for job in self._jobs if job not in rows],
            "nodes": [one for name, one in nodes.items() if one != self._nodes.get(name)],
        }
        changes["gone_nodes"] = [name for name in self._nodes if name not in nodes]
        self._jobs, self._nodes, self._seen = rows, nodes, now
        return self._changed(changes)

    def learn(self, found: Estimates) -> Document:
        """New estimates; what changed by them."""
        if found.past is not None:
            hidden = self.hidden
            for job in found.past:
                if job.id not in self.past:
                    self.past[job.id] = _ended(job.without(hidden), ())
            if found.past and found.at - DAY < self.began:
                self.began = min(self.began, found.at - DAY) if self.began >= 0 else found.at - DAY
            self._replay([job for job in self._seen.values() if job.state == "running"])
            self._trim()
        self.estimates, self.not_estimated = found, ""
        ends = {
            job.id: max(found.at, job.start + found.runs.get(job.id, job.limit))
            for job in self._seen.values()
            if job.state == "running"
        }
        waiting = sorted(
            (
                (
                    found.starts[job.id].expected,
                    found.starts[job.id].expected + max(1, found.runs.get(job.id, job.limit)),
                    job,
                )
                for job in self._seen.values()
                if job.state == "waiting" and job.id in found.starts
            ),
            key=lambda one: (one[0], self._ranks.get(one[2].id, 0.0)),
        )
        self._predicted, self._until = self._lanes.foresee(waiting, ends)
        rows = {job.id: self._row(job) for job in self._seen.values()}
        changed = [row for job, row in rows.items() if row != self._jobs.get(job)]
        self._jobs = rows
        return self._changed({"jobs": changed, "past": found.past is not None})

    def state(self) -> Document:
        """Everything but the past: the document that a browser starts with."""
        order: dict[str, int] = {}
        rows = []
        for row in sorted(self._jobs.values(), key=lambda one: one["rank"] or 0):
            if row["state"] == "waiting":
                order[row["partition"]] = order.get(row["partition"], 0) + 1
                row = row | {"position": order[row["partition"]]}
            rows.append(row)
        return self._head() | {"nodes": [*self._nodes.values()], "jobs": rows}

    def history(self) -> Document:
        """The jobs that ended within the past day."""
        head = {"format": FORMAT, "version": self.version, "from": self.began}
        return head | {"jobs": [*self.past.values()]}

    def scores(self) -> Document:
        """How good the estimates were."""
        found = dict(self.estimates.scores) if self.estimates is not None else {}
        shadow = self.estimates.shadow if self.estimates is not None else None
        if shadow is not None and "users" in self.hidden:
            groups: Any = shadow.get("groups", ())
            shadow = {**shadow, "groups": [one for one in groups if one["kind"] not in WHO]}
        return {"format": FORMAT, "version": self.version, **found, "shadow": shadow}

    def job(self, job: str, why: str) -> Document | None:
        """One job with the words why it waits; None if the board does not know it."""
        row = self._jobs.get(job) or self.past.get(job)
        if row is None:
            return None
        unknown = self.estimates.unknown.get(job, "") if self.estimates is not None else ""
        if "users" in self.hidden:
            why = ""  # the words may name users, accounts and reservations
        return {"format": FORMAT, "version": self.version, **row, "why": why, "unknown": unknown}

    def _changed(self, changes: Document) -> Document:
        base = self.version
        self.version += any(changes.values())
        return self._head() | {"base": base, **changes}

    def _head(self) -> Document:
        view, found = self.view, self.estimates
        rows = self._jobs.values()
        running = [row for row in rows if row["state"] == "running"]
        usable = [one for one in self._nodes.values() if one["usable"]]
        unknown = [*(view.unknown if view is not None else ())]
        unknown += found.missing if found is not None else ()
        unknown += [f"No new estimates: {self.not_estimated}"] if self.not_estimated else []
        why = view.private_why if view is not None and self.hide is None else ""
        return {
            "format": FORMAT,
            "version": self.version,
            "cluster": view.cluster if view is not None else "",
            "system": view.system if view is not None else "",
            "polled": self.polled,
            "every": self.every,
            "problem": self.problem,
            "estimated": found.at if found is not None else -1,
            "policy": str(found.shadow.get("policy", "")) if found and found.shadow else "",
            "hidden": sorted(self.hidden),
            "hidden_why": why if self.hidden else "",
            "unknown": unknown,
            "past_from": max(self.began, self.polled - DAY),
            "totals": {
                "cpus": sum(one["cpus"] for one in usable),
                "cpus_used": sum(row["cpus"] for row in running),
                "nodes": len(self._nodes),
                "nodes_usable": len(usable),
                "running": len(running),
                "waiting": len(rows) - len(running),
            },
        }

    def _end(self, jobs: Sequence[Job]) -> list[Document]:
        """Jobs that have ended since the last poll, into the past."""
        ended = []
        for job in jobs:
            if job.state == "ended" and job.id not in self.past and job.end >= 0:
                pieces = self._lanes.pieces(job.id)
                if not pieces and job.start >= 0 and job.hosts:
                    pieces = self._lanes.take(job)
                self._lanes.release(job.id)
                self.past[job.id] = row = _ended(job, pieces)
                if job.id in self._seen or self.polled > self.began:
                    ended.append(row)
        listed = {job.id for job in jobs if job.state == "running"}
        for job in self._seen.values():  # requeued, or ended and forgotten between two polls
            if job.state == "running" and job.id not in listed:
                self._lanes.release(job.id)
                if job.id not in self.past and job.id not in {one.id for one in jobs}:
                    gone = replace(job, state="ended", end=self.polled, reason="not seen to end")
                    self.past[job.id] = row = _ended(gone, ())
                    ended.append(row)
        for job in jobs:
            if job.state == "running":
                self._lanes.take(job)
                self.past.pop(job.id, None)  # it was requeued
        self._trim()
        return ended

    def _trim(self) -> None:
        old = [job for job, row in self.past.items() if row["end"] < self.polled - DAY]
        if len(self.past) - len(old) > MOST_PAST:
            latest = sorted(self.past, key=lambda job: -self.past[job]["end"])
            old += latest[MOST_PAST:]
            self.began = max(self.began, self.past[latest[MOST_PAST]]["end"])
        for job in old:
            self.past.pop(job, None)

    def _replay(self, running: Sequence[Job]) -> None:
        """Rows for the past and the present, when the nodes or the past are new."""
        known = [
            Job(id=row["id"], state="ended", cpus=row["cpus"], start=row["start"], end=row["end"],
                hosts=tuple(row["hosts"]))
            for row in self.past.values()
        ]  # fmt: skip
        for job, pieces in self._lanes.replay(known, running).items():
            if job in self.past:
                self.past[job] = self.past[job] | {"rows": [list(one) for one in pieces]}

    def _rank(self, waiting: Sequence[Job]) -> None:
        """Ranks in the order of priorities: kept where that is possible, else counted anew."""
        order = sorted(waiting, key=lambda job: (-job.priority, job.submit, len(job.id), job.id))
        known = [self._ranks[job.id] for job in order if job.id in self._ranks]
        if known != sorted(known):
            self._ranks = {}
        ranks: dict[str, float] = {}
        last = 0.0
        above = [self._ranks[job.id] for job in order if job.id in self._ranks]
        for job in order:
            rank = self._ranks.get(job.id)
            if rank is None:
                at = bisect.bisect_right(above, last)
                rank = (last + above[at]) / 2 if at < len(above) else float(int(last) + 1)
            ranks[job.id] = last = rank
        self._ranks = ranks

    def _row(self, job: Job) -> Document:
        found = self.estimates
        eta = found.starts.get(job.id) if found is not None and job.state == "waiting" else None
        pieces = self._lanes.pieces(job.id) if job.state == "running" else ()
        if job.state == "waiting":
            pieces = self._predicted.get(job.id, ())
        return _facts(job, pieces) | {
            "limit": job.limit,
            "rank": self._ranks.get(job.id, -1.0) if job.state == "waiting" else -1.0,
            "planned": job.planned // MINUTE * MINUTE if job.planned > 0 else -1,
            "expected": eta.expected if eta is not None else -1,
            "earliest": eta.earliest if eta is not None else -1,
            "latest": eta.latest if eta is not None else -1,
            "within_hour": eta.within_hour if eta is not None else None,
            "shadow": eta.shadow if eta is not None else -1,
            "unknown": (found.unknown.get(job.id, "") if found is not None else "")
            if job.state == "waiting"
            else "",
            "until": self._until.get(job.id, -1),
        }


def _ended(job: Job, pieces: Pieces) -> Document:
    return _facts(job, pieces) | {"state": "ended", "end": job.end}


def _facts(job: Job, pieces: Pieces) -> Document:
    """What a row has of every job, whatever its state."""
    return {
        "id": job.id,
        "state": job.state,
        "name": job.name,
        "user": job.user,
        "account": job.account,
        "partition": job.partition,
        "reason": job.reason,
        "cpus": job.cpus,
        "nodes": job.nodes,
        "submit": job.submit,
        "start": job.start,
        "hosts": list(job.hosts),
        "rows": [list(one) for one in pieces],
    }
