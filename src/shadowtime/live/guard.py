"""The last check before acting: decisions about anything that has changed are dropped."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from shadowtime.live import placing
from shadowtime.live.port import (
    Continue,
    Decision,
    Outcome,
    Resize,
    RunningJob,
    Snapshot,
    Start,
    Stop,
    Suspend,
)

if TYPE_CHECKING:
    Amounts = Sequence[int]
    Kept = tuple[dict[str, list[int]], set[str], "UnallocatedStarts"]


@dataclass(frozen=True)
class Guarded:
    """Decisions that may be carried out, and those that may not, with the reason."""

    allowed: tuple[Decision, ...]
    refused: tuple[Outcome, ...]


NOT_YET = "other jobs that were released have yet to be allocated on"
IN_VAIN = "the start that it would make room for is not possible now"


def guard(decisions: Sequence[Decision], seen: Snapshot, fresh: Snapshot) -> Guarded:
    """Check every decision against a fresh snapshot.

    Rules
    -----
    A job is started only if it still waits and its request is unchanged, and
    only on hosts that are usable and have room by the fresh snapshot after all earlier decisions.
    A job is stopped only if it still runs and may be stopped, and only if the start that follows
    its stop is possible: no job loses work needlessly. The same goes for a job that is shrunk,
    which also has to hold the same nodes still, and more than its user's least, and for one that is
    suspended. A suspended job continues only where it was, if there is room. A job that was
    stopped in this pass is not started in it: it is not back in the queue yet. No job is started
    twice. If a start on a site
    shares a node with others that are not allocated yet, there must be room for any distribution.
    """
    trial = _Trial(seen, fresh)
    allowed: list[Decision] = []
    refused: list[Outcome] = []
    groups = list(placing.together(decisions))
    if fresh.site is not None:
        # Starts on several nodes go first: others find room elsewhere a moment later.
        groups.sort(key=_takes_one_node)
    for group in groups:
        before = trial.keep() if len(group) > 1 else None
        whys = [trial.try_one(decision) for decision in group]
        if before is not None and whys[-1]:
            trial.back_to(before)
            whys = [why or IN_VAIN for why in whys]
        for decision, why in zip(group, whys, strict=True):
            if why:
                refused.append(Outcome(decision, False, why))
            else:
                allowed.append(decision)
    return Guarded(tuple(allowed), tuple(refused))


def _takes_one_node(group: Sequence[Decision]) -> bool:
    """False for what may be laid out differently than planned, and for what makes room first."""
    last = group[-1]
    return len(group) == 1 and not (isinstance(last, Start) and len(last.place) > 1)


class _Trial:
    """A fresh snapshot that decisions are tried on, one after the other."""

    def __init__(self, seen: Snapshot, fresh: Snapshot) -> None:
        self.before = {job.id: job for job in seen.waiting}
        self.ran = {job.id: job for job in seen.running}
        self.waits = {job.id: job for job in fresh.waiting}
        self.runs = {job.id: job for job in fresh.running}
        self.cluster = fresh.cluster
        self.free = placing.free_of(fresh)
        self.whole = {host.name: list(host.capacity) for host in fresh.cluster.hosts}
        self.touched: set[str] = set()
        self.unallocated = UnallocatedStarts()
        self.on_site = fresh.site is not None
        for run in fresh.running if self.on_site else ():
            if run.start >= fresh.now and not run.settled:
                self.unallocated.add(placing.held_by(run))

    def keep(self) -> Kept:
        """Everything that trying changes."""
        free = {host: list(amounts) for host, amounts in self.free.items()}
        return free, set(self.touched), self.unallocated.copy()

    def back_to(self, kept: Kept) -> None:
        """As if nothing had been tried since."""
        self.free, self.touched, self.unallocated = kept

    def try_one(self, decision: Decision) -> str:
        """Why a decision is not possible; empty if it is, and then it counts."""
        if decision.job in self.touched:
            return "it was stopped in this pass and is not back in the queue yet"
        self.touched.add(decision.job)
        if isinstance(decision, Continue):
            return self._continue(decision)
        return self._start(decision) if isinstance(decision, Start) else self._free(decision)

    def _start(self, decision: Start) -> str:
        job = self.waits.get(decision.job)
        if job is None:
            return "it runs already" if decision.job in self.runs else "it no longer waits"
        if job != self.before.get(decision.job):
            return "it was changed after the decision"
        if not decision.place:
            return "no hosts have room for its request"
        held = {host: list(amounts) for host, amounts in decision.held}
        job = job if held else placing.with_start(job, decision, self.cluster)
        needs = []
        for host, count in decision.place:
            if host not in self.free:
                return f"{host} cannot be used now"
            need = (
                self.whole[host]
                if job.alone
                else held.get(host) or list(placing.portion(job, count))
            )
            if not placing.room(self.free[host], need):
                return f"{host} no longer has room for it"
            needs.append((host, need))
        left = {
            host: [a - b for a, b in zip(self.free[host], need, strict=True)]
            for host, need in needs
        }
        if self.on_site and (crowded := self.unallocated.crowded(needs, left)):
            return f"{NOT_YET} {crowded}"
        self.free |= left
        if self.on_site:
            self.unallocated.add(needs)
        return ""

    def _continue(self, decision: Continue) -> str:
        run = self.runs.get(decision.job)
        if run is None or not run.suspended or not run.ours:
            return "it is not suspended by the loop"
        if run.place != decision.place:
            return "it holds other nodes than when this was decided"
        if host := placing.lacking(decision.place, self.free):
            return f"{host} no longer has room for it"
        for host, count in decision.place:
            self.free[host][0] -= count
        return ""

    def _free(self, decision: Stop | Resize | Suspend) -> str:
        run = self.runs.get(decision.job)
        if run is None:
            return "it no longer runs"
        if not run.ours:
            return "the loop may not stop it"
        if not run.settled:
            return "it is about to start, or stopping already"
        if run.suspended and not isinstance(decision, Stop):
            return "it is suspended: it has to continue first"
        if isinstance(decision, Resize) and (why := self._not_to_shrink(decision, run)):
            return why
        for host, amounts in placing.given_up(run, decision):
            if host in self.free:
                self.free[host] = [a + b for a, b in zip(self.free[host], amounts, strict=True)]
        return ""

    def _not_to_shrink(self, decision: Resize, run: RunningJob) -> str:
        """Why a running job cannot go on with the nodes that were decided."""
        before = self.ran.get(decision.job)
        if before is None or before.place != run.place:
            return "it holds other nodes than when this was decided"
        least, now = max(1, run.sizes[0]), len(run.place)
        if run.sizes == (0, 0) or not least <= len(decision.place) < now:
            return f"it may go on with {least if run.sizes[0] else now} to {now} nodes"
        return ""


def slack(held: Sequence[tuple[str, Amounts]]) -> dict[str, list[int]]:
    """What a job may take of each node beyond its plan: all but a processor of each other node.

    Examples
    --------
    >>> slack([("n1", (2, 8)), ("n2", (3, 12)), ("n3", (1, 4))])
    {'n1': [2, 8], 'n2': [1, 4], 'n3': [3, 12]}
    >>> slack([("n1", (2, 8))]), slack([("n1", (1, 4)), ("n2", (1, 4))])
    ({}, {})
    """
    total = sum(amounts[0] for _, amounts in held)
    most = total - (len(held) - 1)
    each = [
        max((-(-amounts[k] // max(1, amounts[0])) for _, amounts in held), default=0)
        for k in range(len(held[0][1]) if held else 0)
    ]
    return {
        host: [share * (most - amounts[0]) for share in each]
        for host, amounts in held
        if len(held) > 1 and most > amounts[0]
    }


class UnallocatedStarts:
    """Released starts that the scheduler has not allocated yet, and what each may still take.

    Rules
    -----
    A plan distributes a job over its nodes. The loop can name these to the scheduler, but not what
    the job takes of each, nor the order in which jobs released together are allocated: the
    scheduler may fill the first node up. Where two or more such starts share a node, what is free
    there beside their plans must be enough for whatever the scheduler may take beyond the plans;
    then each finds room, in any order and however the others are distributed.

    Examples
    --------
    >>> pending = UnallocatedStarts()
    >>> pending.add([("n1", (2,)), ("n2", (3,))])
    >>> pending.crowded([("n1", (1,))], {"n1": [1], "n2": [0]})
    'n1'
    >>> pending.crowded([("n1", (1,))], {"n1": [2], "n2": [0]})
    ''
    >>> pending.crowded([("n3", (1,))], {"n3": [0]})
    ''
    """

    def __init__(self, before: Mapping[str, tuple[int, list[int]]] | None = None) -> None:
        self._on = dict(before or {})
        """By node how many starts are on their way there, and what they may take together."""

    def copy(self) -> UnallocatedStarts:
        """The same, to go back to."""
        return UnallocatedStarts(self._on)

    def add(self, held: Sequence[tuple[str, Amounts]]) -> None:
        """Count a start that is on its way."""
        for host, count, more in self._with(held):
            self._on[host] = count, more

    def crowded(self, held: Sequence[tuple[str, Amounts]], free: Mapping[str, Amounts]) -> str:
        """A node on which a further start might find no room; ``free``: beside all plans and it."""
        return next(
            (
                host
                for host, count, more in self._with(held)
                if count > 1
                and any(amount > left for amount, left in zip(more, free[host], strict=True))
            ),
            "",
        )

    def _with(self, held: Sequence[tuple[str, Amounts]]) -> Iterable[tuple[str, int, list[int]]]:
        further = slack(held)
        for host, amounts in held:
            count, more = self._on.get(host, (0, [0] * len(amounts)))
            extra = further.get(host, [0] * len(amounts))
            yield host, count + 1, [a + b for a, b in zip(more, extra, strict=True)]
