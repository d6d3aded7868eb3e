"""What operators and failing nodes do, in a recording: kills, limits, holds, drains, windows."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from shadowtime.slurm.job import Job
from shadowtime.slurm.recording.options import NO_LIMIT
from shadowtime.slurm.state import Window
from shadowtime.slurmtext.hostlist import expand
from shadowtime.slurmtext.job_id import tasks_of
from shadowtime.slurmtext.log import Event, job_number, stamp

if TYPE_CHECKING:
    from shadowtime.slurm.recording.replayer import Replayer

MOST_MINUTES = 10**8
"""Slurm writes INFINITE as a number beyond this."""


def named_tasks(label: str) -> tuple[int, ...]:
    """The tasks of an array that a label names; none: all of it, or no array.

    Examples
    --------
    >>> [named_tasks(label) for label in ("12", "5_*", "5_2(7)", "5_[2-4,8]")]
    [(), (), (2,), (2, 3, 4, 8)]
    """
    match = re.match(r"\d+_(?:(\d+)|\[([^\]%]*)[^\]]*\])", label)
    if match is None:
        return ()
    return (int(match[1]),) if match[1] else tuple(tasks_of(match[2]))


def _kill(world: Replayer, event: Event) -> None:
    """A job, a whole array, or some of its tasks: those that wait and those that run."""
    label = event.fields[0]
    raw, array, _ = job_number(label)
    tasks = named_tasks(label)
    rest = world.pending.get(array or raw)
    if tasks:
        if rest is not None and rest.tasks:
            left = [one for one in rest.tasks if one not in tasks]
            if left:
                rest.tasks = left
            else:
                world.cancel(array, event.time)
        wanted = {one for one, task in world.task_of.items() if task in tasks}
    else:
        if rest is not None:
            world.cancel(array or raw, event.time)
        wanted = {raw, *world.task_of}
    for job in (*world.running.values(), *world.pending.values()):
        mine = job.id == raw if not (array or job.array) else job.array == (array or raw)
        if not mine or job.id not in wanted or job.tasks:
            continue
        if job.id in world.running:
            world.end(job.id, event.time, good=False)
        else:
            world.cancel(job.id, event.time)


def _jobs(world: Replayer, label: str) -> list[Job]:
    """The records, waiting or running, that a label names."""
    raw, _, _ = job_number(label)
    found = world.pending.get(world.record_of(label)), world.running.get(raw)
    return [one for one in found if one is not None]


def _limit(world: Replayer, event: Event) -> None:
    minutes, label = event.fields
    _set_limit(world, label, int(minutes))


def _limit_cut(world: Replayer, event: Event) -> None:
    """By backfill, of a job with --time-min that it has just started."""
    label, minutes = event.fields
    _set_limit(world, label, int(minutes))


def _set_limit(world: Replayer, label: str, minutes: int) -> None:
    for job in _jobs(world, label):
        job.limit = minutes * 60 if minutes < MOST_MINUTES else NO_LIMIT
        world.limits[job.id] = job.limit


def _throttle(world: Replayer, event: Event) -> None:
    raw, array, _ = job_number(event.fields[1])
    job = world.pending.get(array or raw)
    if job is not None:
        job.throttle = int(event.fields[0])


def _set_priority(world: Replayer, event: Event) -> None:
    job = world.pending.get(world.record_of(event.fields[1]))
    if job is not None:
        job.priority = int(event.fields[0])
        job.held = job.priority == 0


def _hold(world: Replayer, event: Event) -> None:
    job = world.pending.get(world.record_of(event.fields[0]))
    if job is not None:
        job.held = True


def _release(world: Replayer, event: Event) -> None:
    job = world.pending.get(world.record_of(event.fields[0]))
    if job is not None:
        job.held = False
        world.lowest -= 1
        job.priority = world.lowest


def _suspend(world: Replayer, event: Event) -> None:
    """Suspended by an operator: what it holds then is not modelled, so passes are left out."""
    job = world.running.get(job_number(event.fields[1])[0])
    if job is None or world.state.preemption.gang:
        return
    if event.fields[0] == "suspend":
        job.suspend(int(event.time))
        world.unknown.add(job.id)
    else:
        job.resume(int(event.time))
        world.unknown.discard(job.id)


def _node(world: Replayer, event: Event) -> None:
    name, word = event.fields
    if word.upper().startswith(("DRAIN", "DOWN", "FAIL")):
        world.state.up &= ~world.state.machine.mask(expand(name))
    elif event.line not in world.registers:
        world.state.up |= world.state.machine.mask(expand(name))
    world.changes = event.time


def _lost(world: Replayer, event: Event) -> None:
    world.state.up &= ~world.state.machine.mask(expand(event.fields[0]))
    world.changes = event.time


def _responding(world: Replayer, event: Event) -> None:
    """A resumed node is of use once it has registered again."""
    world.state.up |= world.state.machine.mask(expand(event.fields[0]))


def _killed(world: Replayer, event: Event) -> None:
    """A preempted job that could be neither requeued nor warned."""
    world.end(job_number(event.fields[0])[0], event.time, good=False)


def _reserve(world: Replayer, event: Event) -> None:
    name, _, nodes, begin, end = event.fields
    shift = world.recording.shift
    others = tuple(one for one in world.state.windows if one.name != name)
    window = Window(
        name=name,
        nodes=world.state.machine.mask(expand(nodes)),
        begin=stamp(begin) + shift,
        end=stamp(end) + shift,
    )
    world.state.windows = (*others, window)
    world.changes = event.time


ACTS: Mapping[str, Callable[[Replayer, Event], None]] = {
    "kill": _kill,
    "killed": _killed,
    "limit": _limit,
    "limit cut": _limit_cut,
    "throttle": _throttle,
    "set priority": _set_priority,
    "hold": _hold,
    "release": _release,
    "suspend": _suspend,
    "node": _node,
    "lost": _lost,
    "responding": _responding,
    "reserve": _reserve,
}
"""By the kind of a log's line."""
