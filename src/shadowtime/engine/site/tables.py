"""The tables a run on a site works on; columns are named in kernel/site/fields.py."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from shadowtime.cluster.limits import NODES
from shadowtime.cluster.shape import Shape, hold_counted
from shadowtime.cluster.site import Site
from shadowtime.engine.site.asks import Alternative, Asks
from shadowtime.engine.site.world import on_clock
from shadowtime.kernel.record import no_function
from shadowtime.kernel.registers import NEVER
from shadowtime.kernel.site import fields as f
from shadowtime.kernel.site.choose import Scoring
from shadowtime.kernel.site.limits import columns
from shadowtime.types import Ints
from shadowtime.workload import Workload
from shadowtime.workload.request import Requests
from shadowtime.workload.series import bounds_of

if TYPE_CHECKING:
    from shadowtime.engine.custom import Own
    from shadowtime.engine.site.plan import Prepared
    from shadowtime.workload.series import Series


def build_ground(
    workload: Workload,
    site: Site,
    requests: Requests,
    asks: Asks,
    chosen: Prepared,
) -> tuple[f.Ground, Ints]:
    """Fresh tables, and the site's node at each row of the table of nodes."""
    classes = chosen.classes
    n, resources = len(workload), len(site.resources)
    order = np.array(
        sorted(range(len(site.nodes)), key=lambda i: (site.nodes[i].weight, i)), np.int64
    )
    row_of = np.empty_like(order)
    row_of[order] = np.arange(len(order))
    mark = np.zeros(f.MARKS, np.int64)
    mark[f.PLACE_RULE] = chosen.rule
    mark[f.STEPS_FREE] = -1
    mark[f.MEMORY] = site.resources.index("memory") if "memory" in site.resources else -1
    mark[f.GPUS] = site.resources.index("gpu") if "gpu" in site.resources else -1
    mark[f.KEEPS] = chosen.keeps
    mark[f.SOONEST] = NEVER
    mark[f.RELEASED] = 1
    asked = {name for one in asks.each for alt in one for name, _ in alt.amounts}
    counted = {name: site.amounts.get(name, 0) for name in sorted(asked)}
    bounds = {
        name: one for name, one in bounds_of(workload, site.amounts).items() if name in counted
    }
    mark[f.AMOUNTS] = len(counted)
    rows = len(order) + len(counted)
    capacity = np.array([site.nodes[i].amounts for i in order], np.int64).reshape(-1, resources)
    node = np.zeros((rows, f.FREE + 2 * resources), np.int64)
    node[:, f.FIRST_STEP] = np.arange(rows)
    weights = np.array([site.nodes[i].weight for i in order], np.int64)
    node[: len(order), f.WEIGHT] = np.unique(weights, return_inverse=True)[1]
    node[: len(order), f.INDEX] = order
    node[: len(order), f.FREE : f.FREE + resources] = capacity
    node[: len(order), f.FREE + resources :] = capacity
    shape, mask, bits = shape_table(asks, capacity, row_of)
    count, kind = count_tables(asks, shape, row_of)
    close = closing_table(workload, site, row_of, node)
    mark[f.ANY_CLOSING] = len(close) > 0
    alt, ask, bucket, limit = limit_tables(asks, site, counted)
    mark[f.HAS_LIMITS] = bool(len(bucket))
    job = job_table(workload, requests, asks, shape)
    tiers = {max((a.tier for a in one), default=0) for one in asks.each}
    mark[f.TIERS] = len(tiers) > 1
    cpus = int(capacity[:, 0].sum())
    width = max(len(order), int(capacity[:, 0].max(initial=0)), limit.shape[2], f.SETS) + 2
    widest = int(job[:, f.WIDTH].max(initial=1))
    steps = 2 * len(order) + min(cpus, widest * n) + 2 * widest * min(chosen.plans, n)
    steps = (1 + len(counted)) * steps + 64 + sum(len(one.time) for one in bounds.values())
    step = np.empty((steps, f.LEVEL + resources), np.int64)
    step[:rows, f.TIME] = -NEVER
    step[:rows, f.NEXT] = -1
    step[: len(order), f.LEVEL :] = capacity
    step[len(order) : rows, f.LEVEL :] = 0
    step[len(order) : rows, f.LEVEL] = list(counted.values())
    used = rows
    for row, name in enumerate(counted, len(order)):
        if name in bounds:
            used = enter_bound(step, row, used, bounds[name])
    mark[f.STEPS_USED] = used
    mark[f.STEPS_SPARE] = steps - used
    ground = f.Ground(
        mark=mark,
        node=node,
        shape=shape,
        mask=mask,
        bits=bits,
        step=step,
        close=close,
        reservation=reservation_table(workload, site),
        ask=ask,
        alt=alt,
        bucket=bucket,
        limit=limit,
        job=job,
        place=np.empty(2 * min(n, 100_000) + 4 * widest + 64, np.int64),
        gain=np.empty((4 * min(cpus, widest * n) + 64 if chosen.keeps else 1, 3), np.int64),
        ring=np.zeros((f.RING, 1 + 2 * resources), np.int64),
        scratch=np.zeros((f.SCRATCH, width), np.int64),
        count=count,
        kind=kind,
        planned=np.zeros((len(order) if classes else 1, resources), np.int64),
        own=scoring_of(chosen.own, len(order)),
    )
    if classes is not None:
        mark[f.TIMES], mark[f.MOST_COUNTED] = classes.times, classes.reservations
    return ground, order


def enter_bound(step: Ints, row: int, used: int, bound: Series) -> int:
    """Write what a series leaves of an amount into its list of steps; returns the steps in use."""
    more = len(bound.time) - 1
    step[used : used + more] = 0
    step[row, f.LEVEL] = bound.value[0]
    step[used : used + more, f.TIME] = bound.time[1:]
    step[used : used + more, f.LEVEL] = bound.value[1:]
    if more:
        step[row, f.NEXT] = used
        step[used : used + more, f.NEXT] = np.arange(used + 1, used + more + 1)
        step[used + more - 1, f.NEXT] = -1
    return used + more


def scoring_of(own: Own | None, nodes: int) -> Scoring:
    """What a place function works with; without one, tables that are never read."""
    if own is None or own.offers is None:
        table = np.zeros((1, 1), np.int64)
        none = np.zeros(1)
        return Scoring(no_function, table, np.zeros((1, 1)), none, table[0], none, none)
    given = (own.pointer, own.fact, own.memory, own.series, own.offers)
    return Scoring(*given, np.zeros(nodes), np.zeros(nodes))


def shape_table(asks: Asks, capacity: Ints, row_of: Ints) -> tuple[Ints, Ints, Any]:
    """Shapes as rows; masks that several share are kept once."""
    resources = capacity.shape[1]
    table = np.zeros((len(asks.shapes), f.PER_TASK + 2 * resources), np.int64)
    masks: dict[tuple[int, ...], int] = {}
    begins: list[int] = []
    nodes: list[Ints] = []
    length = 0
    # Most nodes are alike: what a shape has on one is found once for each kind of node.
    kinds, kind_of = np.unique(capacity, axis=0, return_inverse=True)
    kinds_at: list[Ints] = []
    for row, one in enumerate(asks.shapes):
        number = masks.setdefault(one.nodes, len(masks))
        if number == len(nodes):
            begins.append(length)
            nodes.append(row_of[np.array(one.nodes, np.int64)])
            kinds_at.append(kind_of.reshape(-1)[nodes[number]])
            length += len(one.nodes)
        held = most_held(one, kinds)[kinds_at[number]]
        widest = int(held.max(initial=0))
        table[row, f.TASKS] = one.tasks
        table[row, f.LEAST] = one.least
        table[row, f.MOST] = one.most
        table[row, f.PER_NODE] = widest
        table[row, f.EXCLUSIVE] = one.exclusive
        table[row, f.RESERVATION] = one.reservation
        table[row, f.MASK_FROM] = begins[number]
        table[row, f.MASK_COUNT] = len(one.nodes)
        table[row, f.MASK] = number
        table[row, f.ALL_MEMORY] = one.all_memory
        table[row, f.WANTED] = one.wanted
        table[row, f.FLOOR] = one.floor
        table[row, f.DIVISOR] = one.divisor
        table[row, f.IN_A_ROW] = one.in_a_row
        table[row, f.NOW_STAMP] = -1
        table[row, f.PER_TASK : f.PER_TASK + resources] = one.per_task
        table[row, f.PER_TASK + resources :] = one.fixed
        table[row, f.PLACEABLE] = fits_empty(one, held)
    bits = np.zeros((len(masks), len(capacity)), np.int8)
    for number, members in enumerate(nodes):
        bits[number, members] = 1
    flat = np.concatenate(nodes) if nodes else np.empty(0, np.int64)
    return table, flat, bits


def count_tables(asks: Asks, shape: Ints, row_of: Ints) -> tuple[Ints, Ints]:
    """Counts of features, each distinct list once, and which of them each node satisfies."""
    rows: dict[tuple[tuple[int, frozenset[int]], ...], int] = {}
    shape[:, f.COUNTS] = -1
    for at, one in enumerate(asks.shapes):
        if one.counts:
            shape[at, f.COUNTS] = rows.setdefault(one.counts, len(rows))
    count = np.zeros((max(1, len(rows)), f.SETS), np.int64)
    kind = np.zeros((max(1, len(rows)), len(row_of) if rows else 1), np.int64)
    for counts, row in rows.items():
        for group, (k, nodes) in enumerate(counts):
            bit = 1 << group
            count[row, [chosen for chosen in range(f.SETS) if chosen & bit]] += k
            kind[row, row_of[sorted(nodes)]] |= bit
    return count, kind


def most_held(shape: Shape, capacity: Ints) -> Ints:
    """Tasks of a shape that nodes of these capacities hold when they are empty."""
    held = np.full(len(capacity), shape.per_node, np.int64)
    for k, (each, fixed) in enumerate(zip(shape.per_task, shape.fixed, strict=True)):
        left = (capacity[:, k] - fixed) * shape.divisor
        if each > 0:
            held = np.minimum(held, left // each)
        held[left < 0] = 0
    held[capacity[:, 0] < shape.floor] = 0
    most: Ints = np.maximum(held, 0)
    return most


def fits_empty(shape: Shape, held: Ints) -> bool:
    """True if the shape fits on the empty nodes."""
    if shape.in_a_row:
        return has_row(shape, held)
    if shape.counts:
        return hold_counted(shape, held.tolist())
    if (held[: shape.wanted] == 0).any() or (held > 0).sum() < shape.least:
        return False
    rest, most = held[shape.wanted :], shape.most - shape.wanted
    if most < len(rest):
        rest = np.sort(rest)[::-1][:most]
    return bool(held[: shape.wanted].sum() + rest.sum() >= shape.tasks)


def has_row(shape: Shape, held: Ints) -> bool:
    """True if neighbours among the empty nodes, which are in the site's order, hold all tasks."""
    room = dict(zip(shape.nodes, held.tolist(), strict=True))
    for begin in shape.nodes:
        at, count, total = begin, 0, 0
        while room.get(at, 0) > 0 and count < shape.most:
            count, total, at = count + 1, total + room[at], at + 1
            if count >= shape.least and total >= shape.tasks:
                return True
    return False


def closing_table(workload: Workload, site: Site, row_of: Ints, node: Ints) -> Ints:
    """When each node is closed, by node and begin."""
    row = {one.name: int(row_of[i]) for i, one in enumerate(site.nodes)}
    found = []
    for one in site.outages:
        if one.node in row:
            begin = on_clock(workload, one.begin)
            known = begin if one.known_at is None else min(begin, on_clock(workload, one.known_at))
            found.append((row[one.node], begin, on_clock(workload, one.end), known, -1))
    for number, named in enumerate(site.reservations):
        known = -NEVER if named.known_at is None else on_clock(workload, named.known_at)
        begin, end = on_clock(workload, named.begin), on_clock(workload, named.end)
        found += [(row[name], begin, end, known, number) for name in named.nodes if name in row]
    found.sort()
    table = np.array(found, np.int64).reshape(-1, 5)
    if len(table):
        where = np.arange(len(node))
        node[:, f.CLOSE_FROM] = np.searchsorted(table[:, 0], where)
        behind = np.searchsorted(table[:, 0], where, side="right")
        node[:, f.CLOSE_COUNT] = behind - node[:, f.CLOSE_FROM]
    return np.ascontiguousarray(table[:, 1:])


def reservation_table(workload: Workload, site: Site) -> Ints:
    """Begin, end and when it became known, of each reservation."""
    rows = [
        (
            on_clock(workload, one.begin),
            on_clock(workload, one.end),
            -NEVER if one.known_at is None else on_clock(workload, one.known_at),
        )
        for one in site.reservations
    ]
    return np.array(rows, np.int64).reshape(-1, 3)


def limit_tables(asks: Asks, site: Site, counted: dict[str, int]) -> tuple[Ints, Ints, Ints, Ints]:
    """Alternatives, asks, the buckets of each alternative, and bounds with what is in use."""
    resources = len(site.resources)
    bounds = np.full((2, len(asks.buckets), columns(resources)), f.NO_BOUND, np.int64)
    bounds[f.USED] = 0
    column = {name: k for k, name in enumerate((*site.resources, NODES))}
    for row, one in enumerate(asks.buckets):
        if one.jobs is not None:
            bounds[f.BOUND, row, 0] = one.jobs
        if one.wall is not None:
            bounds[f.BOUND, row, 4 + 3 * resources] = one.wall
        first = 1
        for amounts in (one.amounts, one.run_seconds, one.seconds):
            for name, most in amounts:
                if name in column:
                    bounds[f.BOUND, row, first + column[name]] = most
            first += resources + 1
    alts: list[tuple[int, ...]] = []
    ask: list[tuple[int, int]] = []
    bucket: list[int] = []
    for alternatives in asks.each:
        ask.append((len(alts), len(alts) + len(alternatives)))
        for alt in alternatives:
            taken = dict(alt.amounts)
            alts.append(
                (
                    alt.shape,
                    len(bucket),
                    len(alt.buckets),
                    alt.reserves,
                    alt.jobs,
                    charged_by_place(asks, alt),
                    *(taken.get(name, 0) for name in counted),
                )
            )
            bucket += alt.buckets
    return (
        np.array(alts, np.int64).reshape(-1, f.ALT_AMOUNTS + len(counted)),
        np.array(ask, np.int64).reshape(-1, 2),
        np.array(bucket, np.int64),
        bounds,
    )


def charged_by_place(asks: Asks, alt: Alternative) -> bool:
    """True if limits may charge one place of an alternative more than another."""
    if not alt.buckets:
        return False
    shape = asks.shapes[alt.shape]
    if shape.exclusive or shape.all_memory or shape.floor or shape.divisor > 1:
        return True
    if shape.least == shape.most:
        return False
    bound = [asks.buckets[one] for one in alt.buckets]
    names = {name for one in bound for name, _ in (*one.amounts, *one.run_seconds, *one.seconds)}
    return any(shape.fixed) or NODES in names


def job_table(workload: Workload, requests: Requests, asks: Asks, shape: Ints) -> Ints:
    """What each job has on the site, at the beginning."""
    table = np.full((len(workload), f.COLUMNS), -1, np.int64)
    table[:, f.ASK] = asks.of_job
    table[:, f.DUE] = NEVER
    table[:, [f.PHASE, f.PLACE_COUNT, f.PLACE_FROM, f.ASKED, f.BROKEN, f.AHEAD]] = 0
    table[:, f.CANCEL] = requests.cancel_at
    table[:, f.BEGIN_AT] = np.maximum(workload.submit, requests.begin)
    table[:, f.REQUEUE] = requests.requeue
    tier = np.array([max((a.tier for a in one), default=0) for one in asks.each] or [0], np.int64)
    widest = [
        max(
            (min(int(shape[a.shape, f.MOST]), int(shape[a.shape, f.MASK_COUNT])) for a in one),
            default=1,
        )
        for one in asks.each
    ]
    table[:, f.TIER] = tier[asks.of_job]
    table[:, f.WIDTH] = np.array(widest or [1], np.int64)[asks.of_job]
    return table
