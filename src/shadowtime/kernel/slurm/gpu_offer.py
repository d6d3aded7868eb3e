"""What a node offers a job with GPUs in one try: cpus and GPUs that fit together (23.11 on)."""

from __future__ import annotations

from shadowtime.kernel.jit import kernel, routine
from shadowtime.kernel.slurm import desk as d
from shadowtime.kernel.slurm.desk import Desk
from shadowtime.kernel.slurm.offers import cores_in, gpus_in
from shadowtime.types import Ints


@kernel
def up(number: int, by: int) -> int:
    """A division rounded up."""
    return -(-number // by)


@kernel
def estimated_cpus(desk: Desk, ask: int) -> int:
    """Cpus that the first try keeps beside each GPU where tasks and GPUs divide; 0: none."""
    tasks, wanted = desk.ask[ask, d.TASKS], desk.ask[ask, d.JOB_GPUS]
    per_task = desk.ask[ask, d.TASK_CPUS]
    if tasks == 0 or wanted == 0:
        return 0
    if tasks % wanted == 0:
        return tasks // wanted * per_task
    each = wanted // tasks
    if wanted % tasks != 0 or per_task % each != 0:
        return 0
    return per_task // each


@routine
def count_sockets(
    desk: Desk, ask: int, at: int, cpus: int, anywhere: int, first: bool, each: int, bound: int
) -> tuple[int, int, int]:
    """GPUs that count socket by socket, most free cores first; the cpus and cores left then.

    The first try takes cores far from GPUs away. Sockets that contribute GPUs are marked.
    """
    socket, threads = desk.socket, desk.node[at, d.THREADS]
    sockets = desk.node[at, d.SOCKETS]
    per_node = desk.ask[ask, d.ASK_GPUS] if desk.ask[ask, d.GPUS_PER] == d.PER_NODE else 0
    least = up(max(desk.ask[ask, d.FEWEST], 1) * desk.ask[ask, d.TASK_CPUS], threads)
    counted = anywhere
    total = left = 0
    for one in range(sockets):
        total += socket[d.S_CORES, one]
        socket[d.S_SEEN, one] = socket[d.S_REQUIRED, one] = 0
    enough = False
    for _ in range(sockets):
        best = -1
        for one in range(sockets):
            if socket[d.S_SEEN, one] == 0 and (
                best < 0 or socket[d.S_CORES, one] > socket[d.S_CORES, best]
            ):
                best = one
        socket[d.S_SEEN, best] = 1
        on = socket[d.S_GPUS, best]
        if first and each > 0:
            on = min(on, socket[d.S_CORES, best] * threads // each)
        if anywhere + on == 0 and first:
            gone = max(0, min(socket[d.S_CORES, best], total - least))
            socket[d.S_CORES, best] -= gone
            total -= gone
            if gone > 0:
                cpus = min(cpus, total * threads)
        left += socket[d.S_CORES, best]
        if first and socket[d.S_CORES, best] == 0:
            continue
        counted += on
        if (not enough and on > 0) or anywhere > 0:
            socket[d.S_REQUIRED, best] = 1
        if (bound > 0 and counted >= bound) or (per_node > 0 and counted >= per_node):
            enough = True
    return counted, cpus, left


@routine
def gpu_offer(desk: Desk, state: Ints, ask: int, at: int, first: bool) -> int:
    """The cpus of a node with GPUs in this try; the GPUs that count and their cpus are noted.

    Rules
    -----
    GPUs count as far as there are cpus for them: --cpus-per-gpu, or in the first try an estimate.
    Sockets are taken with most free cores first until they have the GPUs; in the first try the
    cores of all others count no more. Then the tasks that GPUs and cores let run bound the cpus.
    """
    asks, spot, socket = desk.ask, desk.spot, desk.socket
    spot[at, d.COUNTED] = spot[at, d.LEAST] = 0
    cpus = spot[at, d.OFFER]
    gpus = state[at, d.FREE_GPUS]
    fewest = asks[ask, d.FEWEST]
    per_task_cpus = asks[ask, d.TASK_CPUS]
    most = cpus // per_task_cpus
    if most < fewest:
        return 0
    if desk.need[d.TASK_BOUND] >= 0:
        most = min(most, desk.need[d.TASK_BOUND])
    if most == 0:
        return 0
    per_node = asks[ask, d.ASK_GPUS] if asks[ask, d.GPUS_PER] == d.PER_NODE else 0
    per_task = asks[ask, d.ASK_GPUS] if asks[ask, d.GPUS_PER] == d.PER_TASK else 0
    job_gpus = asks[ask, d.JOB_GPUS]
    cpus_per_gpu = asks[ask, d.CPUS_PER_GPU]
    threads = desk.node[at, d.THREADS]
    sockets = desk.node[at, d.SOCKETS]
    here = 0
    for one in range(sockets):
        socket[d.S_CORES, one] = cores_in(desk, state, at, one)
        here += socket[d.S_CORES, one]
        socket[d.S_GPUS, one] = gpus_in(desk.near[at, one] & gpus)
    anywhere = 0 if desk.node[at, d.BOUND] != 0 else gpus_in(gpus)
    bound = per_node if per_node > 0 else job_gpus
    if cpus_per_gpu > 0:
        bound = min(bound, here * threads // cpus_per_gpu)
    if job_gpus > 0:
        left_for_it = job_gpus - desk.need[d.CARRIED]
        left_for_it = left_for_it - (max(asks[ask, d.MIN_NODES], 1) - 1) if left_for_it > 0 else 1
        if 0 < left_for_it < bound:
            bound = left_for_it
    if bound > 0 and per_node > bound:
        return 0
    each = cpus_per_gpu
    if each == 0 and first:
        each = estimated_cpus(desk, ask)
    counted, cpus, left = count_sockets(desk, ask, at, cpus, anywhere, first, each, bound)
    if each > 0:
        bound = min(cpus // each, bound) if bound > 0 else cpus // each
        counted = min(counted, bound)
    if bound > 0:
        counted = min(counted, bound)
    if per_node > 0:
        counted = min(per_node, counted)
    if counted == 0 or max(per_node, per_task) > counted:
        return 0
    if each > 0:
        with_gpus = each * counted
        if with_gpus < max(fewest * per_task_cpus, asks[ask, d.LEAST_CPUS]):
            most = fewest
        else:
            most = min(most, with_gpus // per_task_cpus)
    whole = desk.rule[d.WHOLE_GPU_TASKS] != 0
    if per_task > 0:
        most = min(most, counted // per_task)
        if whole:
            counted = min(most * per_task, counted)
    most = most // fewest * fewest
    if most == 0:
        return 0
    required = 0
    for one in range(sockets):
        required += socket[d.S_REQUIRED, one]
    if first:
        for one in range(sockets):
            if socket[d.S_REQUIRED, one] == 0 and socket[d.S_CORES, one] > 0:
                left -= socket[d.S_CORES, one]
                socket[d.S_CORES, one] = 0
                cpus = min(cpus, left * threads)
    need = up(most * per_task_cpus, threads)
    while most >= fewest and need > left:
        most -= 1
        need = up(most * per_task_cpus, threads)
        if per_task > 0 and whole:
            counted = min(counted, most * per_task)
    if each > 0:
        if per_node > 0:
            many = each * per_node
        elif per_task > 0:
            many = each * per_task * most
        else:
            many = each * max(counted, 1)
        most = min(many, most)
        need = max(need, up(many, threads))
    if need > left:
        return 0
    if not first:
        for one in range(sockets):
            if socket[d.S_REQUIRED, one] == 0 and left > need:
                gone = min(left - need, socket[d.S_CORES, one])
                socket[d.S_CORES, one] -= gone
                left -= gone
                cpus = min(cpus, left * threads)
    if required > 0 and left > need:
        cpus = min(cpus, need * threads)
    total = gpus_in(gpus)
    if each > 0:
        total = min(cpus // each, total)
        if max(per_node, per_task) > total:
            return 0
    if most == 0:
        return 0
    spot[at, d.COUNTED] = min(counted, total)
    if cpus_per_gpu > 0:
        spot[at, d.LEAST] = need * threads
        return cpus
    return min(cpus, most * per_task_cpus)
