"""Limits: what a start adds to each, and which starts they allow."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

from shadowtime.verify.site.shapes import FOREVER, Shape, Tasks, asked_of
from shadowtime.verify.site.state import SiteState


class Limited(SiteState):
    """Bounds of QOS and accounts, and of jobs alone."""

    def charges(self, row: int, shape: Shape, tasks: Tasks | None) -> dict[Any, int]:
        """What a start adds to each counted bound: asked amounts, or those of a placement."""
        job = self.jobs[row]
        names = self.site.resources
        if tasks is None:
            used = asked_of(shape)
            nodes = shape.least
        else:
            used = [0] * len(names)
            for node, count in tasks.items():
                used = [a + b for a, b in zip(used, self.takes(shape, node, count), strict=True)]
            nodes = len(tasks)
        amounts = dict(zip(names, used, strict=True)) | {"nodes": nodes}
        found: dict[Any, int] = {}
        for scope, kind, bounds in self.scopes(row, shape):
            for what in ("jobs", "wall"):
                if getattr(bounds, f"{kind}_{what}", None) is not None:
                    found[scope, kind, what] = 1 if what == "jobs" else job.request
            for name, amount in amounts.items():
                if name in getattr(bounds, f"{kind}_resources"):
                    found[scope, kind, "resources", name] = amount
                if kind == "group" and name in bounds.group_run_minutes:
                    found[scope, kind, "run", name] = amount * job.request
                if kind == "group" and name in bounds.group_minutes:
                    found[scope, kind, "minutes", name] = amount * job.request
        return found

    def bound(self, row: int, shape: Shape, key: Any) -> int:
        for scope, kind, bounds in self.scopes(row, shape):
            if (scope, kind) == key[:2]:
                if key[2] in ("jobs", "wall"):
                    return int(getattr(bounds, f"{kind}_{key[2]}"))
                if key[2] == "resources":
                    return int(getattr(bounds, f"{kind}_resources")[key[3]])
                table = bounds.group_run_minutes if key[2] == "run" else bounds.group_minutes
                return 60 * int(table[key[3]])
        raise AssertionError(key)

    def scopes(self, row: int, shape: Shape) -> list[tuple[Any, str, Any]]:
        """(who shares the bound, which family of bounds, the bounds)."""
        if "limits" not in self.site.enforce:
            return []
        user, account = self.user(row), shape.request.account
        found: list[tuple[Any, str, Any]] = []
        for qos in dict.fromkeys((shape.request.qos, shape.partition.qos)):
            for q in self.site.qos:
                if q.name == qos:
                    found.append((("qos", qos), "group", q.limits))
                    found.append((("qos", qos, "user", user), "user", q.limits))
                    found.append((("qos", qos, "account", account), "account", q.limits))
        for a in self.chain(user, account, shape.partition.name):
            found.append((("assoc", a.account, a.user), "group", a.limits))
            found.append((("assoc", a.account, a.user, "user", user), "user", a.limits))
        return found

    def chain(self, user: str, account: str, partition: str) -> list[Any]:
        """The user's association (of the partition, else of all), its account and those above."""
        mine = [
            a for a in self.site.associations if (a.account, a.user) == (account, user) and user
        ]
        found = [a for a in mine if a.partition == partition]
        if not found:
            found = [a for a in mine if a.partition == ""]
        while account:
            above = [a for a in self.site.associations if a.account == account and not a.user]
            found += above
            account = above[0].parent if above else ""
        return found

    def user(self, row: int) -> str:
        number = int(self.workload.user[row])
        names = self.workload.names.get("user", ())
        if number < 0:
            return ""
        return names[number] if number < len(names) else str(number)

    def allowed_ever(self, row: int, shape: Shape) -> bool:
        """Bounds on the job alone."""
        job = self.jobs[row]
        flags = [f.lower() for q in self.site.qos if q.name == shape.request.qos for f in q.flags]
        longer = shape.partition.max_time is not None and job.request > shape.partition.max_time
        if longer and "partitiontimelimit" not in flags:
            return False
        instants = [0, *self.changes()]
        if any(
            n > max(self.capacity(name, t)[0] for t in instants) for name, n in self.of_site(shape)
        ):
            return False
        r = shape.reservation
        closed = r is not None and bool(r.users or r.accounts)
        mine = closed and (self.user(row) in r.users or shape.request.account in r.accounts)
        if closed and not mine:
            return False
        asked = asked_of(shape)
        amounts = dict(zip(self.site.resources, asked, strict=True)) | {"nodes": shape.least}
        for _, _, bounds in self.scopes(row, shape):
            if bounds.job_wall is not None and job.request > bounds.job_wall:
                return False
            for name, amount in amounts.items():
                if amount > bounds.job_resources.get(name, FOREVER):
                    return False
                if amount * job.request > 60 * bounds.job_minutes.get(name, FOREVER):
                    return False
        return True

    def bounded(self, row: int, shape: Shape) -> Shape:
        """No more tasks on a node than the bounds on a node's amounts allow."""

        def allowed(tasks: int) -> bool:
            amounts = [
                f + math.ceil(tasks * t) for f, t in zip(shape.fixed, shape.task, strict=True)
            ]
            amounts[0] = max(amounts[0], shape.floor)
            by_name = dict(zip(self.site.resources, amounts, strict=True))
            return all(
                by_name[name] <= bound
                for _, _, bounds in self.scopes(row, shape)
                for name, bound in bounds.job_node_resources.items()
                if name in by_name
            )

        most = max((n for n in range(1, shape.per_node + 1) if allowed(n)), default=0)
        return replace(shape, per_node=most)

    def within(self, row: int, shape: Shape, tasks: Tasks | None, *, bare: bool = False) -> bool:
        """``bare``: as if nothing were in use."""
        for key, amount in self.charges(row, shape, tasks).items():
            used = 0 if bare else self.usage.get(key, 0)
            if used + amount > self.bound(row, shape, key):
                return False
        return True

    def considered_ever(self, row: int) -> list[Shape]:
        return [
            shape
            for shape in self.shapes[row]
            if self.allowed_ever(row, shape) and shape.partition.up
        ]
