"""Places: the nodes and tasks that a job gets, now or at its earliest start."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace

from shadowtime.verify.site.limits import Limited
from shadowtime.verify.site.shapes import FOREVER, Shape, Tasks, Vector, missing, possible
from shadowtime.verify.site.state import Held, Plan


class Places(Limited):
    """Where a shape fits, by the rule of the policy and under the limits."""

    def place(
        self,
        row: int,
        shape: Shape,
        held: list[Held],
        start: int,
        length: int,
        *,
        planning: bool = False,
        allowed: Callable[[Tasks], bool] | None = None,
    ) -> Tasks | None:
        """Tasks on named nodes for [start, start + length), None where the shape does not fit.

        ``allowed``: no node is used for more tasks, nor are nodes used together, than it allows.
        """
        if not self.reservation_open(shape, start, length):
            return None
        if not self.amounts_free(shape, held, start, length):
            return None
        room = {}
        for node in shape.nodes:
            if not self.closed(shape, node, start, length):
                holds = self.holds(shape, node, self.free_during(held, node, start, length))
                if planning and shape.group == 1:
                    holds = min(holds, self.in_cap(shape, node))
                if holds > 0:
                    room[node] = holds
        if allowed is not None:
            room = self.narrow(room, allowed)
        if not shape.wanted <= set(room):
            return None
        if shape.in_a_row:
            return self.row_of_nodes(shape, room, allowed)
        order = list(room)
        weight = {node: self.site.nodes[node].weight for node in room}
        first = {node: (node not in shape.wanted, weight[node]) for node in room}
        free = {node: self.free_at(held, node, start) for node in room}
        if shape.exclusive:
            free = {node: tuple(0 for _ in self.site.resources) for node in room}
        alone = [
            node
            for node in order
            if shape.least <= 1
            and room[node] >= shape.tasks
            and shape.wanted <= {node}
            and missing(shape.counts, [node]) == 0
        ]
        if allowed is not None:
            if len(room) < shape.least or sum(room.values()) < shape.tasks:
                return None
            found = self.place_by_rule(row, shape, room, order, first, free, alone, held, start)
            if found is not None and allowed(found):
                return found
            return self.search(shape, order, room, allowed)
        return self.place_by_rule(row, shape, room, order, first, free, alone, held, start)

    def under_limits(
        self,
        row: int,
        shape: Shape,
        held: list[Held],
        start: int,
        length: int,
        *,
        planning: bool = False,
        bare: bool = False,
    ) -> Tasks | None:
        """The rule's choice if the limits allow it; else a choice among what they allow.

        Slurm makes no second choice.
        """

        def allowed(tasks: Tasks) -> bool:
            return self.within(row, shape, tasks, bare=bare)

        tasks = self.place(row, shape, held, start, length, planning=planning)
        if tasks is None or allowed(tasks):
            return tasks
        if self.rule == "slurm":
            return None
        return self.place(row, shape, held, start, length, planning=planning, allowed=allowed)

    @staticmethod
    def narrow(room: Tasks, allowed: Callable[[Tasks], bool]) -> Tasks:
        """What each node holds within the limits by itself."""
        most = {
            node: max((k for k in range(1, held + 1) if allowed({node: k})), default=0)
            for node, held in room.items()
        }
        return {node: held for node, held in most.items() if held > 0}

    @staticmethod
    def search(
        shape: Shape, order: list[int], room: Tasks, allowed: Callable[[Tasks], bool]
    ) -> Tasks | None:
        """The first set of nodes in this order that is allowed; every one is tried."""

        def go_on(at: int, chosen: Tasks, left: int) -> Tasks | None:
            if left == 0 and len(chosen) >= shape.least:
                return chosen
            if at == len(order) or len(chosen) == shape.most:
                return None
            node = order[at]
            due = max(0, shape.least - len(chosen) - 1)
            usable = True
            if shape.counts:
                still = missing(shape.counts, [*chosen, node])
                due = max(due, still)
                usable = len(chosen) + 1 + still <= shape.most and due < left
            if usable:
                more = {**chosen, node: min(room[node], left - due)}
                if allowed(more):
                    found = go_on(at + 1, more, left - more[node])
                    if found is not None:
                        return found
            return None if node in shape.wanted else go_on(at + 1, chosen, left)

        return go_on(0, {}, shape.tasks)

    def place_by_rule(
        self,
        row: int,
        shape: Shape,
        room: Tasks,
        order: list[int],
        first: dict[int, tuple[bool, int]],
        free: dict[int, Vector],
        alone: list[int],
        held: list[Held],
        start: int,
    ) -> Tasks | None:
        """Among nodes with room; ``order`` is left as the rule sorts it."""
        if self.rule == "best-fit":
            if alone:
                best = min(alone, key=lambda n: (first[n], free[n], order.index(n)))
                return {best: shape.tasks}
            order.sort(key=lambda n: (first[n], free[n]))
        elif self.rule == "pack":
            if alone:
                best = min(alone, key=lambda n: (first[n], room[n], order.index(n)))
                return {best: shape.tasks}
            order.sort(key=lambda n: (first[n], -room[n]))
        elif self.rule == "spread":
            order.sort(key=lambda n: (first[n], -free[n][0]))
            dealt = self.deal(shape, order, room)
            if dealt is not None:
                return dealt
        elif self.rule == "slurm" and not shape.counts:
            cpus = {node: self.free_at(held, node, start)[0] for node in room}
            found = self.by_sets(shape, room, cpus)
            if found is not None:
                return found
        elif self.rule == "score":
            score = {node: self.scored(row, node, room, held, start) for node in room}
            order.sort(key=lambda n: (n not in shape.wanted, -score[n]))
        if self.rule not in ("spread", "slurm") or (self.rule == "slurm" and shape.counts):
            found = self.walk(shape, order, room)
            if found is not None:
                return found
        largest = sorted(room, key=lambda n: (n not in shape.wanted, -room[n]))
        found = self.walk(shape, largest, room)
        assert not shape.counts or (found is not None) == possible(shape, room)
        return found

    def scored(self, row: int, node: int, room: Tasks, held: list[Held], start: int) -> float:
        """The score of a node with room for a job by the user's function."""
        job, site = self.jobs[row], self.site
        weights = sorted({one.weight for one in site.nodes})
        seen = SimpleNamespace(
            submit=job.submit,
            wait=self.now - job.submit,
            request=job.request,
            estimate=self.estimate(row),
            user=job.user,
        )
        values = {
            "number": node,
            "weight": weights.index(site.nodes[node].weight),
            "room": room[node],
            "start": start,
        }
        for field_name, name in (("cpus", "cpus"), ("memory", "memory"), ("gpus", "gpu")):
            at = site.resources.index(name) if name in site.resources else None
            values[field_name] = -1 if at is None else self.capacity(node)[at]
            values[f"free_{field_name}"] = -1 if at is None else self.free_at(held, node, start)[at]
        assert self.score is not None
        return self.score(self.now, seen, SimpleNamespace(**values))

    @staticmethod
    def walk(shape: Shape, order: list[int], room: Tasks) -> Tasks | None:
        chosen: Tasks = {}
        left = shape.tasks
        for node in order:
            if (left == 0 and len(chosen) >= shape.least) or len(chosen) == shape.most:
                break
            due = max(0, shape.least - len(chosen) - 1)
            if shape.counts:
                still = missing(shape.counts, [*chosen, node])
                due = max(due, still)
                if len(chosen) + 1 + still > shape.most or due >= left:
                    continue
            chosen[node] = min(room[node], left - due)
            left -= chosen[node]
        return chosen if left == 0 and len(chosen) >= shape.least else None

    @staticmethod
    def deal(shape: Shape, order: list[int], room: Tasks) -> Tasks | None:
        most = min(shape.most, shape.tasks)
        nodes: list[int] = []
        for node in order:
            if len(nodes) + 1 + missing(shape.counts, [*nodes, node]) <= most:
                nodes.append(node)
        if len(nodes) < shape.least or sum(room[n] for n in nodes) < shape.tasks:
            return None
        if missing(shape.counts, nodes) > 0:
            return None
        chosen = {node: 0 for node in nodes}
        left = shape.tasks
        while left > 0:
            for node in nodes:
                if left > 0 and chosen[node] < room[node]:
                    chosen[node] += 1
                    left -= 1
        return chosen

    def by_sets(self, shape: Shape, room: Tasks, cpus: Tasks) -> Tasks | None:
        """Slurm: the best set of neighbours with equal weight, again and again."""
        chosen: Tasks = {}
        weight = {node: self.site.nodes[node].weight for node in room}

        def left() -> int:
            return shape.tasks - sum(chosen.values())

        def due() -> int:
            return max(0, shape.least - len(chosen))

        def done() -> bool:
            return left() == 0 and due() == 0

        def give(node: int) -> None:
            chosen[node] = min(room[node], left() - max(0, due() - 1))

        for node in room:
            if node in shape.wanted:
                give(node)
        sets: list[list[int]] = []
        for node in sorted(set(room) - shape.wanted):
            near = sets and sets[-1][-1] == node - 1 and weight[sets[-1][-1]] == weight[node]
            if near:
                sets[-1].append(node)
            else:
                sets.append([node])

        def rank(one: list[int]) -> tuple[int, bool, int, int]:
            enough = sum(room[n] for n in one) >= left() and len(one) >= due()
            size = sum(cpus[n] for n in one)
            return (weight[one[0]], not enough, size if enough else -size, one[0])

        while not done():
            if not sets or len(chosen) == shape.most:
                return None
            best = min(sets, key=rank)
            sets.remove(best)
            alone = [n for n in best if due() <= 1 and room[n] >= left()]
            if alone:
                give(min(alone, key=lambda n: (cpus[n], n)))
                continue
            for node in best:
                if not done() and len(chosen) < shape.most:
                    give(node)
        return chosen

    @staticmethod
    def row_of_nodes(
        shape: Shape, room: Tasks, allowed: Callable[[Tasks], bool] | None = None
    ) -> Tasks | None:
        """Neighbours alone: the first node from which as few as possible hold all tasks."""
        for begin in sorted(room):
            nodes = [begin]
            while len(nodes) < shape.least or sum(room[n] for n in nodes) < shape.tasks:
                if nodes[-1] + 1 not in room or len(nodes) == shape.most:
                    break
                nodes.append(nodes[-1] + 1)
            if len(nodes) >= shape.least and sum(room[n] for n in nodes) >= shape.tasks:
                found = Places.walk(shape, nodes, room)
                if allowed is None or (found is not None and allowed(found)):
                    return found
        return None

    def placeable(self, row: int, shape: Shape) -> bool:
        length = self.estimate(row)
        if not shape.partition.up:
            return False
        r = shape.reservation
        start = self.now
        if r is not None:
            start = max(start, r.begin - (self.workload.epoch or 0))
            if not self.reservation_open(shape, start, length):
                return False
        empty = self.room_when_empty(shape)
        room = [(node not in shape.wanted, -holds) for node, holds in empty.items()]
        if not shape.wanted <= set(empty):
            return False
        if shape.in_a_row:
            return self.row_of_nodes(shape, empty) is not None
        if shape.counts:
            return possible(shape, empty)
        best = [-h for _, h in sorted(room)][: shape.most]
        return len(room) >= shape.least and sum(best) >= shape.tasks

    def room_when_empty(self, shape: Shape) -> Tasks:
        """What the nodes that are not closed for good hold, if nothing runs."""
        gone = {
            c.node
            for c in self.closings
            if c.known <= self.now and c.end >= FOREVER and not c.reservation
        }
        room = {
            node: self.holds(shape, node, self.capacity(node))
            for node in shape.nodes
            if node not in gone
        }
        return {node: held for node, held in room.items() if held > 0}

    def allowed_when_empty(self, row: int, shape: Shape, *, bare: bool = False) -> bool:
        """Is there a place under the limits, if nothing holds the nodes?"""

        def allowed(tasks: Tasks) -> bool:
            return self.within(row, shape, tasks, bare=bare)

        if self.rule == "slurm" or not self.scopes(row, shape):
            return True
        room = self.narrow(self.room_when_empty(shape), allowed)
        if not shape.wanted <= set(room):
            return False
        if shape.in_a_row:
            return self.row_of_nodes(shape, room, allowed) is not None
        return self.search(shape, list(room), room, allowed) is not None

    def earliest(
        self,
        row: int,
        shapes: list[Shape],
        held: list[Held],
        before: int = FOREVER,
        after: int = -1,
        *,
        bare: bool = False,
    ) -> Plan | None:
        length = self.estimate(row)
        rejected: list[Shape] = []
        times = {self.now, after} | {h.end for h in held} | {c.end for c in self.closings}
        times |= set(self.changes())
        for shape in shapes:
            if shape.reservation is not None:
                times.add(shape.reservation.begin - (self.workload.epoch or 0))
        for t in sorted(times):
            if max(self.now, after) <= t < before:
                for shape in shapes:
                    if shape in rejected:
                        continue
                    tasks = self.under_limits(row, shape, held, t, length, planning=True, bare=bare)
                    if tasks is not None:
                        return Plan(t, shape, tasks)
                    if self.rule == "slurm" and self.place(
                        row, shape, held, t, length, planning=True
                    ):
                        rejected.append(shape)  # Slurm chooses nodes, then rejects them
        return None

    def considered(self, row: int) -> list[Shape]:
        return [
            shape
            for shape in self.shapes[row]
            if self.allowed_ever(row, shape)
            and self.placeable(row, shape)
            and self.within(row, shape, None)
            and self.allowed_when_empty(row, shape)
        ]
