"""Slow, obvious reference of Slurm's multifactor priority on a site (docs/policies/multifactor.md).

Usage is a dictionary by association, charged job by job at every calculation; the fair-share
factors are worked out from the definition at each request.
"""

from __future__ import annotations

from typing import Any

Name = tuple[str, str]


class Priority:
    """Priorities of the waiting jobs of a naive_site world, by row."""

    def __init__(self, world: Any, settings: dict[str, Any]) -> None:
        self.world, self.site = world, world.site
        self.set = settings
        self.parent: dict[Name, Name | None] = {("root", ""): None}
        self.shares: dict[Name, float] = {}
        self.usage: dict[Name, float] = {("root", ""): 0.0}
        self.own: dict[Name, int] = {}
        for one in sorted(self.site.associations, key=lambda one: bool(one.user)):
            name = (one.account, one.user)
            if name == ("root", ""):
                continue
            if name not in self.parent:
                self.parent[name] = (one.account, "") if one.user else (one.parent or "root", "")
            self.shares[name] = float(one.shares)
            self.usage[name] = one.usage
            self.own[name] = one.priority
        self.usage["root", ""] = sum(self.usage[one] for one in self.children(("root", "")))
        start = min((job.submit for job in world.jobs), default=0)
        self.last, self.due = start, start + settings["period"]
        self.accounts = self.parts_of_accounts()
        self.snapshot: list[Any] = []
        self.since: dict[int, int] = {}
        self.of: dict[int, int] = {}

    # ------------------------------------------------------------------------- an instant
    def before_pass(self) -> None:
        now = self.world.now
        while self.due < now:
            self.tick(self.due)
        for run in [run for run in self.snapshot if run not in self.world.running]:
            self.snapshot.remove(run)
            if self.site.enforce & {"limits", "safe"}:
                self.charge(run, self.billing(run) * self.faded(now, run))
        for row in [row for row in self.since if row not in self.world.waiting]:
            del self.since[row]
        if self.due == now:
            self.tick(now)
        for row in self.world.waiting:
            if row not in self.since:
                self.since[row] = now
                self.of[row] = self.priority(row, now, tested=False)

    def after_pass(self) -> None:
        self.snapshot = sorted(self.world.running, key=self.world.row_of)
        self.since = {row: t for row, t in self.since.items() if row in self.world.waiting}

    def tick(self, now: int) -> None:
        for name in self.usage:
            self.usage[name] *= self.left() ** (now - self.last)
        self.accounts = self.parts_of_accounts()
        for run in self.snapshot:
            self.charge(run, self.billing(run) * self.faded(now, run))
        self.last = now
        self.due += self.set["period"]
        for row in self.since:
            self.of[row] = self.priority(row, now, tested=True)

    # ------------------------------------------------------------------------- usage
    def left(self) -> float:
        """Of one unit of usage after a second."""
        return (1 - 0.693 / self.set["half_life"]) if self.set["half_life"] else 1.0

    def faded(self, now: int, run: Any) -> float:
        """Seconds of a run since the last tick, faded by as many seconds."""
        seconds = max(0.0, now - max(self.last, run.start))
        return float(seconds * self.left() ** seconds)

    def billing(self, run: Any) -> float:
        held = dict.fromkeys(self.site.resources, 0)
        for node, tasks in run.tasks.items():
            taken = self.world.takes(run.shape, node, tasks)
            for name, amount in zip(self.site.resources, taken, strict=True):
                held[name] += amount
        weights = run.shape.partition.billing
        if not weights:
            return float(held["cpus"])
        return float(sum(held.get(name, 0) * weight for name, weight in weights.items()))

    def association(self, row: int) -> Name | None:
        account = self.world.workload.requests[row].account
        number = self.world.jobs[row].user
        user = "" if number < 0 else str(number)
        if (account, user) in self.usage:
            return (account, user)
        if user and not account:
            return next((name for name in self.usage if name[1] == user), None)
        return None

    def charge(self, run: Any, amount: float) -> None:
        name = self.association(self.world.row_of(run))
        while name is not None:
            self.usage[name] += amount
            above = self.parent[name]
            name = above if above is None or above in self.usage else ("root", "")

    # ------------------------------------------------------------------------- factors
    def children(self, name: Name) -> list[Name]:
        found = []
        for one in self.site.associations:
            child = (one.account, one.user)
            if child == ("root", "") or child in found:
                continue
            above = self.parent[child]
            if (above if above in self.usage else ("root", "")) == name:
                found.append(child)
        return found

    def levels(self, siblings: list[Name]) -> dict[Name, float]:
        shares = sum(self.shares[one] for one in siblings)
        used = sum(self.usage[one] for one in siblings)
        found = {}
        for one in siblings:
            share = self.shares[one] / shares if shares else 0.0
            part = self.usage[one] / used if used else 0.0
            found[one] = 0.0 if not share else (share / part if part else float("inf"))
        return found

    def fair_tree(self) -> dict[Name, float]:
        """Users in the order of the tree; one tied with the user before it shares its rank."""
        walked: list[tuple[Name, bool]] = []

        def walk(name: Name, tied: bool) -> None:
            siblings = self.children(name)
            level = self.levels(siblings)
            order = sorted(siblings, key=lambda one: (-level[one], not one[1]))
            for at, one in enumerate(order):
                same = tied if at == 0 else level[one] == level[order[at - 1]]
                if one[1]:
                    walked.append((one, same))
                else:
                    walk(one, same)

        walk(("root", ""), False)
        count = max(1, len(walked))
        found: dict[Name, float] = {}
        rank = count
        for at, (name, tied) in enumerate(walked):
            if not tied:
                rank = count - at
            found[name] = rank / count
        return found

    def part_of(self, name: Name, one: Name, above: float) -> float:
        """A child's part of all usage: its own and, below the top, its share of the rest above."""
        total = self.usage["root", ""]
        own = self.usage[one] / total if total else 0.0
        if name == ("root", ""):
            return own
        shares = sum(self.shares[other] for other in self.children(name))
        return own + (above - own) * (self.shares[one] / shares if shares else 0.0)

    def parts_of_accounts(self) -> dict[Name, float]:
        """Taken at a tick, after usage has faded and before the running jobs are charged."""
        found: dict[Name, float] = {}

        def down(name: Name) -> None:
            for one in self.children(name):
                if not one[1]:
                    found[one] = self.part_of(name, one, found.get(name, 0.0))
                    down(one)

        down(("root", ""))
        return found

    def classic(self) -> dict[Name, float]:
        found: dict[Name, float] = {}

        def down(name: Name, norm: float) -> None:
            siblings = self.children(name)
            shares = sum(self.shares[one] for one in siblings)
            for one in siblings:
                part = self.shares[one] / shares if shares else 0.0
                used = self.accounts.get(one, 0.0)
                if one[1]:
                    used = self.part_of(name, one, self.accounts.get(name, 0.0))
                found[one] = 2 ** -(used / (norm * part)) if norm * part else 0.0
                down(one, norm * part)

        down(("root", ""), 1.0)
        return found

    def priority(self, row: int, now: int, *, tested: bool) -> int:
        """Term by term (spec: slurm 5.1)."""
        weight, site, request = self.set, self.site, self.world.workload.requests[row]
        name = self.association(row)
        shares = self.fair_tree() if weight["fair_tree"] else self.classic()
        default = next(p for p in site.partitions if p.default)
        named = [p for one in request.partitions for p in site.partitions if p.name == one]
        part = (named or [default])[0]
        inside = [node for node in site.nodes if node.name in part.nodes]
        nodes = max(request.nodes, len(request.wanted), 1)
        if request.tasks_per_node:
            nodes = max(nodes, -(-request.tasks // request.tasks_per_node))
        cpus = max(request.tasks * request.cpus_per_task, nodes)
        got = cpus
        if tested and (request.exclusive or part.exclusive):
            got = nodes * max(node.amounts[0] for node in inside)
        total = weight["age"] * min(1.0, (now - self.since[row]) / weight["max_age"])
        total += weight["fair_share"] * (shares.get(name, 0.0) if name else 0.0)
        size = nodes / len(site.nodes) + got / sum(node.amounts[0] for node in site.nodes)
        total += weight["job_size"] * size / 2
        most = max([1, *(one.priority_factor for one in site.partitions)])
        total += weight["partition"] * part.priority_factor / most
        ranks = {one.name: one.priority for one in site.qos}
        total += weight["qos"] * ranks.get(request.qos, 0) / max([1, *ranks.values()])
        highest = max([1, *(one.priority for one in site.associations)])
        total += weight["assoc"] * (self.own.get(name, 0) / highest if name else 0.0)
        for tres, factor in weight["tres"]:
            if tres == "cpu":
                total += factor * (cpus / sum(node.amounts[0] for node in inside))
            elif tres == "node":
                total += factor * (nodes / len(inside))
        nice = int(self.world.workload.requests.nice[row])
        return max(1, int(total - nice))
