"""What a started job holds: from scontrol's details, else from what must have been given."""

from __future__ import annotations

import functools
import operator
from collections.abc import Mapping
from typing import NamedTuple

from shadowtime.slurm.distribute import gpus_taken
from shadowtime.slurm.job import Job
from shadowtime.slurm.machine import Machine, bits
from shadowtime.slurm.recording.folder import NEAR, Recording
from shadowtime.slurm.state import SlurmState
from shadowtime.slurm.usage import Holding, Share, lowest


class Held(NamedTuple):
    """Cores, memory and GPUs node by node; ``sure`` False where some are guessed."""

    holding: Holding
    sure: bool


def cpus_of(machine: Machine, job: Job) -> int:
    """Cpus that a started job was given."""
    if job.ask.on(machine.sections[job.partition]).exclusive:
        return sum(machine.nodes[at].cpus for at in bits(job.nodes))
    if machine.counts_cpus:
        return max(job.ask.min_cpus, job.nodes.bit_count())
    return sum(share.cores.bit_count() * machine.nodes[share.node].threads for share in job.holding)


def held_by_start(recording: Recording, state: SlurmState, job: Job) -> Held:
    """From scontrol's details, else whole nodes, else what one node must have given."""
    machine, usage = state.machine, state.usage
    ask = job.ask.on(machine.sections[job.partition])
    pieces = None
    for late in (0, 1, -1):
        pieces = recording.pieces.get((job.id, job.start - recording.shift + late))
        if pieces:
            break
    places = list(bits(job.nodes))
    cpus_given = _row(recording, job).get("ncpus", "")
    by_node = {one.node: one for one in pieces or ()}
    if set(by_node) != set(machine.names(job.nodes)):
        by_node = {}
    shares = []
    cores_on = []
    sure = True
    for at in places:
        node = machine.nodes[at]
        piece = by_node.get(node.name)
        if ask.exclusive:
            cores = machine.full_cores[at]
        elif piece is not None:
            cores = 0
            for cpu in piece.cpus:
                cores |= 1 << (cpu // node.threads)
        elif len(places) == 1 and cpus_given.isdigit():
            cores = lowest(usage.cores[at], -(-int(cpus_given) // node.threads))
            # Above suspended jobs the lowest free cores need not be those it got.
            sure = sure and not node.near and not state.preemption.gang
        else:
            cores = lowest(usage.cores[at], 1)
            sure = False
        cores_on.append(cores)
    nodes = [machine.nodes[at] for at in places]
    free = [usage.gpus[at] for at in places]
    taken = gpus_taken(ask, nodes, free, cores_on, rules=state.parameters.rules)
    for at, node, cores, gpus in zip(places, nodes, cores_on, taken, strict=True):
        piece = by_node.get(node.name)
        if ask.gpus and not ask.exclusive:
            if piece is not None and piece.gpus is not None:
                gpus = functools.reduce(operator.or_, (1 << one for one in piece.gpus), 0)
            elif len(places) > 1 and ask.gpus_per == "job" and node.picks_gpus:
                sure = False  # it depends on the order in which the nodes were chosen
        memory = 0
        if ask.memory is not None:
            cpus = cores.bit_count() * node.threads
            if machine.counts_cpus and len(places) == 1 and cpus_given.isdigit():
                cpus = int(cpus_given)
            memory = ask.memory * cpus if ask.memory_per_cpu else (ask.memory or node.memory)
            if piece is not None and piece.memory:
                memory = piece.memory // 1024
        shares.append(Share(at, cores, memory, gpus, ask.pools_held(node, cores)))
    return Held(tuple(shares), sure)


def _row(recording: Recording, job: Job) -> Mapping[str, str]:
    """sacct's columns of this run of the job."""
    rows = recording.runs.get(job.id, [])
    for one in rows:
        begun = one.seconds("start")
        if begun is not None and abs(begun - job.start) <= NEAR:
            return one.columns
    return rows[-1].columns if rows else {}
