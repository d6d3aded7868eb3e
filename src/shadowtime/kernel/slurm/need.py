"""What a job still needs while nodes are added, and what each of them gives."""

from __future__ import annotations

from shadowtime.kernel.jit import kernel, routine
from shadowtime.kernel.slurm import desk as d
from shadowtime.kernel.slurm.desk import Desk
from shadowtime.kernel.slurm.gpu_offer import gpu_offer
from shadowtime.kernel.slurm.words import has
from shadowtime.types import Ints


@kernel
def wanted_cpus(desk: Desk, ask: int) -> int:
    """Cpus wanted in all."""
    asks = desk.ask
    if asks[ask, d.CPUS_PER_GPU] > 0:
        gpus = asks[ask, d.JOB_GPUS]
        if gpus == 0:
            gpus = asks[ask, d.ASK_GPUS] * asks[ask, d.MIN_NODES]
        return max(asks[ask, d.MIN_CPUS], asks[ask, d.CPUS_PER_GPU] * gpus)
    return asks[ask, d.MIN_CPUS]


@routine
def begin_need(desk: Desk, ask: int, by_tasks: bool) -> None:
    """What a try begins with; ``by_tasks``: no more nodes than tasks."""
    asks, need = desk.ask, desk.need
    need[d.N_CPUS] = need[d.N_BOUND] = wanted_cpus(desk, ask)
    need[d.N_DUE] = asks[ask, d.MIN_NODES]
    need[d.N_MOST] = asks[ask, d.MAX_NODES]
    if by_tasks and asks[ask, d.TASKS] > 0:
        need[d.N_MOST] = min(asks[ask, d.MAX_NODES], asks[ask, d.TASKS])
    elif need[d.AGAIN] != 0 and desk.rule[d.TASK_A_NODE_ONCE] != 0:
        top = max(asks[ask, d.MAX_NODES], wanted_cpus(desk, ask) // asks[ask, d.TASK_CPUS])
        fixed = asks[ask, d.FIXED] if asks[ask, d.FIXED] > 0 else top
        need[d.N_MOST] = max(min(fixed, top), asks[ask, d.MIN_NODES])
    need[d.N_GPUS] = asks[ask, d.JOB_GPUS] - need[d.CARRIED]
    if asks[ask, d.JOB_GPUS] > 0:
        need[d.N_NODES] = min(asks[ask, d.MIN_NODES], asks[ask, d.WANTED])
    else:
        need[d.N_NODES] = max(asks[ask, d.MIN_NODES], asks[ask, d.WANTED])
    for place in range(need[d.LOW], need[d.HIGH] + 1):
        at = desk.tried[place]
        desk.spot[at, d.TAKEN] = 0


@kernel
def is_met(need: Ints) -> bool:
    """Nodes, cpus and GPUs all reached."""
    return need[d.N_NODES] <= 0 and need[d.N_CPUS] <= 0 and need[d.N_GPUS] <= 0


@kernel
def is_due(need: Ints) -> bool:
    """The least number of nodes, or cpus or GPUs, are not reached."""
    return need[d.N_CPUS] > 0 or need[d.N_DUE] > 0 or need[d.N_GPUS] > 0


@kernel
def enough(desk: Desk, ask: int, have: int, nodes: int) -> bool:
    """Whether this many nodes suffice, as a range accepts fewer than it aims at."""
    least, wanted = desk.ask[ask, d.MIN_NODES], desk.ask[ask, d.WANTED]
    if wanted > least:
        return have >= nodes + least - wanted
    return have >= nodes


@routine
def cores_for(desk: Desk, state: Ints, ask: int, at: int, first: bool) -> int:
    """Cpus of a node that this try may use."""
    asks, spot = desk.ask, desk.spot
    cpus = spot[at, d.OFFER]
    each = asks[ask, d.TASK_CPUS]
    if asks[ask, d.ASK_GPUS] > 0:
        exclusive = asks[ask, d.EXCLUSIVE] != 0
        if desk.rule[d.CPUS_BESIDE_GPUS] != 0 and not exclusive:
            return gpu_offer(desk, state, ask, at, first)
        if first:
            cpus = min(cpus, spot[at, d.NEAR])
        if not exclusive:
            most = desk.need[d.TASK_BOUND]
            if asks[ask, d.GPUS_PER] == d.PER_TASK:
                here = spot[at, d.COUNTED] // asks[ask, d.ASK_GPUS]
                most = here if most < 0 else min(most, here)
            per_gpu = asks[ask, d.CPUS_PER_GPU]
            if most >= 0:
                count = asks[ask, d.JOB_GPUS]
                if count == 0:
                    count = asks[ask, d.ASK_GPUS]
                cpus = min(cpus, max(most * each, per_gpu * min(count, spot[at, d.COUNTED])))
            elif per_gpu > 0:
                cpus = min(cpus, per_gpu * spot[at, d.COUNTED])
            if cpus < asks[ask, d.LEAST_CPUS]:
                return 0
    if each > 1 and cpus < each:
        return 0
    return cpus


@routine
def take(desk: Desk, ask: int, at: int, cpus: int, due: int) -> int:
    """Take a node: all of these cpus, or what is still wanted less one core per node due.

    Returns the cpus taken.
    """
    asks, spot, need = desk.ask, desk.spot, desk.need
    if asks[ask, d.EXCLUSIVE] == 0:
        room = need[d.N_BOUND] - max(due - 1, 0) * desk.node[at, d.THREADS]
        if cpus > room:
            least = spot[at, d.LEAST]
            if least == 0 and asks[ask, d.GPUS_PER] != d.PER_JOB:
                least = asks[ask, d.CPUS_PER_GPU] * asks[ask, d.ASK_GPUS]
            cpus = max(room, asks[ask, d.LEAST_CPUS], least)
            spot[at, d.OFFER] = cpus
            need[d.CLIPPED] = 1
    spot[at, d.GIVEN] = cpus
    return cpus


@kernel
def gpus_added(counted: int, wanted: int) -> int:
    """Of the GPUs that count on a node those that are still wanted, but one at least."""
    return max(min(counted, wanted) if wanted > 0 else counted, 1)


@kernel
def add(desk: Desk, at: int, cpus: int) -> None:
    """The node is taken with these cpus."""
    need, spot = desk.need, desk.spot
    need[d.N_CPUS] -= cpus
    need[d.N_BOUND] -= cpus
    need[d.N_NODES] -= 1
    need[d.N_DUE] -= 1
    need[d.N_MOST] -= 1
    spot[at, d.ADDED_GPUS] = gpus_added(spot[at, d.COUNTED], need[d.N_GPUS])
    need[d.N_GPUS] -= spot[at, d.COUNTED]
    spot[at, d.TAKEN] = 1


UNDECIDED, SUFFICES, FAILS = range(3)


@routine
def take_required(desk: Desk, state: Ints, ask: int, first: bool) -> int:
    """Take the required nodes first: whether they suffice."""
    need = desk.need
    taken = False
    for place in range(need[d.LOW], need[d.HIGH] + 1):
        at = desk.tried[place]
        if not has(desk.required, ask, at):
            continue
        if need[d.N_MOST] <= 0:
            break
        cpus = take(desk, ask, at, cores_for(desk, state, ask, at, first), need[d.N_DUE])
        if cpus == 0:
            return FAILS
        add(desk, at, cpus)
        taken = True
    if not taken:
        return UNDECIDED
    if is_met(need):
        return SUFFICES
    return UNDECIDED if need[d.N_MOST] > 0 else FAILS


@kernel
def next_weight(desk: Desk, weight: Ints, after: int) -> int:
    """The lowest weight above one among the nodes HERE; -1: none."""
    found = -1
    for place in range(desk.need[d.LOW], desk.need[d.HIGH] + 1):
        at = desk.tried[place]
        if desk.spot[at, d.HERE] != 0 and weight[at] > after and (found < 0 or weight[at] < found):
            found = weight[at]
    return found
