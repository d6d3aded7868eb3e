"""What a job takes on the nodes it starts on: tasks dealt out in turn, cores, memory, GPUs.

spec: slurm 4, 11.
"""

from __future__ import annotations

import numpy as np

from shadowtime.kernel.jit import kernel, routine
from shadowtime.kernel.slurm import board as b
from shadowtime.kernel.slurm import desk as d
from shadowtime.kernel.slurm.board import Board
from shadowtime.kernel.slurm.books import Books
from shadowtime.kernel.slurm.desk import Desk
from shadowtime.kernel.slurm.offers import gpus_in
from shadowtime.kernel.slurm.words import NONE, bits_in, drop, has, put
from shadowtime.types import AnyArray

# Columns of ``spot``, by node of the start.
NODE, OFFERED, GIVEN, DEALT, HELD, GPUS, COUNTED, FREE_GPUS = range(8)
"""Its place in the machine, cpus that it offers and gives, tasks dealt to it, cores that the job
takes, its GPUs as a mask, GPUs that counted when it was chosen, and free ones as a mask."""
# Rows of ``socket``.
LEFT, NEXT, NEAR = range(3)
"""Free cores of a socket, the first one that is not looked at, free GPUs beside it."""
FREE, TAKEN = range(2)
"""Rows of ``spare_core``."""


@kernel
def lowest(mask: int, count: int) -> int:
    """The lowest bits of a mask, this many."""
    taken = 0
    while count > 0 and mask != 0:
        low = mask & -mask
        taken |= low
        mask ^= low
        count -= 1
    return taken


@routine
def tasks_of(desk: Desk, ask: int, hosts: int) -> int:
    """How many tasks are dealt out, of --cpus-per-task each."""
    asks = desk.ask
    told, per_node, each = asks[ask, d.TOLD], asks[ask, d.NODE_TASKS], asks[ask, d.TASK_CPUS]
    as_told = desk.rule[d.AS_TOLD] != 0
    if as_told and per_node != 0 and -(-told // per_node) == hosts:
        return max(told, 1)
    least = each if as_told else asks[ask, d.LEAST_CPUS]
    cpus = max(hosts * max(1, per_node), asks[ask, d.MIN_CPUS], hosts * least)
    if asks[ask, d.CPUS_PER_GPU] != 0:
        gpus = asks[ask, d.JOB_GPUS]
        if gpus == 0:
            gpus = asks[ask, d.ASK_GPUS] * hosts
        cpus = max(cpus, asks[ask, d.CPUS_PER_GPU] * gpus)
    if each > 1:
        cpus = per_node * hosts if per_node != 0 else cpus // each
    return max(cpus, 1)


@kernel
def is_full(desk: Desk, books: Books, ask: int, one: int, by_gpus: bool) -> bool:
    """A node takes no more tasks."""
    spot, asks = books.spot, desk.ask
    if by_gpus and spot[one, DEALT] >= gpus_in(spot[one, FREE_GPUS]) // asks[ask, d.ASK_GPUS]:
        return True
    return asks[ask, d.NODE_TASKS] != 0 and spot[one, DEALT] >= asks[ask, d.NODE_TASKS]


@kernel
def give(books: Books, one: int, each: int) -> None:
    """One more task for a node."""
    spot = books.spot
    spot[one, DEALT] += 1
    spot[one, GIVEN] = min(spot[one, GIVEN] + each, spot[one, OFFERED])


@routine
def deal(desk: Desk, books: Books, ask: int, hosts: int, gpus_count: bool) -> None:
    """Cpus per node: one task each, then core by core in turn while whole tasks fit.

    Where tasks are left and no node has room for a whole one, nodes with any cpu left take a task
    and what they have. ``gpus_count``: free GPUs bound the tasks where GPUs are asked per task.
    """
    spot = books.spot
    each = max(1, desk.ask[ask, d.TASK_CPUS])
    left = tasks_of(desk, ask, hosts)
    if hosts == 1:  # what no whole task fits into is given in the end
        spot[0, GIVEN] = min(spot[0, OFFERED], left * each)
        return
    by_gpus = gpus_count and desk.ask[ask, d.GPUS_PER] == d.PER_TASK
    for one in range(hosts):
        spot[one, GIVEN] = spot[one, DEALT] = 0
    for one in range(hosts):
        if left > 0 and spot[one, OFFERED] != 0:
            give(books, one, each)
            left -= 1
    for one in range(hosts):
        threads = desk.node[spot[one, NODE], d.THREADS]
        for _ in range(spot[one, GIVEN] % threads // each):
            if left > 0 and spot[one, OFFERED] - spot[one, GIVEN] >= each:
                if not is_full(desk, books, ask, one, by_gpus):
                    give(books, one, each)
                    left -= 1
    moved = True
    while left > 0 and moved:
        moved = False
        for one in range(hosts):
            threads = desk.node[spot[one, NODE], d.THREADS]
            for _ in range(max(1, threads // each)):
                if left <= 0 or spot[one, OFFERED] - spot[one, GIVEN] < each:
                    break
                if is_full(desk, books, ask, one, by_gpus):
                    break
                give(books, one, each)
                left -= 1
                moved = True
    moved = True
    while left > 0 and moved:
        moved = False
        for one in range(hosts):
            if left > 0 and spot[one, GIVEN] < spot[one, OFFERED]:
                give(books, one, each)
                left -= 1
                moved = True


@kernel
def cores_in(core: AnyArray, row: int) -> int:
    """How many cores a row has."""
    found = 0
    for word in range(core.shape[1]):
        found += bits_in(core[row, word])
    return found


@kernel
def in_socket(core: AnyArray, row: int, first: int, each: int) -> int:
    """How many cores of a socket a row has."""
    found = 0
    for one in range(first, first + each):
        if has(core, row, one):
            found += 1
    return found


@routine
def take_cores(desk: Desk, books: Books, ask: int, at: int, cpus: int) -> None:
    """Leave in TAKEN the cores of FREE that hold these cpus: from socket to socket in turn.

    With several cpus per task, tasks that fit one socket whole are packed there first.
    """
    core, socket = books.spare_core, books.socket
    threads, sockets = desk.node[at, d.THREADS], desk.node[at, d.SOCKETS]
    each, per_task = desk.node[at, d.CORES] // sockets, desk.ask[ask, d.TASK_CPUS]
    for word in range(core.shape[1]):
        core[TAKEN, word] = NONE
    for one in range(sockets):
        socket[LEFT, one] = in_socket(core, FREE, one * each, each)
        socket[NEXT, one] = one * each
    if per_task > 1:
        for one in range(sockets):
            room = socket[LEFT, one] * threads
            room -= room % per_task
            while socket[LEFT, one] > 0 and room > 0 and cpus > 0:
                take_next(books, one)
                room = 0 if room < threads else room - threads
                cpus = 0 if cpus < threads else cpus - threads
    left = -(-cpus // threads)
    while left > 0:
        before = left
        for one in range(sockets):  # a core of each in turn
            if left > 0 and socket[LEFT, one] > 0:
                take_next(books, one)
                left -= 1
        if left == before:
            return


@kernel
def take_next(books: Books, socket: int) -> None:
    """The lowest free core of a socket is taken."""
    core = books.spare_core
    at = books.socket[NEXT, socket]
    while not has(core, FREE, at):
        at += 1
    put(core, TAKEN, at)
    books.socket[NEXT, socket] = at + 1
    books.socket[LEFT, socket] -= 1


@routine
def keep_beside(desk: Desk, books: Books, ask: int, at: int, gpus: int, cpus: int) -> None:
    """Leave in FREE only cores beside enough GPUs, if these hold the cpus.

    Sockets with both, most free cores first.
    """
    core, socket, asks = books.spare_core, books.socket, desk.ask
    sockets = desk.node[at, d.SOCKETS]
    each = desk.node[at, d.CORES] // sockets
    need = asks[ask, d.FLOOR_GPUS]
    if asks[ask, d.JOB_GPUS] > 0:
        need = min(asks[ask, d.JOB_GPUS], gpus_in(gpus))
    for one in range(sockets):
        socket[LEFT, one] = in_socket(core, FREE, one * each, each)
        socket[NEAR, one] = gpus_in(desk.near[at, one] & gpus)
        socket[NEXT, one] = 0
    have = cores = 0
    while have < need:
        best = -1
        for one in range(sockets):
            if socket[NEXT, one] == 0 and socket[LEFT, one] > 0 and socket[NEAR, one] > 0:
                if best < 0 or socket[LEFT, one] > socket[LEFT, best]:
                    best = one
        if best < 0:
            break
        socket[NEXT, best] = 1
        have += socket[NEAR, best]
        cores += socket[LEFT, best]
    if have < asks[ask, d.FLOOR_GPUS] or cores * desk.node[at, d.THREADS] < cpus:
        return
    for one in range(sockets):
        if socket[NEXT, one] == 0:
            for place in range(one * each, (one + 1) * each):
                drop(core, FREE, place)


@routine
def near(desk: Desk, books: Books, at: int, row: int, free: int) -> int:
    """Leave in NEAR the free GPUs beside each socket on which the job has cores; all of them."""
    sockets = desk.node[at, d.SOCKETS]
    each = desk.node[at, d.CORES] // sockets
    found = 0
    for one in range(sockets):
        on = desk.near[at, one] & free
        if in_socket(books.core, row, one * each, each) == 0:
            on = 0
        books.socket[NEAR, one] = on
        found |= on
    return found


@routine
def socket_by_socket(desk: Desk, books: Books, one: int, row: int, count: int) -> int:
    """GPUs from each socket in turn, then the lowest of all others."""
    at, free = books.spot[one, NODE], books.spot[one, FREE_GPUS]
    taken = 0
    if desk.node[at, d.BOUND] != 0:
        left = near(desk, books, at, row, free)
        while count > gpus_in(taken) and left != 0:
            for socket in range(desk.node[at, d.SOCKETS]):
                on = books.socket[NEAR, socket]
                if on != 0 and count > gpus_in(taken):
                    low = on & -on
                    taken |= low
                    left &= ~low
                    books.socket[NEAR, socket] = on ^ low
    return taken | lowest(free & ~taken, count - gpus_in(taken))


@routine
def take_gpus_of_job(desk: Desk, books: Books, ask: int, hosts: int, first: int) -> None:
    """GPUs asked per job: from the first node on, one left for each other.

    Nodes with cores beside their GPUs give those alone, and the nodes give others afterwards, in
    the same order, until there are enough.
    """
    spot, as_counted = books.spot, desk.rule[d.AS_COUNTED] != 0
    per_gpu = desk.ask[ask, d.CPUS_PER_GPU]
    left = desk.ask[ask, d.JOB_GPUS]
    for one in range(hosts):
        at, free, own = spot[one, NODE], spot[one, FREE_GPUS], spot[one, HELD]
        most = left - (hosts - one - 1)
        if desk.node[at, d.PICKS] != 0:
            if as_counted:
                most = min(most, spot[one, COUNTED])
            if per_gpu != 0:
                most = min(most, own * desk.node[at, d.THREADS] // per_gpu)
            most = max(most, 1 if as_counted else 0)
        found = lowest(free, most)
        if desk.node[at, d.BOUND] != 0:
            found = 0
            beside = near(desk, books, at, first + one, free)
            if as_counted:
                share = np.float32(most) / np.float32(own)
                each = desk.node[at, d.CORES] // desk.node[at, d.SOCKETS]
                for socket in range(desk.node[at, d.SOCKETS]):
                    here = in_socket(books.core, first + one, socket * each, each)
                    some = int(np.float32(here) * share)
                    some = min(some, most - gpus_in(found))
                    found |= lowest(books.socket[NEAR, socket], some)
            found |= lowest(beside & ~found, most - gpus_in(found))
            if found == 0:
                found = lowest(free, 1)
        spot[one, GPUS] = found
        left -= gpus_in(found)
    for one in range(hosts):
        more = lowest(spot[one, FREE_GPUS] & ~spot[one, GPUS], left)
        spot[one, GPUS] |= more
        left -= gpus_in(more)


@routine
def take_gpus(desk: Desk, books: Books, ask: int, hosts: int, first: int) -> None:
    """Which GPUs a job takes on each of its nodes, as masks: those beside its cores first."""
    spot, asks = books.spot, desk.ask
    exclusive, gpus = asks[ask, d.EXCLUSIVE] != 0, asks[ask, d.ASK_GPUS]
    if gpus == 0 or exclusive:
        for one in range(hosts):
            count = desk.node[spot[one, NODE], d.GPUS]
            spot[one, GPUS] = (1 << count) - 1 if exclusive else 0
        return
    if asks[ask, d.GPUS_PER] == d.PER_JOB:
        take_gpus_of_job(desk, books, ask, hosts, first)
        return
    per_task = asks[ask, d.GPUS_PER] == d.PER_TASK
    each = gpus if per_task and desk.rule[d.WHOLE_GPU_TASKS] != 0 else 1
    left = asks[ask, d.JOB_GPUS]
    for one in range(hosts):
        count = gpus
        if per_task:
            others = (hosts - one - 1) * each
            count = max(0, min(gpus_in(spot[one, FREE_GPUS]) // each * each, left - others))
            left -= count
        spot[one, GPUS] = socket_by_socket(desk, books, one, first + one, count)


@routine
def hold(board: Board, desk: Desk, books: Books, ask: int, hosts: int) -> None:
    """Write what a job takes on its nodes, which are in ``spot``, to the next rows of ``share``."""
    spot, share, asks = books.spot, board.share, desk.ask
    first = books.reg["shares"][0]
    exclusive = asks[ask, d.EXCLUSIVE] != 0
    gpus = asks[ask, d.ASK_GPUS]
    if not exclusive:
        deal(desk, books, ask, hosts, True)
    for one in range(hosts):
        at = spot[one, NODE]
        core = books.spare_core
        if exclusive:
            for word in range(core.shape[1]):
                books.core[first + one, word] = NONE
            for place in range(desk.node[at, d.CORES]):
                put(books.core, first + one, place)
            spot[one, HELD] = desk.node[at, d.CORES]
            continue
        for word in range(core.shape[1]):
            core[FREE, word] = books.free_core[at, word]
        if gpus > 0 and desk.node[at, d.BOUND] != 0:
            keep_beside(desk, books, ask, at, spot[one, FREE_GPUS], spot[one, GIVEN])
        take_cores(desk, books, ask, at, spot[one, GIVEN])
        for word in range(core.shape[1]):
            books.core[first + one, word] = core[TAKEN, word]
        spot[one, HELD] = cores_in(core, TAKEN)
    take_gpus(desk, books, ask, hosts, first)
    memory = asks[ask, d.ASK_MEMORY]
    for one in range(hosts):
        at, row = spot[one, NODE], first + one
        cpus = spot[one, HELD] * desk.node[at, d.THREADS]
        held = 0
        if memory > 0:
            counted = cpus
            if desk.rule[d.COUNTS_CPUS] != 0:
                counted = desk.node[at, d.CPUS] if exclusive else spot[one, GIVEN]
            held = memory * counted if asks[ask, d.PER_CPU] != 0 else memory
        elif memory == 0 and asks[ask, d.PER_CPU] == 0:
            held = desk.node[at, d.MEMORY]
        share[row, d.FREE], share[row, d.USED] = cpus, held
        share[row, d.FREE_GPUS], share[row, b.SHARE_NODE] = spot[one, GPUS], at
        for column in range(d.FIRST_SOCKET, share.shape[1]):
            share[row, column] = 0
        if board.mark[b.GPUS] != 0:
            each = desk.node[at, d.CORES] // desk.node[at, d.SOCKETS]
            for socket in range(desk.node[at, d.SOCKETS]):
                here = in_socket(books.core, row, socket * each, each)
                share[row, d.FIRST_SOCKET + socket] = here
    for one in range(hosts):  # the state changes only now: what is free was asked for above
        take(board, desk, books, first + one, 1)
    books.reg["shares"][0] += hosts


@kernel
def take(board: Board, desk: Desk, books: Books, row: int, sign: int) -> None:
    """A share is taken (1) or given back (-1)."""
    share, state = board.share, board.now
    at = share[row, b.SHARE_NODE]
    for word in range(books.free_core.shape[1]):
        if sign > 0:
            books.free_core[at, word] &= ~books.core[row, word]
        else:
            books.free_core[at, word] |= books.core[row, word]
    cpus = share[row, d.FREE]
    state[at, d.FREE] -= sign * cpus
    state[at, d.USED] += sign * share[row, d.USED]
    if sign > 0:
        state[at, d.FREE_GPUS] &= ~share[row, d.FREE_GPUS]
    else:
        state[at, d.FREE_GPUS] |= share[row, d.FREE_GPUS]
    for column in range(d.FIRST_SOCKET, share.shape[1]):
        state[at, column] -= sign * share[row, column]
    idle = sign < 0 and state[at, d.FREE] == desk.node[at, d.CPUS]
    state[at, d.IDLE] = 1 if idle else 0
    if idle:
        put(board.mask, b.IDLE, at)
    else:
        drop(board.mask, b.IDLE, at)
    board.mark[b.FREE_CPUS] -= sign * cpus


@routine
def tally(board: Board, desk: Desk, books: Books, ask: int, hosts: int) -> tuple[int, int, int]:
    """Cpus, MB and GPUs that limits and charges count a job with on the nodes in ``spot``."""
    spot, asks = books.spot, desk.ask
    exclusive, per_task = asks[ask, d.EXCLUSIVE] != 0, asks[ask, d.GPUS_PER] == d.PER_TASK
    if not exclusive and per_task:
        deal(desk, books, ask, hosts, False)
    cpus = memory = 0
    each = asks[ask, d.ASK_MEMORY]
    for one in range(hosts):
        at = spot[one, NODE]
        threads = desk.node[at, d.THREADS]
        got = desk.node[at, d.CPUS] if exclusive else spot[one, GIVEN]
        if desk.rule[d.COUNTS_CPUS] == 0:
            got = -(-got // threads) * threads
        cpus += got
        if each >= 0 and asks[ask, d.PER_CPU] != 0:
            memory += each * got
        elif each >= 0:
            memory += each if each > 0 else desk.node[at, d.MEMORY]
    gpus = asks[ask, d.JOB_GPUS]
    if gpus == 0:
        gpus = asks[ask, d.ASK_GPUS] * hosts
    return cpus, memory, gpus
