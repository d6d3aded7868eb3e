"""The main pass: first come first served per partition until one does not fit (2)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shadowtime.kernel.slurm import board as b
from shadowtime.kernel.slurm.main_walk import FITS, OVER, fail
from shadowtime.kernel.slurm.words import packed, unpacked
from shadowtime.slurm.choose import Choice
from shadowtime.slurm.job import full_limit
from shadowtime.slurm.machine import Section
from shadowtime.slurm.outcome import Allocation, Outcome
from shadowtime.slurm.queue import build_queue
from shadowtime.slurm.starting import begin, select_now, weights_of_a_start
from shadowtime.slurm.tally import Tally, tally_anywhere, tally_of

if TYPE_CHECKING:
    from shadowtime.slurm.job import Job
    from shadowtime.slurm.queue import Record
    from shadowtime.slurm.state import SlurmState


def main_pass(state: SlurmState, now: int, *, full: bool = False) -> Outcome:
    """One pass at ``now``; ``state`` is changed by the starts.

    ``full``: the pass of sched_interval, which default_queue_depth does not bound.
    """
    return MainPass(state, now, full=full).run() if state.waiting else Outcome()


class MainPass:
    """One main pass while it runs."""

    def __init__(
        self, state: SlurmState, now: int, *, full: bool, records: list[Record] | None = None
    ) -> None:
        """``records``: those of a pass that has begun already."""
        self.state, self.board, self.now = state, state.board, now
        wish = state.parameters
        self.out = Outcome()
        self.mark = state.board.board.mark
        if records is not None:
            self.records = records
            return
        self.records = build_queue(state)
        self.board.write(state)
        self.board.write_queue(state, self.records)
        mark = self.mark = self.board.board.mark
        mark[b.BEGINS] = 1
        mark[b.BOUND_DEPTH] = -1 if full else wish.default_queue_depth
        yields = wish.bf_min_prio_reserve or wish.bf_min_age_reserve
        apart = state.windows or state.preemption.gang or self.board.any_owner
        shortcuts = state.chooser.shortcuts and not apart
        mark[b.ANSWERS] = shortcuts and not wish.assoc_limit_stop and not yields

    def run(self, asked: int | None = None) -> Outcome:
        """Try the records in order, but those whose answer is certain.

        ``asked``: what a walk that has begun stopped for.
        """
        board, mark, state = self.board, self.mark, self.state
        most = state.parameters.sched_max_job_start
        while True:
            what = asked
            if what is None:
                what = board.main_walk()
            asked = None
            if what == OVER:
                break
            record = self.records[int(mark[b.AT])]
            job = state.rest_of(record.job)
            if what == FITS:
                assert job is not None
                _start(state, job, record.section, board.chooser.chosen(), self.now, self.out)
                job = self._started(job, record.section)
            while job is not None and not 0 < most <= len(self.out.starts):
                job = self._try(job, record.section)
            if 0 < most <= len(self.out.starts):
                return self.out
            mark[b.AT] += 1
        return self.out

    def _try(self, job: Job, section: Section) -> Job | None:
        """Try a record; what is left of an array of which a task has started."""
        state, out, board = self.state, self.out, self.board
        evicted, left = len(out.victims), unpacked(board.board.mask[b.LEFT])
        answer = _try(state, job, section, left, self.now, out)
        if len(out.victims) > evicted:
            board.leave(self.state, job)  # it preempts in this partition and is tried in no other
            self.board.write_free(self.state)
        if answer == "started":
            return self._started(job, section)
        if answer == "busy":
            ask = job.ask
            if ask.required.bit_count() >= max(ask.min_nodes, 1) and ask.required:
                board.board.mask[b.LEFT] = packed(left & ~ask.required, board.words)
                self.mark[b.LEFTS] += 1
            elif not _yields(state, job, self.now):
                fail(board.board, board.sections[section.name])
        return None

    def _started(self, job: Job, section: Section) -> Job | None:
        """A job has started; what is left of an array, unless the pass is deep enough by now."""
        self.board.write_free(self.state)
        left = None
        if job.is_array:
            left = next((one for one in self.state.waiting if one.id == job.id), None)
        if left is None:
            self.board.leave(self.state, job)
        return left if left is not None and self._goes_on(section) else None

    def _goes_on(self, section: Section) -> bool:
        """Count the next task of an array as a record of its own (spec: slurm 1.4)."""
        mark, part = self.mark, self.board.board.part[self.board.sections[section.name]]
        if 0 < mark[b.PART_DEPTH] <= part[b.LOOKED_AT]:
            return False
        part[b.LOOKED_AT] += 1
        if 0 <= mark[b.BOUND_DEPTH] < mark[b.DEPTH]:
            return False
        mark[b.DEPTH] += 1
        return True


def _yields(state: SlurmState, job: Job, now: int) -> bool:
    """A job that is too young or of too low a priority blocks no other (spec: slurm 2.6)."""
    wish = state.parameters
    if wish.bf_min_prio_reserve and job.priority < wish.bf_min_prio_reserve:
        return True
    return bool(wish.bf_min_age_reserve) and now - job.eligible < wish.bf_min_age_reserve


def _try(state: SlurmState, job: Job, section: Section, left: int, now: int, out: Outcome) -> str:
    """ "started", "busy" (fails the partition) or "passed over"."""
    ask = job.ask.on(section)
    accounts = state.accounts
    # assoc_limit_stop: a job over a limit fails its partition; if the limit is known before nodes
    # are chosen, only in the pass that notices it.
    over_limit = "busy" if state.parameters.assoc_limit_stop else "passed over"
    known = job.id in accounts.limited
    if accounts.before(job, state.running, section):
        return "passed over" if known else over_limit
    if job.is_array and job.throttle and job.started_tasks >= job.throttle:
        accounts.note(job, "JobArrayTaskLimit")
        return "passed over"
    if job.licences and (short := state.licences_short(job)):
        accounts.note(job, short)
        return "passed over"
    if (section.nodes & left).bit_count() < ask.min_nodes:
        return "busy"
    if ask.required & ~left:
        # The first time it is tested its listed nodes are taken away all the same; from then on
        # its reason (ReqNodeNotAvail) lets the pass go on before that.
        return "busy" if job.submit >= now - 1 else "passed over"
    limit = job.limit if accounts.flagged(job, "partitiontimelimit") else full_limit(job, section)
    barred, _ = state.barred(job, now, now + limit)
    allowed = left & ~barred
    fixed = tally_anywhere(state, job, section) if accounts.enforced else None
    if fixed is not None and accounts.over(job, fixed, state.running, section):
        weights_of_a_start(state, job, section, section.nodes & ask.suits)
        # Whether it fits now or not: only where it never fits, its nodes are named instead.
        if _blocked(state, job, section, allowed) is None:
            accounts.note(job, "ReqNodeNotAvail")
            return "passed over"
        accounts.after(job, fixed, state.running, section)
        return over_limit
    found, victims = select_now(state, job, section, allowed)
    if found is None or victims:
        busy = _blocked(state, job, section, allowed)
        if busy is None:
            accounts.note(job, "ReqNodeNotAvail")
            return "passed over"
        tally = busy
        if victims and found is not None:
            tally = tally_of(state, job, section, found)
        if accounts.enforced and accounts.after(job, tally, state.running, section):
            return over_limit
        if not state.preemption.may_evict(job, now):
            victims = []
        for victim in victims:
            out.victims.append((victim.id, job.id))
            out.evicted.append(victim)
            state.usage.give(victim.holding)
            state.completing |= victim.nodes
            state.stop(victim)
        return "busy"
    if accounts.enforced and accounts.after(
        job, tally_of(state, job, section, found), state.running, section, nodes=found.nodes
    ):
        return over_limit
    _start(state, job, section, found, now, out)
    return "started"


def _start(
    state: SlurmState, job: Job, section: Section, found: Choice, now: int, out: Outcome
) -> None:
    task = job.tasks[0] if job.is_array else None
    started = begin(state, job, section, found, now)
    out.starts.append(Allocation(job.id, section.name, found.nodes, task, started.id))


def _blocked(state: SlurmState, job: Job, section: Section, allowed: int) -> Tally | None:
    """What a job that does not fit would be counted with; None: it cannot run here.

    spec: slurm 2.4, 2.6.

    None where it could not run on the nodes that are left even if they were empty, and none of
    them is in exclusive use.
    """
    ask = job.ask.on(section)
    nodes = section.nodes & ask.suits & allowed & state.up
    fixed = tally_anywhere(state, job, section) if state.accounts.enforced else None
    if fixed is not None and state.chooser.serves(ask, nodes):
        return fixed
    weights = state.weights.copy() if state.machine.has_gpus else state.weights
    if state.chooser.ever(ask, section.nodes & ask.suits, weights) is None:
        return None  # it could never run in this partition
    could = state.chooser.ever(ask, nodes, weights)
    if could is not None:
        return tally_of(state, job, section, could) if state.accounts.enforced else Tally()
    held = 0
    for other in state.running:
        if other.ask.on(state.machine.sections[other.partition]).exclusive:
            held |= other.nodes
    if ask.exclusive:
        held = ~state.usage.idle
    if ask.gpus:  # nodes without GPUs would not serve it empty either
        have = (at for at, node in enumerate(state.machine.nodes) if node.gpus >= ask.node_gpus)
        held &= sum(1 << at for at in have)
    if nodes & held:
        return Tally(cpu=ask.min_cpus, node=ask.min_nodes)
    return None
