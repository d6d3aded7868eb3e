"""The main pass: first come first served per partition until one does not fit (2)."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from shadowtime.slurm.outcome import Allocation, Outcome
from shadowtime.slurm.queue import build_queue
from shadowtime.slurm.starting import begin, select_now
from shadowtime.slurm.tally import Tally, tally_anywhere, tally_of

if TYPE_CHECKING:
    from shadowtime.slurm.job import Job
    from shadowtime.slurm.machine import Section
    from shadowtime.slurm.state import SlurmState


def main_pass(state: SlurmState, now: int, *, full: bool = False) -> Outcome:
    """One pass at ``now``; ``state`` is changed by the starts.

    ``full``: the pass of sched_interval, which default_queue_depth does not bound.
    """
    wish = state.parameters
    out = Outcome()
    failed: set[str] = set()
    left = state.up
    depth = 0
    in_part: Counter[str] = Counter()
    done: set[int] = set()
    alike = Alike(state)
    for record in build_queue(state):
        job, section = record.job, record.section
        if job.id in done:
            continue
        if not full and depth > wish.default_queue_depth:
            break
        depth += 1
        if wish.partition_job_depth:
            if in_part[section.name] >= wish.partition_job_depth:
                continue
            in_part[section.name] += 1
        if section.name in failed:
            if len(failed) == len(state.machine.sections):
                break
            continue
        rest = state.rest_of(job)
        if rest is None:
            continue
        job = rest
        while True:
            evicted = len(out.victims)
            answer = alike.known(job, section, left)
            if not answer:
                answer = _try(state, job, section, left, now, out)
                alike.note(job, section, left, answer, evicted != len(out.victims))
            if len(out.victims) > evicted:
                done.add(job.id)  # it preempts in this partition and is tried in no other
            if answer == "started":
                if wish.sched_max_job_start and len(out.starts) >= wish.sched_max_job_start:
                    return out
                if job.is_array:
                    rest = next((one for one in state.waiting if one.id == job.id), None)
                    if rest is not None:
                        job = rest
                        continue
                done.add(job.id)
            elif answer == "busy":
                ask = job.ask
                if ask.required.bit_count() >= max(ask.min_nodes, 1) and ask.required:
                    left &= ~ask.required
                elif _yields(state, job, now):
                    pass
                else:
                    failed.add(section.name)
                    left &= ~section.nodes
            break
    return out


class Alike:
    """Jobs that are passed over for the same reason as others before them in a pass.

    Until a job starts or is evicted, jobs that ask for the same on the same nodes and count against
    the same limits get the same answer. Tests of GPU jobs leave weights behind where every will-run
    test does not set them anew, so that there each of them is made (spec: slurm 11.4).
    """

    def __init__(self, state: SlurmState) -> None:
        self.state = state
        self.over: dict[tuple[object, ...], tuple[str, bool]] = {}
        """By what the answer depends on: the reason, and whether a limit was the cause."""
        wish = state.parameters
        self.on = state.chooser.shortcuts and not wish.assoc_limit_stop and not state.windows

    def _key(self, job: Job, section: Section, left: int) -> tuple[object, ...] | None:
        ask = job.ask
        if not self.on or job.tasks or ask.required or job.licences:
            return None
        if ask.gpus and not self.state.parameters.rules.fresh_weights:
            return None
        who = (job.qos, job.account, job.user)
        # The limit counts in GrpTRESRunMins alone.
        limit = job.limit if self.state.accounts.bounds_run_minutes else 0
        return (id(ask), section.name, left, *who, limit)

    def known(self, job: Job, section: Section, left: int) -> str:
        """ "passed over" where another was; else empty."""
        key = self._key(job, section, left)
        found = self.over.get(key) if key is not None else None
        if found is None:
            return ""
        reason, limited = found
        accounts = self.state.accounts
        accounts.note(job, reason)
        if limited:
            accounts.limited.add(job.id)
        else:
            accounts.limited.discard(job.id)
        return "passed over"

    def note(self, job: Job, section: Section, left: int, answer: str, evicts: bool) -> None:
        """A job was tried."""
        if answer == "started" or evicts:
            self.over.clear()
        elif answer == "passed over":
            key = self._key(job, section, left)
            if key is not None:
                accounts = self.state.accounts
                limited = job.id in accounts.limited
                self.over[key] = accounts.met.get(job.id, ""), limited


def _yields(state: SlurmState, job: Job, now: int) -> bool:
    """A job that is too young or of too low a priority blocks no other (spec: slurm 2.6)."""
    wish = state.parameters
    if wish.bf_min_prio_reserve and job.priority < wish.bf_min_prio_reserve:
        return True
    return bool(wish.bf_min_age_reserve) and now - job.eligible < wish.bf_min_age_reserve


def _try(state: SlurmState, job: Job, section: Section, left: int, now: int, out: Outcome) -> str:
    """ "started", "busy" (fails the partition) or "passed over"."""
    ask = job.ask
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
    limit = min(job.limit, section.max_time) if section.max_time is not None else job.limit
    barred, _ = state.barred(job, now, now + limit)
    allowed = left & ~barred
    fixed = tally_anywhere(state, job, section) if accounts.enforced else None
    if fixed is not None and accounts.over(job, fixed, state.running, section):
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
        job, tally_of(state, job, section, found), state.running, section
    ):
        return over_limit
    task = job.tasks[0] if job.is_array else None
    started = begin(state, job, section, found, now)
    out.starts.append(Allocation(job.id, section.name, found.nodes, task, started.id))
    return "started"


def _blocked(state: SlurmState, job: Job, section: Section, allowed: int) -> Tally | None:
    """What a job that does not fit would be counted with; None: it cannot run here.

    spec: slurm 2.4, 2.6.

    None where it could not run on the nodes that are left even if they were empty, and none of
    them is in exclusive use.
    """
    ask = job.ask
    nodes = section.nodes & ask.suits & allowed & state.up
    fixed = tally_anywhere(state, job, section) if state.accounts.enforced else None
    if fixed is not None and state.chooser.serves(ask, nodes):
        return fixed
    weights = state.weights.copy() if state.machine.has_gpus else state.weights
    could = state.chooser.ever(ask, nodes, weights)
    if could is not None:
        return tally_of(state, job, section, could) if state.accounts.enforced else Tally()
    held = 0
    for other in state.running:
        if other.ask.exclusive:
            held |= other.nodes
    if ask.exclusive:
        held = ~state.usage.idle
    if ask.gpus:  # nodes without GPUs would not serve it empty either
        have = (at for at, node in enumerate(state.machine.nodes) if node.gpus >= ask.node_gpus)
        held &= sum(1 << at for at in have)
    if nodes & held:
        return Tally(cpu=ask.min_cpus, node=ask.min_nodes)
    return None
