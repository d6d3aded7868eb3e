"""What a node offers a job with GPUs in one try: cpus and GPUs that fit together (23.11 on)."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from shadowtime.slurm.ask import Ask
    from shadowtime.slurm.machine import Hardware
    from shadowtime.slurm.rules import Rules


def tasks_here(ask: Ask) -> tuple[int, int | None]:
    """Fewest and most tasks on one node; None: no bound."""
    if ask.tasks_per_node:
        return ask.tasks_per_node, ask.tasks_per_node
    if ask.one_node:
        return ask.tasks, ask.tasks
    if ask.tasks == 1 or (ask.tasks == ask.min_nodes == ask.fixed_nodes):
        return 1, 1
    return 1, None


def socket_masks(node: Hardware) -> list[int]:
    """The cores of each socket as masks."""
    each = node.cores // node.sockets
    return [((1 << each) - 1) << (each * at) for at in range(node.sockets)]


class GpuOffer(NamedTuple):
    """Cpus and GPUs that count, and the cpus that must be given with the GPUs."""

    cpus: int = 0
    gpus: int = 0
    least: int = 0


NOTHING = GpuOffer()


def estimated_cpus(ask: Ask) -> int:
    """Cpus that the first try keeps beside each GPU where tasks and GPUs divide; 0: none."""
    wanted = ask.job_gpus
    if not ask.tasks or not wanted:
        return 0
    if ask.tasks % wanted == 0:
        return ask.tasks // wanted * ask.cpus_per_task
    each, rest = divmod(wanted, ask.tasks)
    return 0 if rest or ask.cpus_per_task % each else ask.cpus_per_task // each


def gpu_offer(
    node: Hardware,
    ask: Ask,
    cpus: int,
    cores: int,
    gpus: int,
    most_tasks: int | None,
    rules: Rules,
    first: bool,
) -> GpuOffer:
    """Of a node with these free cpus, cores and GPUs; ``first`` or a later try.

    Rules
    -----
    GPUs count as far as there are cpus for them: --cpus-per-gpu, or in the first try an estimate.
    Sockets are taken with most free cores first until they have the GPUs; in the first try the
    cores of all others count no more. Then the tasks that GPUs and cores let run bound the cpus.
    """
    fewest, most = tasks_here(ask)[0], most_tasks
    able = cpus // ask.cpus_per_task
    most = able if most is None else min(most, able)
    if able < fewest or not most:
        return NOTHING
    per_node = ask.gpus if ask.gpus_per == "node" else 0
    per_task = ask.gpus if ask.gpus_per == "task" else 0
    threads = node.threads
    here = [(cores & mask).bit_count() for mask in socket_masks(node)]
    bound = per_node or ask.job_gpus
    if ask.cpus_per_gpu:
        bound = min(bound, sum(here) * threads // ask.cpus_per_gpu)
    if ask.job_gpus:
        left_for_it = ask.job_gpus - (max(ask.min_nodes, 1) - 1)
        bound = left_for_it if 0 < left_for_it < bound else bound
    if bound and per_node > bound:
        return NOTHING
    each = ask.cpus_per_gpu or (estimated_cpus(ask) if first else 0)
    sockets = _Sockets(node, ask, here, gpus, cpus)
    counted = sockets.count(first, each, bound, per_node, fewest)
    cpus = sockets.cpus
    if each:
        bound = min(cpus // each, bound) if bound else cpus // each
        counted = min(counted, bound)
    if bound:
        counted = min(counted, bound)
    if per_node:
        counted = min(per_node, counted)
    if counted == 0 or max(per_node, per_task) > counted:
        return NOTHING
    if each:
        with_gpus = each * counted
        short = with_gpus < max(fewest * ask.cpus_per_task, ask.least_cpus)
        most = fewest if short else min(most, with_gpus // ask.cpus_per_task)
    if per_task and rules.whole_gpu_tasks:
        most = min(most, counted // per_task)
        counted = min(most * per_task, counted)
    elif per_task:
        most = min(most, counted // per_task)
    most = most // fewest * fewest
    if most == 0:
        return NOTHING
    if first:
        sockets.keep_required()
    need = -(-most * ask.cpus_per_task // threads)
    while most >= fewest and need > sockets.left:
        most -= 1
        need = -(-most * ask.cpus_per_task // threads)
        if per_task and rules.whole_gpu_tasks:
            counted = min(counted, most * per_task)
    if each:
        many = each * (per_node or (per_task * most if per_task else counted or 1))
        most = min(many, most)
        need = max(need, -(-many // threads))
    if need > sockets.left:
        return NOTHING
    if not first:
        sockets.shed(need)
    cpus = sockets.cpus
    if sockets.required_count and sockets.left > need:
        cpus = min(cpus, need * threads)
    total = gpus.bit_count()
    if each:
        total = min(cpus // each, total)
        if max(per_node, per_task) > total:
            return NOTHING
    if not most:
        return NOTHING
    least = need * threads if ask.cpus_per_gpu else 0
    if not ask.cpus_per_gpu:
        cpus = min(cpus, most * ask.cpus_per_task)
    return GpuOffer(cpus, min(counted, total), least)


class _Sockets:
    """Free cores and GPUs socket by socket while an offer is made of them."""

    def __init__(self, node: Hardware, ask: Ask, here: list[int], gpus: int, cpus: int) -> None:
        self.threads = node.threads
        self.ask = ask
        self.here = here
        self.near = [(gpus & one).bit_count() for one in node.near] if node.near else []
        self.anywhere = 0 if self.near else gpus.bit_count()
        """GPUs that are bound to no socket."""
        self.cpus = cpus
        self.left = 0
        self.required = [False] * len(here)

    @property
    def required_count(self) -> int:
        """Sockets that contribute GPUs."""
        return sum(self.required)

    def count(self, first: bool, each: int, bound: int, per_node: int, fewest: int) -> int:
        """GPUs that count, socket by socket; the first try takes cores far from GPUs away."""
        here = self.here
        least = -(-max(fewest, 1) * self.ask.cpus_per_task // self.threads)
        counted = self.anywhere
        total = sum(here)
        enough = False
        for at in sorted(range(len(here)), key=lambda one: -here[one]):
            on = self.near[at] if self.near else 0
            if first and each:
                on = min(on, here[at] * self.threads // each)
            if self.anywhere + on == 0 and first:
                gone = max(0, min(here[at], total - least))
                here[at] -= gone
                total -= gone
                if gone:
                    self.cpus = min(self.cpus, total * self.threads)
            self.left += here[at]
            if first and here[at] == 0:
                continue
            counted += on
            if (not enough and on) or self.anywhere:
                self.required[at] = True
            if (bound and counted >= bound) or (per_node and counted >= per_node):
                enough = True
        return counted

    def keep_required(self) -> None:
        """Cores of sockets that contribute no GPU count no more."""
        for at, wanted in enumerate(self.required):
            if not wanted and self.here[at]:
                self.left -= self.here[at]
                self.here[at] = 0
                self.cpus = min(self.cpus, self.left * self.threads)

    def shed(self, need: int) -> None:
        """Cores of other sockets beyond those needed count no more."""
        for at, wanted in enumerate(self.required):
            if not wanted and self.left > need:
                gone = min(self.left - need, self.here[at])
                self.here[at] -= gone
                self.left -= gone
                self.cpus = min(self.cpus, self.left * self.threads)
