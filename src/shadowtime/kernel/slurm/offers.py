"""What each node could give a job: cpus, GPUs and the cpus beside them (spec: slurm 4, 11)."""

from __future__ import annotations

import numpy as np

from shadowtime.kernel.jit import kernel, routine
from shadowtime.kernel.slurm import desk as d
from shadowtime.kernel.slurm.desk import Desk
from shadowtime.kernel.slurm.words import NONE, bits_in, has
from shadowtime.types import Ints


@kernel
def gpus_in(mask: int) -> int:
    """How many GPUs a mask holds."""
    return bits_in(np.uint64(mask))


@kernel
def cores_in(desk: Desk, state: Ints, at: int, socket: int) -> int:
    """Free cores of a socket; all of them where this test takes all cores for free."""
    if desk.need[d.ALL_FREE] != 0:
        return desk.full[at, d.FIRST_SOCKET + socket]
    return state[at, d.FIRST_SOCKET + socket]


@kernel
def cpus_in(desk: Desk, state: Ints, at: int) -> int:
    """Free cpus of a node, in the same way."""
    return desk.node[at, d.CPUS] if desk.need[d.ALL_FREE] != 0 else state[at, d.FREE]


@kernel
def left_of(desk: Desk, state: Ints, at: int, pool: int) -> int:
    """What a node has left of a pool; all of it where this test takes all cores for free."""
    column = state.shape[1] - desk.pool.shape[1] + pool
    return desk.full[at, column] if desk.need[d.ALL_FREE] != 0 else state[at, column]


@kernel
def is_usable(desk: Desk, state: Ints, ask: int, at: int) -> bool:
    """The node-level test: memory, GPUs, idle where whole nodes are asked for."""
    asks = desk.ask
    exclusive = asks[ask, d.EXCLUSIVE] != 0
    if (exclusive or asks[ask, d.IDLE_NODES] != 0) and state[at, d.IDLE] == 0:
        return False
    if asks[ask, d.ASK_MEMORY] >= 0:
        need = asks[ask, d.ASK_MEMORY]
        if asks[ask, d.PER_CPU] != 0:
            need *= max(asks[ask, d.NODE_TASKS], asks[ask, d.LEAST_CPUS], asks[ask, d.TASK_CPUS], 1)
        used = state[at, d.USED]
        if need != 0 and desk.node[at, d.MEMORY] - used < need:
            return False
        if need == 0 and used != 0:
            return False
    if asks[ask, d.ASK_GPUS] > 0 and gpus_in(state[at, d.FREE_GPUS]) < asks[ask, d.FLOOR_GPUS]:
        return False
    if asks[ask, d.ASK_GPUS] > 0 and has(desk.without_type, ask, at):
        return False
    return not (exclusive and gpus_in(state[at, d.FREE_GPUS]) != desk.node[at, d.GPUS])


@kernel
def reaches(desk: Desk, state: Ints, ask: int, at: int) -> bool:
    """A node has what it must have free to be of any use to the job."""
    asks = desk.ask
    if asks[ask, d.EXCLUSIVE] != 0:
        return state[at, d.IDLE] != 0
    if asks[ask, d.IDLE_NODES] != 0 and state[at, d.IDLE] == 0:
        return False
    if state[at, d.FREE] < asks[ask, d.FLOOR_CPUS]:
        return False
    memory = asks[ask, d.FLOOR_MEMORY]
    if memory == 0 and state[at, d.USED] != 0:
        return False
    if memory > 0 and desk.node[at, d.MEMORY] - state[at, d.USED] < memory:
        return False
    return gpus_in(state[at, d.FREE_GPUS]) >= asks[ask, d.FLOOR_GPUS]


@kernel
def could_do(desk: Desk, ask: int, count: int) -> bool:
    """False where no choice of ``count`` nodes serves an ask.

    Slurm's choice is greedy and may fail where another would do, or on more nodes and not on
    fewer. This test counts nodes and cpus alone, so that it never turns true when nodes or what is
    free on them are taken away.
    """
    least = desk.ask[ask, d.MIN_NODES]
    if count < least:
        return False
    most = min(count, max(desk.ask[ask, d.MAX_NODES], least))
    return most * desk.rule[d.MOST_CPUS] >= desk.ask[ask, d.MIN_CPUS]


@routine
def lacks_required(desk: Desk, ask: int) -> bool:
    """A required node is not among TRIED."""
    for word in range(desk.mask.shape[1]):
        if desk.required[ask, word] & ~desk.mask[d.TRIED, word] != NONE:
            return True
    return False


@routine
def cpus_offered(desk: Desk, state: Ints, ask: int, at: int) -> int:
    """Cpus that a node can give, from its free cpus; 0 where it cannot serve the job.

    Memory per cpu takes them away in steps: of a core, or of a cpu where cpus are counted.
    """
    asks = desk.ask
    for pool in range(desk.pool.shape[1]):
        if state[at, state.shape[1] - desk.pool.shape[1] + pool] < desk.pool[ask, pool]:
            return 0
    cpus = cpus_in(desk, state, at)
    each = asks[ask, d.TASK_CPUS]
    node_tasks = asks[ask, d.NODE_TASKS]
    exclusive = asks[ask, d.EXCLUSIVE] != 0
    if desk.rule[d.WHOLE_TASKS] != 0 and asks[ask, d.ASK_GPUS] == 0:
        tasks = cpus
        if node_tasks != 0 and not exclusive and asks[ask, d.UNBOUNDED] == 0:
            tasks = min(cpus, node_tasks)
        cpus = min(tasks * each, cpus - cpus % each)
    fewest = 1
    if node_tasks != 0 or asks[ask, d.ONE_NODE] != 0:
        fewest = asks[ask, d.FEWEST]
    if cpus < asks[ask, d.LEAST_CPUS] or cpus < fewest * each:
        return 0
    if asks[ask, d.CPU_POOL] >= 0:
        left = left_of(desk, state, at, asks[ask, d.CPU_POOL])
        if left <= 0 or (left == 1 and each > 1) or (exclusive and cpus_in(desk, state, at) > left):
            return 0
        cpus = min(cpus, left)
        if cpus < fewest * each:
            return 0
    memory = asks[ask, d.ASK_MEMORY]
    if memory >= 0 and asks[ask, d.PER_CPU] != 0:
        left = desk.node[at, d.MEMORY] - state[at, d.USED]
        if exclusive:
            if memory * cpus > left:
                return 0
        else:
            step = 1 if desk.rule[d.COUNTS_CPUS] != 0 else desk.node[at, d.THREADS]
            while cpus > 0 and memory * cpus > left:
                cpus -= step
            cpus = max(cpus, 0)
        if each > 1:
            cpus -= cpus % each
        if cpus < node_tasks:
            return 0
    return cpus


@routine
def near_gpus(desk: Desk, state: Ints, at: int) -> int:
    """Free GPUs on sockets that have a free core."""
    gpus = state[at, d.FREE_GPUS]
    if desk.node[at, d.BOUND] == 0:
        return gpus_in(gpus)
    found = 0
    for socket in range(desk.node[at, d.SOCKETS]):
        if cores_in(desk, state, at, socket) > 0:
            found += gpus_in(desk.near[at, socket] & gpus)
    return found


@routine
def cpus_near(desk: Desk, state: Ints, ask: int, at: int) -> int:
    """Cpus beside enough GPUs: sockets with both, most free cores first; 0 where there are too few.

    With --cpus-per-gpu and GPUs asked for the job, no more than those GPUs bring along.
    """
    asks, node = desk.ask, desk.node
    gpus = state[at, d.FREE_GPUS]
    threads = node[at, d.THREADS]
    if node[at, d.BOUND] == 0:
        cpus, have = cpus_in(desk, state, at), gpus_in(gpus)
    else:
        need = asks[ask, d.FLOOR_GPUS]
        if asks[ask, d.JOB_GPUS] > 0:
            need = min(asks[ask, d.JOB_GPUS], gpus_in(gpus))
        sockets = node[at, d.SOCKETS]
        for socket in range(sockets):
            desk.socket[d.S_SEEN, socket] = 0
        cores = have = 0
        while have < need:
            best = -1
            for socket in range(sockets):
                here = cores_in(desk, state, at, socket)
                if desk.socket[d.S_SEEN, socket] != 0 or here == 0:
                    continue
                if desk.near[at, socket] & gpus == 0:
                    continue
                if best < 0 or here > cores_in(desk, state, at, best):
                    best = socket
            if best < 0:
                break
            desk.socket[d.S_SEEN, best] = 1
            cores += cores_in(desk, state, at, best)
            have += gpus_in(desk.near[at, best] & gpus)
        if have < asks[ask, d.FLOOR_GPUS]:
            return 0
        cpus = cores * threads
    if asks[ask, d.CPUS_PER_GPU] > 0 and asks[ask, d.GPUS_PER] == d.PER_JOB:
        cpus = min(cpus, asks[ask, d.CPUS_PER_GPU] * have)
    return cpus


@routine
def offer_gpus(desk: Desk, state: Ints, weight: Ints, ask: int, at: int) -> bool:
    """Count a node's GPUs, and note in its weight how many are near; False: too few."""
    asks, spot = desk.ask, desk.spot
    free = cpus_in(desk, state, at)
    fewest = 1
    if asks[ask, d.NODE_TASKS] != 0 or asks[ask, d.ONE_NODE] != 0:
        fewest = asks[ask, d.FEWEST]
    if free < asks[ask, d.LEAST_CPUS] or free < fewest * asks[ask, d.TASK_CPUS]:
        return False
    have = gpus_in(state[at, d.FREE_GPUS])
    least = asks[ask, d.FLOOR_GPUS]
    if have < least:
        return False
    most = asks[ask, d.JOB_GPUS] if asks[ask, d.JOB_GPUS] > 0 else asks[ask, d.ASK_GPUS]
    if asks[ask, d.CPUS_PER_GPU] > 0:
        could = free // asks[ask, d.CPUS_PER_GPU]
        if could < least:
            return False
        have = min(have, could)
        most = min(most, could)
    close = min(near_gpus(desk, state, at), most)
    weight[at] = (weight[at] | 255) - close
    spot[at, d.COUNTED] = have
    spot[at, d.ALL_GPUS] = have
    spot[at, d.NEAR] = cpus_near(desk, state, ask, at)
    return True


@routine
def note_offers(desk: Desk, state: Ints, weight: Ints, ask: int) -> int:
    """Leave what the nodes HERE offer in ``spot``; how many of them still count.

    Memory and GPUs are those of ``state``; cores too, but where all of them count as free.
    """
    asks, spot, need = desk.ask, desk.spot, desk.need
    gpus = asks[ask, d.ASK_GPUS] > 0
    count = 0
    for place in range(need[d.LOW], need[d.HIGH] + 1):
        at = desk.tried[place]
        spot[at, d.OFFER] = spot[at, d.COUNTED] = spot[at, d.NEAR] = spot[at, d.ALL_GPUS] = 0
        spot[at, d.LEAST] = 0
        if spot[at, d.HERE] == 0:
            continue
        spot[at, d.HERE] = 0
        if cpus_in(desk, state, at) == 0:
            continue
        cpus = cpus_offered(desk, state, ask, at)
        if gpus and not offer_gpus(desk, state, weight, ask, at):
            continue
        if cpus > 0:
            spot[at, d.OFFER] = cpus
            spot[at, d.UNUSED] = cpus_in(desk, state, at)
            spot[at, d.HERE] = 1
            count += 1
    return count
