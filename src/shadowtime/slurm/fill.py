"""Filling a job's need from consecutive, busy or least loaded nodes, or from leaf switches."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shadowtime.slurm.machine import bits
from shadowtime.slurm.offers import Need, NodeOffers, enough

if TYPE_CHECKING:
    from shadowtime.slurm.parameters import Parameters


def fill(
    table: NodeOffers, nodes: int, parameters: Parameters, busy_first: int | None, *, first: bool
) -> int | None:
    """The nodes to take of ``nodes``, or None; what each gives is left in ``table.given``."""
    ask = table.ask
    table.given = {}
    if nodes.bit_count() < ask.min_nodes or ask.required & ~nodes:
        return None
    if busy_first is not None:
        return _by_weight(table, nodes, first, idle=busy_first)
    if table.machine.least_loaded:
        return _least_loaded(table, nodes, first)
    if parameters.pack_serial_at_end and ask.min_cpus == 1 and ask.wanted_nodes == 1:
        return _by_weight(table, nodes, first, idle=None)
    if table.machine.leaves:
        return _by_leaves(table, nodes, first)
    return _by_sets(table, nodes, first)


def _required(table: NodeOffers, need: Need, first: bool) -> tuple[int, bool | None]:
    """Take the required nodes first: how many, and whether they suffice (None: undecided)."""
    taken = 0
    for at in bits(table.ask.required):
        if need.most <= 0:
            break
        cpus = table.give(at, table.cores_for(at, first), need.bound, need.due)
        if cpus == 0:
            return taken, False
        need.add(cpus, table.gpus[at])
        taken |= 1 << at
    if not taken:
        return taken, None
    if need.met:
        return taken, True
    return taken, None if need.most > 0 else False


class _Set:
    """Neighbouring usable nodes of equal weight."""

    __slots__ = ("cpus", "end", "gpus", "nodes", "required", "start", "weight")

    def __init__(self, weight: int | None) -> None:
        self.start = self.end = 0
        self.cpus = self.gpus = self.nodes = 0
        self.required = -1
        self.weight = weight


def _sets(table: NodeOffers, nodes: int, offer: dict[int, int], required: int) -> list[_Set]:
    """Sets of neighbours; nodes that offer nothing end a set as missing ones do."""
    found: list[_Set] = []
    now = _Set(None)
    last = -2
    for at in bits(nodes):
        is_required = required >> at & 1
        if not is_required and not offer.get(at):
            continue
        if at != last + 1:
            if now.nodes == 0:
                now.required, now.weight = -1, None
            else:
                now.end = last
                found.append(now)
                now = _Set(None)
        weight = table.weights[at]
        if now.weight is not None and weight != now.weight:
            if now.nodes == 0:
                now.required = -1
            else:
                now.end = at - 1
                found.append(now)
                now = _Set(0)
        if now.nodes == 0:
            now.start = at
        last = at
        if is_required:
            if now.required == -1:
                now.required = at
            continue
        now.cpus += offer[at]
        now.nodes += 1
        now.gpus += table.gpus[at]
        now.weight = weight
    if now.nodes:
        now.end = last
        found.append(now)
    return found


def _best(sets: list[_Set], need: Need) -> _Set | None:
    """The set to take next (spec: slurm 4.2): lowest weight, then the tightest that suffices."""
    best: _Set | None = None
    best_does = False
    for one in sets:
        if one.nodes == 0:
            continue
        does = (
            one.cpus >= need.cpus
            and enough(one.nodes, need.nodes, need.ask)
            and one.gpus >= need.gpus
        )
        if best is None:
            better = True
        else:
            assert one.weight is not None and best.weight is not None
            better = (best.required == -1 and one.required != -1) or one.weight < best.weight
            if not better and one.weight == best.weight:
                better = (
                    (does and not best_does)
                    or (does and one.cpus < best.cpus)
                    or (not does and one.cpus > best.cpus)
                )
        if better:
            best, best_does = one, does
    return best


def _by_sets(table: NodeOffers, nodes: int, first: bool) -> int | None:
    """The default: sets of consecutive nodes, best fit (spec: slurm 4.2 to 4.6)."""
    need = Need(table)
    ask = table.ask
    if ask.required.bit_count() > need.most:
        return None
    taken, over = _required(table, need, first)
    if over is not None:
        return taken if over else None
    offer = {at: table.cores_for(at, first) for at in bits(nodes & ~ask.required)}
    sets = _sets(table, nodes, offer, ask.required)

    def add(at: int) -> None:
        nonlocal taken
        cpus = table.give(at, offer[at], need.bound, need.due)
        need.add(cpus, table.gpus[at])
        taken |= 1 << at

    while need.most > 0:
        best = _best(sets, need)
        if best is None:
            break
        if best.required != -1:
            upwards = range(best.required, best.end + 1)
            downwards = range(best.required - 1, best.start - 1, -1)
            for places in (upwards, downwards):
                for at in places:
                    if need.most <= 0 or need.met:
                        break
                    if not taken >> at & 1 and offer.get(at):
                        add(at)
        else:
            places = range(best.start, best.end + 1)
            if need.nodes <= 1:
                single = _single(places, offer, taken, need, table)
                if single is not None:
                    for at in places:
                        if at != single and at in offer:
                            offer[at] = 0
            for at in places:
                if need.most <= 0 or need.met:
                    break
                if taken >> at & 1 or not offer.get(at):
                    continue
                if need.most == 1 and offer[at] < need.cpus:
                    continue
                add(at)
        if need.met:
            return taken
        best.cpus = best.nodes = 0
    return taken if need.met_at_least else None


def _single(
    places: range, offer: dict[int, int], taken: int, need: Need, table: NodeOffers
) -> int | None:
    """The single sufficient node with the fewest free cpus, the first of equals."""
    best = None
    for at in places:
        have = offer.get(at, 0)
        if taken >> at & 1 or at not in offer or have < need.cpus:
            continue
        if need.gpus > 0 and table.gpus[at] < need.gpus:
            continue
        if best is None or have < offer[best]:
            best = at
            if have == need.cpus:
                break
    return best


def _by_weight(table: NodeOffers, nodes: int, first: bool, *, idle: int | None) -> int | None:
    """By weight: from the last node down, or (``idle`` given) busy nodes, then idle ones.

    With ``idle`` Slurm's loop goes on to the idle nodes after the need is met and takes one more.
    """
    ask = table.ask
    need = Need(table, min(ask.max_nodes, ask.tasks) if ask.tasks else None)
    taken, over = _required(table, need, first)
    if over is not None:
        return taken if over else None
    rest = nodes & ~ask.required
    met = done = False
    for weight in sorted({table.weights[at] for at in bits(rest)}):
        group = [at for at in bits(rest) if table.weights[at] == weight and table.cpus[at]]
        if idle is None:
            rounds = [group[::-1]]
        else:
            rounds = [
                [at for at in group if not idle >> at & 1],
                [at for at in group if idle >> at & 1],
            ]
        for places in rounds:
            for at in places:
                if taken >> at & 1 or (idle is None and need.most <= 0):
                    continue
                cpus = table.cores_for(at, first)
                if not cpus:
                    continue
                cpus = table.give(at, cpus, need.bound, need.due)
                need.add(cpus, table.gpus[at])
                taken |= 1 << at
                if need.met:
                    met = done = True
                    break
                if need.most == 0:
                    done = True
                    break
        if done:
            break
    if met or (need.cpus <= 0 and need.due <= 0 and need.gpus <= 0):
        return taken
    return None


def _least_loaded(table: NodeOffers, nodes: int, first: bool) -> int | None:
    """CR_LLN: within a weight, the node with the largest share of free cpus, the first of equals.

    Cpus count as free even where the job cannot use them because memory is short. As in Slurm the
    search stops early at a new largest share whose node has as many free cpus as the one taken
    last, even if a later node of another size has a larger share.
    """
    ask = table.ask
    need = Need(table, min(ask.max_nodes, ask.tasks) if ask.tasks else None)
    taken, over = _required(table, need, first)
    if over is not None:
        return taken if over else None
    free = table.free
    size = table.machine.full_cpus
    rest = nodes & ~ask.required
    for weight in sorted({table.weights[at] for at in bits(rest)}):
        group = [at for at in bits(rest) if table.weights[at] == weight]
        last = -1
        while need.most > 0:
            best = -1
            for at in group:
                if taken >> at & 1 or not table.cores_for(at, first):
                    continue
                if best < 0 or free[best] * size[at] < free[at] * size[best]:
                    best = at
                    if free[at] == last:
                        break
            if best < 0:
                break
            last = free[best]
            cpus = table.give(best, table.cores_for(best, first), need.bound, need.due)
            need.add(cpus, table.gpus[best])
            taken |= 1 << best
            if need.met:
                return taken
    return taken if need.cpus <= 0 and need.due <= 0 and need.gpus <= 0 else None


def _by_leaves(table: NodeOffers, nodes: int, first: bool) -> int | None:
    """topology/tree with one level of leaves below the top (spec: slurm 4.11)."""
    ask = table.ask
    need = Need(table)
    leaves = table.machine.leaves
    reach = 0
    for leaf in leaves:
        reach |= leaf
    nodes &= reach
    touched: set[int] = set()
    taken, over = _required(table, need, first)
    if over is not None:
        return taken if over else None
    if not enough(nodes.bit_count(), need.nodes, ask):
        return None
    counts_cpus = table.rules.leaf_needs_cpus
    room = [sum(table.cpus[at] for at in bits(leaf & nodes)) for leaf in leaves]
    if counts_cpus and need.cpus > sum(table.cpus[at] for at in bits(nodes)):
        return None
    offer: dict[int, int] = {}
    best = must = 0
    cpus_in = gpus_in = 0
    does = False
    for weight in sorted({table.weights[at] for at in bits(nodes)}):
        if best:
            must |= best
        for at in bits(nodes & ~taken):
            if table.weights[at] != weight:
                continue
            cpus = table.cores_for(at, first)
            if cpus:
                offer[at] = cpus
                best |= 1 << at
                cpus_in += cpus
                gpus_in += table.gpus[at]
        suffices = cpus_in >= need.cpus and gpus_in >= need.gpus
        does = does or (suffices and enough(best.bit_count(), need.nodes, ask))
        if (suffices and best.bit_count() >= need.nodes) if counts_cpus else does:
            break  # counting cpus, weights are added up to the wanted number of nodes
    if not does:
        return None

    def add(at: int, *, before: bool) -> None:
        nonlocal taken
        due = need.due - 1 if before else need.due
        cpus = table.give(at, offer[at], need.bound, due)
        need.add(cpus, table.gpus[at])
        taken |= 1 << at

    for at in bits(must):
        if need.most <= 0:
            break
        add(at, before=True)
    if must and need.met:
        return taken
    if must and need.most <= 0:
        return None
    for number, leaf in enumerate(leaves):
        if leaf & (must | ask.required):
            touched.add(number)
            for at in bits(leaf & best & ~taken):
                add(at, before=False)
                if need.met:
                    return taken
    counts = [(leaf & best).bit_count() for leaf in leaves]
    before_nodes = need.nodes + 1
    while before_nodes != need.nodes:
        before_nodes = need.nodes
        pick, pick_fits = None, False
        for number, count in enumerate(counts):
            if number in touched or not count:
                continue
            fits = count >= need.nodes and (not counts_cpus or room[number] >= need.cpus)
            if pick is None or _leaf_is_better(count, counts[pick], fits, pick_fits):
                pick, pick_fits = number, fits
        if pick is None:
            break
        for at in bits(leaves[pick] & best & ~taken):
            if need.most <= 0:
                break
            add(at, before=True)
            if need.met:
                return taken
        counts[pick] = 0
    if need.due <= 0 and need.cpus <= 0 and need.gpus <= 0:
        return taken
    return None


def _leaf_is_better(count: int, best: int, fits: bool, best_fits: bool) -> bool:
    """A leaf that covers what is still wanted, the smaller; else the one with most nodes."""
    if fits != best_fits:
        return fits
    return count < best if fits else count > best
