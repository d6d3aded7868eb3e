"""A job starts, a job ends: what changes in the tables of a run."""

from __future__ import annotations

from shadowtime.kernel.jit import kernel, routine
from shadowtime.kernel.slurm import board as b
from shadowtime.kernel.slurm import books as k
from shadowtime.kernel.slurm import desk as d
from shadowtime.kernel.slurm import holding as h
from shadowtime.kernel.slurm.board import Board
from shadowtime.kernel.slurm.books import Books
from shadowtime.kernel.slurm.desk import Desk
from shadowtime.kernel.slurm.offers import gpus_in
from shadowtime.kernel.slurm.words import NONE, ONE
from shadowtime.types import Rows


@kernel
def sooner(event: Rows, one: int, other: int) -> bool:
    """An event takes effect before another: by time, rank and number."""
    if event["time"][one] != event["time"][other]:
        return event["time"][one] < event["time"][other]
    mine, theirs = min(event["rank"][one], k.ANSWER), min(event["rank"][other], k.ANSWER)
    if mine != theirs:
        return mine < theirs
    return event["number"][one] < event["number"][other]


@kernel
def swap(event: Rows, one: int, other: int) -> None:
    """Exchange two places of the heap."""
    time, rank = event["time"][one], event["rank"][one]
    number, what = event["number"][one], event["what"][one]
    event["time"][one], event["rank"][one] = event["time"][other], event["rank"][other]
    event["number"][one], event["what"][one] = event["number"][other], event["what"][other]
    event["time"][other], event["rank"][other] = time, rank
    event["number"][other], event["what"][other] = number, what


@routine
def schedule(books: Books, time: float, rank: int, number: int, what: int) -> None:
    """Something will happen."""
    event, at = books.event, books.reg["events"][0]
    event["time"][at], event["rank"][at] = time, rank
    event["number"][at], event["what"][at] = number, what
    books.reg["events"][0] += 1
    while at > 0 and sooner(event, at, (at - 1) // 2):
        swap(event, at, (at - 1) // 2)
        at = (at - 1) // 2


@routine
def forget_first(books: Books) -> None:
    """The first event has happened."""
    event = books.event
    books.reg["events"][0] -= 1
    count = books.reg["events"][0]
    swap(event, 0, count)
    at = 0
    while True:
        best = at
        for child in (2 * at + 1, 2 * at + 2):
            if child < count and sooner(event, child, best):
                best = child
        if best == at:
            return
        swap(event, at, best)
        at = best


@kernel
def next_number(books: Books) -> int:
    """The number of an event: the next one."""
    books.reg["number"][0] += 1
    return books.reg["number"][0]


@kernel
def later(runner: Rows, one: int, other: int) -> bool:
    """A running job ends later by its limit, or its record is behind."""
    if runner["ends_by"][one] != runner["ends_by"][other]:
        return runner["ends_by"][one] > runner["ends_by"][other]
    return runner["record"][one] > runner["record"][other]


@routine
def list_place(books: Books, place: int) -> int:
    """Put a running job into both orders; its place in that of the ends."""
    runner, by_record, by_end = books.runner, books.by_record, books.by_end
    count = books.reg["running"][0]
    at = count
    while at > 0 and runner["record"][by_record[at - 1]] > runner["record"][place]:
        by_record[at] = by_record[at - 1]
        at -= 1
    by_record[at] = place
    at = count
    while at > 0 and later(runner, by_end[at - 1], place):
        by_end[at] = by_end[at - 1]
        at -= 1
    by_end[at] = place
    books.reg["running"][0] += 1
    return at


@routine
def unlist_place(books: Books, place: int) -> None:
    """Take a running job out of both orders."""
    books.reg["running"][0] -= 1
    count = books.reg["running"][0]
    ended = recorded = 0
    for at in range(count + 1):
        if books.by_end[at] != place:
            books.by_end[ended] = books.by_end[at]
            ended += 1
        if books.by_record[at] != place:
            books.by_record[recorded] = books.by_record[at]
            recorded += 1


@routine
def count_in(board: Board, books: Books, place: int, sign: int) -> None:
    """What a running job holds counts in its groups (1), or no more (-1)."""
    runner, sums = books.runner, board.sums
    who = runner["who"][place]
    for at in range(books.first_group[who], books.first_group[who + 1]):
        group = books.groups[at]
        sums[group, b.SUM_CPU] += sign * runner["cpus"][place]
        sums[group, b.SUM_NODE] += sign * runner["shares"][place]
        sums[group, b.SUM_GPU] += sign * runner["gpus"][place]
        sums[group, b.SUM_MEM] += sign * runner["memory"][place]
        sums[group, b.SUM_JOBS] += sign
    preempts = books.reg["preempts"][0]
    for column in range(min(preempts, 2)):
        rank = books.ranks[who, column] if preempts == 2 else runner["section"][place]
        if rank >= 0:
            books.rank_jobs[rank] += sign
            if books.rank_jobs[rank] == (1 if sign > 0 else 0):
                note_preys(board, books)


@routine
def note_preys(board: Board, books: Books) -> None:
    """Which ranks may preempt some job that runs."""
    for one in range(board.preys.shape[0]):
        found = 0
        for other in range(board.preys.shape[0]):
            if board.outranks[one, other] != 0 and books.rank_jobs[other] > 0:
                found = 1
        board.preys[one] = found


@routine
def list_nodes(board: Board, desk: Desk, books: Books, on_desk: bool) -> int:
    """Leave the nodes of a start in ``spot``, with what each offers; how many."""
    spot = books.spot
    count = 0
    for word in range(board.mask.shape[1]):
        rest = desk.mask[d.CHOSEN, word] if on_desk else board.mask[b.CHOSEN, word]
        at = 64 * word
        while rest != NONE:
            if rest & ONE != NONE:
                spot[count, h.NODE] = at
                spot[count, h.OFFERED] = (
                    desk.spot[at, d.GIVEN] if on_desk else board.node[at, b.GIVEN]
                )
                spot[count, h.COUNTED] = desk.spot[at, d.ADDED_GPUS]
                spot[count, h.FREE_GPUS] = board.now[at, d.FREE_GPUS]
                count += 1
            rest >>= ONE
            at += 1
    return count


@routine
def start(
    board: Board, desk: Desk, books: Books, at: int, now: int, limit: int, on_desk: bool, hosts: int
) -> int:
    """The record at a place of the queue starts on the nodes in ``spot``; its place.

    ``limit``: that it runs with.
    """
    reg, runner, waiter, queue = books.reg, books.runner, books.waiter, board.queue
    row, slot = queue[at, b.ROW], queue[at, b.SLOT]
    ask, section = board.record[row, b.ASK], board.record[row, b.SECTION]
    who = board.record[row, b.WHO]
    reg["free_places"][0] -= 1
    place = books.free_place[reg["free_places"][0]]
    for word in range(books.nodes.shape[1]):
        books.nodes[place, word] = (
            desk.mask[d.CHOSEN, word] if on_desk else board.mask[b.CHOSEN, word]
        )
    first = reg["shares"][0]
    h.hold(board, desk, books, ask, hosts)
    cpus, memory, gpus = h.tally(board, desk, books, ask, hosts)
    held_gpus = held_memory = 0
    for share in range(first, first + hosts):
        held_gpus += gpus_in(board.share[share, d.FREE_GPUS])
        held_memory += board.share[share, d.USED]
    runner["slot"][place], runner["record"][place] = slot, waiter["record"][slot]
    runner["start"][place], runner["ends_by"][place] = now, now + limit
    runner["section"][place], runner["who"][place] = section, who
    runner["first_share"][place], runner["shares"][place] = first, hosts
    runner["cpus"][place], runner["gpus"][place] = cpus, held_gpus
    runner["memory"][place], runner["billing"][place] = held_memory, float(cpus)
    runner["prey"][place] = -1
    for one in range(books.size[0]):
        if books.queue[one, k.Q_SLOT] == slot and books.queue[one, k.Q_ROW] == row:
            runner["prey"][place] = books.queue[one, k.Q_PREY]
            board.mark[b.KEPT_NODES] = books.queue[one, k.Q_KEEPS]
    count_in(board, books, place, 1)
    ended = list_place(books, place)
    if reg["kind"][0] == k.BACKFILL:
        insert_end(board, books, ended, place)
    if waiter["partitions"][slot] > 1:
        for one in range(board.mark[b.RECORDS]):
            if queue[one, b.SLOT] == slot:
                queue[one, b.GONE] = 1
    books.started[reg["started"][0]] = slot
    reg["started"][0] += 1
    tell_start(board, books, place, limit, (cpus, memory, gpus))
    return place


@routine
def tell_start(
    board: Board, books: Books, place: int, limit: int, counted: tuple[int, int, int]
) -> None:
    """Schedule the end of a job that starts, and write its start into the story."""
    reg, clock, runner, waiter = books.reg, books.clock, books.runner, books.waiter
    slot, now, time = runner["slot"][place], runner["start"][place], clock["time"][0]
    shown = now
    if reg["kind"][0] == k.MAIN and waiter["early"][slot] != 0:
        # time() shows the second before, in which nothing else may have allowed the start.
        allowed = max(waiter["submit"][slot], waiter["begin"][slot], reg["world_at"][0])
        shown = min(now, max(now - 1, allowed))
    ran = min(waiter["run"][slot], float(limit)) + waiter["part"][slot] - 0.5
    runner["event"][place] = next_number(books)
    schedule(books, time + max(0.0, ran), k.END, runner["event"][place], place)
    story, line = books.story, reg["story"][0]
    reg["story"][0] += 1
    story["kind"][line], story["slot"][line], story["place"][line] = k.STARTED, slot, place
    story["section"][line], story["start"][line] = runner["section"][place], now
    story["shown"][line], story["limit"][line] = shown, limit
    story["cpus"][line], story["memory"][line], story["gpus"][line] = counted
    story["first_share"][line] = runner["first_share"][place]
    story["shares"][line] = runner["shares"][place]
    story["by"][line], story["met"][line] = reg["kind"][0], board.met[slot]
    story["tests"][line], story["time"][line] = reg["tests"][0], time
    for word in range(books.nodes.shape[1]):
        books.story_nodes[line, word] = books.nodes[place, word]


@kernel
def write_end(board: Board, books: Books, at: int, place: int) -> None:
    """A running job on the board of a backfill pass, at its place by end."""
    runner, job = books.runner, board.job
    for word in range(board.held.shape[1]):
        board.held[at, word] = books.nodes[place, word]
    job[at, b.JOB_END] = runner["ends_by"][place]
    job[at, b.FIRST_SHARE] = runner["first_share"][place]
    job[at, b.SHARE_COUNT] = runner["shares"][place]
    job[at, b.JOB_RANK], job[at, b.JOB_LICENCES] = runner["prey"][place], 0
    job[at, b.JOB_SECTION], job[at, b.IN_NO_ROW] = runner["section"][place], 0


@routine
def write_ends(board: Board, books: Books) -> None:
    """Put all running jobs on the board, in the order of their ends."""
    count = books.reg["running"][0]
    for at in range(count):
        write_end(board, books, at, books.by_end[at])
    board.mark[b.ENDS], board.mark[b.FRESH_ENDS] = count, 1


@routine
def insert_end(board: Board, books: Books, at: int, place: int) -> None:
    """A job has started in a backfill pass, if the ends are on the board already."""
    mark, held, job = board.mark, board.held, board.job
    count = mark[b.ENDS]
    if count < 0:
        return
    for one in range(count, at, -1):
        for word in range(held.shape[1]):
            held[one, word] = held[one - 1, word]
        for column in range(b.REACH_FIRST):
            job[one, column] = job[one - 1, column]
    write_end(board, books, at, place)
    mark[b.ENDS], mark[b.FRESH_ENDS] = count + 1, 1


@routine
def end(board: Board, desk: Desk, books: Books, place: int, time: float) -> None:
    """A job ends: its nodes complete, unusable until they have answered (spec: slurm 1.7)."""
    reg, runner, mask = books.reg, books.runner, board.mask
    first = runner["first_share"][place]
    for row in range(first, first + runner["shares"][place]):
        h.take(board, desk, books, row, -1)
    count_in(board, books, place, -1)
    unlist_place(books, place)
    books.free_place[reg["free_places"][0]] = place
    reg["free_places"][0] += 1
    row = reg["leaving"][0]
    reg["leaving"][0] += 1
    for word in range(mask.shape[1]):
        books.leaving[row, word] = books.nodes[place, word]
        mask[b.COMPLETING, word] |= books.nodes[place, word]
        mask[b.USABLE, word] = mask[b.UP, word] & ~mask[b.COMPLETING, word]
    story, line = books.story, reg["story"][0]
    reg["story"][0] += 1
    story["kind"][line], story["slot"][line] = k.ENDED, runner["slot"][place]
    story["place"][line], story["start"][line] = place, runner["start"][place]
    story["shown"][line], story["time"][line] = int(time), time
    schedule(books, time + books.clock["latency"][0], k.ANSWER, next_number(books), row)


@routine
def answer(board: Board, books: Books, row: int) -> None:
    """Nodes have answered after an end: usable again, but those that complete another one."""
    reg, mask = books.reg, board.mask
    reg["leaving"][0] -= 1
    last = reg["leaving"][0]
    for word in range(mask.shape[1]):
        books.leaving[row, word] = books.leaving[last, word]
        mask[b.COMPLETING, word] = NONE
        for one in range(last):
            mask[b.COMPLETING, word] |= books.leaving[one, word]
        mask[b.USABLE, word] = mask[b.UP, word] & ~mask[b.COMPLETING, word]
    if row != last:
        for one in range(reg["events"][0]):
            if books.event["rank"][one] >= k.ANSWER and books.event["what"][one] == last:
                books.event["what"][one] = row
