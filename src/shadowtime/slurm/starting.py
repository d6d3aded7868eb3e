"""Starting a job inside a pass: select_nodes() on what is free now."""

from __future__ import annotations

import functools
import operator
from bisect import bisect_left
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from shadowtime.slurm.choose import Choice
from shadowtime.slurm.gang import overlaps
from shadowtime.slurm.machine import Section
from shadowtime.slurm.owners import of_others
from shadowtime.slurm.preempt import candidates_for, run_now
from shadowtime.slurm.tally import fixed_tally, tally_of
from shadowtime.slurm.weights import with_used_first
from shadowtime.types import Ints

if TYPE_CHECKING:
    from shadowtime.slurm.job import Job
    from shadowtime.slurm.state import SlurmState

_record = operator.attrgetter("record")


def select_now(
    state: SlurmState, job: Job, section: Section, allowed: int, *, excluded: bool = False
) -> tuple[Choice | None, list[Job]]:
    """The choice for now on ``allowed`` nodes, and the jobs that must go for it.

    Weights of the nodes the job may use are reset; a GPU job that does not fit leaves the
    weights of a test on empty nodes behind (spec: slurm 11.4). ``excluded``: the other nodes count
    as excluded by the job, so that their weights stay.
    """
    ask = job.ask.on(section)
    may_use = section.nodes & ask.suits
    if excluded:
        may_use &= allowed
    weights = weights_of_a_start(state, job, section, may_use)
    nodes = may_use & allowed & state.up & ~state.completing & ~of_others(state, job, section)
    chooser = state.chooser
    for mask in ask.either or (nodes,):
        found, victims = _on_nodes(state, job, section, nodes & mask, weights)
        if found is not None:
            break
    if found is None and ask.gpus:
        chooser.ever(ask, may_use, state.weights)
    return found, victims


def weights_of_a_start(state: SlurmState, job: Job, section: Section, may_use: int) -> Ints | None:
    """What a try to start does to the weights of nodes; None: they are those of Weight."""
    state.reset_weights(may_use)
    used = state.accounts.nodes_used(job, state.running, section)
    if not used:
        return None
    weights = with_used_first(state.machine, state.weights, may_use, used)
    if state.machine.weights_stay:
        state.weights[:] = weights
    return weights


def _on_nodes(
    state: SlurmState, job: Job, section: Section, nodes: int, weights: Ints | None
) -> tuple[Choice | None, list[Job]]:
    """The choice for now on these nodes, and the jobs that must go for it.

    ``weights`` None: those of the nodes.
    """
    ask = job.ask.on(section)
    found: Choice | None = None
    victims: list[Job] = []
    if ask.required & ~nodes:
        pass
    elif state.preemption.gang:
        # The job lies above those it preempts at once: they are suspended, not removed.
        hidden = (one.nodes for one in state.running if one.in_no_row)
        usable = nodes & ~functools.reduce(operator.or_, hidden, 0)
        found, victims = state.board.in_rows(state, ask, section, usable), []
    elif state.preemption.on:
        found, victims = run_now(state, ask, nodes, candidates_for(state, job, section))
    else:
        own = state.weights if weights is None else weights
        found = state.chooser.test(state.usage, ask, nodes, own, plain=weights is None)
    if found is not None and not victims and state.chooser.overfills(state.usage, ask, found):
        return None, []
    return found, victims


def leave_weights(state: SlurmState, job: Job) -> None:
    """What the test at a submission does to weights: as if the machine were empty.

    spec: slurm 11.4.
    """
    for name in job.partitions:
        section = state.machine.sections.get(name)
        if section is None:
            continue
        ask = job.ask.on(section)
        may_use = section.nodes & ask.suits
        weights_of_a_start(state, job, section, may_use)
        if ask.gpus:
            state.chooser.ever(ask, may_use, state.weights)


def take_out(waiting: list[Job], job: Job) -> None:
    """Remove a job from the waiting ones, which are mostly in the order of their records."""
    place = bisect_left(waiting, job.record, key=_record)
    if place < len(waiting) and waiting[place] is job:
        del waiting[place]
        return
    with suppress(ValueError):
        waiting.remove(job)


def begin(state: SlurmState, job: Job, section: Section, choice: Choice, now: int) -> Job:
    """The job holds its nodes from now on; of an array its next task does. Returns the record."""
    view = state.usage if choice.view is None else choice.view
    holding = state.chooser.hold(view, job.ask.on(section), choice)
    tally = None if section.billing else fixed_tally(state, job, section)
    tally = tally or tally_of(state, job, section, choice)
    if job.is_array:
        task, rest = job.tasks[0], job.tasks[1:]
        started = replace(
            job,
            id=job.id if not rest else -(job.id * 10_000 + task),
            tasks=[],
            array=job.array or job.id,
        )
        left = replace(job, tasks=rest, started_tasks=job.started_tasks + 1, record=state.records)
        state.records += 1
        place = state.waiting.index(job)
        if rest:
            state.waiting[place] = left
        else:
            del state.waiting[place]
    else:
        started = job.copy()
        take_out(state.waiting, job)
    started.partition = section.name
    started.waited_for = state.accounts.met[job.id]
    started.start = now
    started.holding = holding
    started.nodes = choice.nodes
    started.cpus = tally.cpu
    started.billing = tally.billing
    if state.preemption.gang:
        started.in_no_row = overlaps(started, state.running)
    state.running.put(started)
    state.usage.take(holding)
    return started
