"""What a job is counted with: by limits before it starts, and while it runs (spec: slurm 6.2)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

from shadowtime.engine.priority.factors import billing_of
from shadowtime.slurm.choose import Choice
from shadowtime.slurm.distribute import deal
from shadowtime.slurm.machine import Section, bits

if TYPE_CHECKING:
    from shadowtime.slurm.ask import Ask
    from shadowtime.slurm.job import Job
    from shadowtime.slurm.state import SlurmState

SAME_NAME = {"cpus": "cpu", "memory": "mem", "nodes": "node", "gpu": "gres/gpu"}
"""Slurm's names of resources that a site names differently."""


def by_slurms_name(amounts: Mapping[str, int]) -> dict[str, int]:
    """Amounts by Slurm's names of resources."""
    return {SAME_NAME.get(name, name): count for name, count in amounts.items()}


@dataclass(frozen=True, kw_only=True)
class Tally:
    """Resources of a job or of several."""

    cpu: int = 0
    node: int = 0
    gpu: int = 0
    mem: int = 0
    billing: float = 0.0

    def of(self, name: str) -> float:
        """The amount by Slurm's name of the resource."""
        return {
            "cpu": self.cpu,
            "node": self.node,
            "gres/gpu": self.gpu,
            "mem": self.mem,
            "billing": self.billing,
        }.get(name, 0)


def held_by(job: Job) -> Tally:
    """What a running job is counted with."""
    return Tally(
        cpu=job.cpus,
        node=job.nodes.bit_count(),
        gpu=sum(share.gpus.bit_count() for share in job.holding),
        mem=sum(share.memory for share in job.holding),
        billing=job.billing or job.cpus,
    )


def tally_of(state: SlurmState, job: Job, section: Section, choice: Choice) -> Tally:
    """What limits count a job with on these nodes: whole nodes where it is exclusive."""
    ask = job.ask.on(section)
    cpus = mem = 0
    if ask.exclusive and state.machine.alike and ask.memory is None:
        node = state.machine.nodes[0]
        count = choice.nodes.bit_count()
        cpus = -(-node.cpus // node.threads) * node.threads * count
        billing = billing_of({"cpus": cpus}, section.billing)
        return Tally(cpu=cpus, node=count, billing=billing)
    offered = choice.cpus
    places = sorted(offered)
    nodes = [state.machine.nodes[at] for at in places]
    if ask.exclusive:
        given = [node.cpus for node in nodes]
    else:
        told = state.parameters.rules.tasks_as_told
        cpus_of = [offered[at] for at in places]
        given = deal(ask, cpus_of, [node.threads for node in nodes], as_told=told)
    for node, count in zip(nodes, given, strict=True):
        got = state.machine.counted(node, count)
        cpus += got
        if ask.memory is not None:
            mem += ask.memory * got if ask.memory_per_cpu else (ask.memory or node.memory)
    gpus = ask.job_gpus or ask.gpus * len(places)
    held = {"cpus": cpus, "memory": mem * 1024, "gpu": gpus, "nodes": len(places)}
    billing = billing_of(held, section.billing)
    return Tally(cpu=cpus, node=len(places), gpu=gpus, mem=mem, billing=billing)


def tally_anywhere(state: SlurmState, job: Job, section: Section) -> Tally | None:
    """What limits count a job with on whichever nodes it gets; None where that depends on them.

    None as well where tests leave weights behind, so that each of them must be made.
    """
    if not state.machine.steady_weights(state.parameters.rules):
        return None
    return fixed_tally(state, job, section)


def fixed_tally(state: SlurmState, job: Job, section: Section) -> Tally | None:
    """What limits count a job with on whichever nodes it gets; None where that depends on them."""
    ask = job.ask.on(section)
    known = state.chooser.tallies.get((id(ask), section.name))
    if known is None:
        tally = (
            _counted_anywhere(state, job, section) if _same_anywhere(state, ask, section) else None
        )
        known = state.chooser.tallies[id(ask), section.name] = ask, tally
    return known[1]


def _same_anywhere(state: SlurmState, ask: Ask, section: Section) -> bool:
    """True where the nodes of a job make no difference to what it is counted with."""
    machine = state.machine
    if not state.chooser.shortcuts:
        return False
    bounded = state.accounts.bounded
    if "node" in bounded:
        return False  # a node that the group's jobs share counts once
    billed = section.billing if "billing" in bounded else {}
    memory_counts = "mem" in bounded or "memory" in billed
    if ask.exclusive or ask.cpus_per_gpu or ask.either or ask.required:
        return False
    if ask.memory == 0 and memory_counts:
        return False  # all that a node has
    if ask.max_nodes == 1:
        return machine.threads_alike
    if ask.gpus or not machine.one_thread or ask.cpus_per_task > 1:
        return False
    if ask.min_nodes == ask.max_nodes:
        return True
    per_node = ask.memory is not None and not ask.memory_per_cpu
    nodes_count = "nodes" in billed or (per_node and memory_counts)
    return not ask.tasks_per_node and not nodes_count


def tally_range(state: SlurmState, job: Job, section: Section) -> tuple[Tally, Tally] | None:
    """The least and the most that limits count a job with, on whichever nodes it gets."""
    fixed = fixed_tally(state, job, section)
    if fixed is not None:
        return fixed, fixed
    ask, machine = job.ask.on(section), state.machine
    count = ask.min_nodes
    if not ask.exclusive or ask.max_nodes != count or ask.either or ask.required:
        return None
    if not state.chooser.shortcuts or not state.accounts.bounded.isdisjoint(("mem", "billing")):
        return None
    nodes = (machine.nodes[at] for at in bits(section.nodes & ask.suits))
    cpus = sorted(machine.counted(node, node.cpus) for node in nodes)
    gpus = ask.job_gpus or ask.gpus * count
    least, most = (
        Tally(cpu=sum(some), node=count, gpu=gpus) for some in (cpus[:count], cpus[-count:])
    )
    return (least, most) if len(cpus) >= count else None


def _counted_anywhere(state: SlurmState, job: Job, section: Section) -> Tally | None:
    places = list(islice(bits(section.nodes & job.ask.suits), job.ask.min_nodes))
    if len(places) < job.ask.min_nodes:
        return None
    offer = dict.fromkeys(places, max(state.machine.most_cpus, job.ask.min_cpus))
    return tally_of(state, job, section, Choice(sum(1 << at for at in places), offer))
