"""The machine, limits and preemption of a site, as Slurm's scheduler sees them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from shadowtime.cluster.site import FOREVER, Association, Site
from shadowtime.slurm.limits import Accounts
from shadowtime.slurm.machine import UNBOUNDED, Hardware, Machine, Section
from shadowtime.slurm.parameters import Parameters
from shadowtime.slurm.preempt import Preemption
from shadowtime.slurm.state import SlurmState, Window


def setting(config: Mapping[str, str], name: str, default: str = "") -> str:
    """A setting, in upper or lower case; ``(null)`` means unset."""
    lower = name.lower()
    for key, value in config.items():
        if key.lower() == lower:
            return default if value in ("(null)", "") else value
    return default


CREDENTIAL = 120
"""Seconds that a credential lives where AuthInfo has no cred_expire."""


def requeue_delay(site: Site) -> int:
    """Seconds that a requeued job waits at least: the life of its credential and one more."""
    expire = re.search(r"cred_expire=(\d+)", setting(site.config, "AuthInfo"))
    return (int(expire[1]) if expire else CREDENTIAL) + 1


def machine_of(site: Site) -> Machine:
    """Nodes as bits in the site's order."""
    place = {name: at for at, name in enumerate(site.resources)}
    types = [name for name in place if name.startswith("gpu:")]
    kinds = [name for name in place if name.partition(":")[0] not in ("cpus", "memory", "gpu")]
    bounds = [one for one in site.partitions if one.max_cpus_per_node is not None]
    pools = (*kinds, *(f"cpus of {one.name}" for one in bounds))
    nodes = []
    for node in site.nodes:
        gpus = node.amounts[place["gpu"]] if "gpu" in place else 0
        near = []
        first = 0
        for count in node.near:
            near.append(((1 << count) - 1) << first)
            first += count
        nodes.append(
            Hardware(
                name=node.name,
                cpus=node.amounts[0],
                sockets=node.sockets,
                threads=node.threads_per_core,
                memory=node.amounts[place["memory"]] // 1024 if "memory" in place else 0,
                gpus=gpus,
                gpu_types=frozenset(one for one in types if node.amounts[place[one]]),
                near=tuple(near) if any(near) and gpus else (),
                weight=node.weight,
                features=node.features,
                pools=(
                    *(node.amounts[place[name]] for name in kinds),
                    *(one.max_cpus_per_node or 0 for one in bounds),
                ),
                bounds=len(bounds),
            )
        )
    at = {node.name: 1 << number for number, node in enumerate(nodes)}
    everything = (1 << len(nodes)) - 1
    sections = {}
    for one in site.partitions:
        sections[one.name] = Section(
            name=one.name,
            nodes=sum(at[name] for name in one.nodes),
            max_time=one.max_time,
            default_time=one.default_time,
            min_nodes=one.min_nodes,
            max_nodes=one.max_nodes or UNBOUNDED,
            tier=one.tier,
            factor=one.priority_factor,
            exclusive=one.exclusive,
            least_loaded=one.least_loaded,
            own_user=one.exclusive_user,
            pool=len(kinds) + bounds.index(one) if one in bounds else -1,
            up=one.up,
            preempt=one.preempt or "",
            qos=one.qos,
            billing=one.billing,
            default=one.default,
        )
    if not sections:
        sections["batch"] = Section(name="batch", nodes=everything, default=True)
    leaves: tuple[int, ...] = ()
    if "tree" in setting(site.config, "TopologyPlugin"):
        leaves = tuple(sum(at.get(name, 0) for name in names) for _, names in site.switches)
    return Machine(
        nodes=tuple(nodes),
        sections=sections,
        leaves=leaves,
        memory_counts="memory" in site.resources,
        counts_cpus="CR_CPU" in setting(site.config, "SelectTypeParameters").upper(),
        least_loaded="CR_LLN" in setting(site.config, "SelectTypeParameters").upper(),
        pools=pools,
    )


UNBOUND = frozenset({"FLEX", "ANY_NODES"})
"""Flags of reservations whose jobs run on other nodes, too."""
COUNTED = frozenset({"CR_CORE", "CR_CORE_MEMORY", "CR_CPU", "CR_CPU_MEMORY", "CR_MEMORY"})
COUNTED |= {"CR_LLN", "NONE", ""}
"""SelectTypeParameters that the choice of nodes follows."""
ONE_THREAD = frozenset({"CR_ONE_TASK_PER_CORE"})
"""Without effect where a core has one thread."""
FOLLOWED = frozenset({"cpus", "memory", "gpu", "nodes", "billing"})
"""Resources whose limits are counted (tally.py)."""
HARMLESS = frozenset({"CR_CORE_DEFAULT_DIST_BLOCK"})
"""Which cores of a node a job gets, never how many."""


def model_notes(site: Site) -> list[str]:
    """Settings of SelectType, PreemptMode and partitions that ``slurm`` does not follow.

    Examples
    --------
    >>> from shadowtime.cluster.site import Node, Site
    >>> one = Site(nodes=(Node(name="a", amounts=(4,)),))
    >>> model_notes(one.replace(config={"SelectTypeParameters": "CR_CPU,CR_PACK_NODES"}))
    ['SelectTypeParameters that the choice of nodes does not follow: CR_PACK_NODES']
    """
    notes = []
    alike = COUNTED | HARMLESS
    if all(node.threads_per_core == 1 for node in site.nodes):
        alike |= ONE_THREAD
    names = setting(site.config, "SelectTypeParameters").upper().split(",")
    lost = [name for name in names if name not in alike]
    if "linear" in setting(site.config, "SelectType").lower():
        notes.append("SelectType=select/linear is not modelled: jobs share nodes as in cons_tres")
    elif lost:
        notes.append(
            f"SelectTypeParameters that the choice of nodes does not follow: {', '.join(lost)}"
        )
    types = [at for at, name in enumerate(site.resources) if name.startswith("gpu:")]
    if any(sum(bool(node.amounts[at]) for at in types) > 1 for node in site.nodes):
        notes.append("GPUs of several types on one node are counted together")
    bounded = {name for each in _all_limits(site) for name in each} - FOLLOWED
    if bounded:
        notes.append(f"limits on {', '.join(sorted(bounded))} are not followed")
    preemption = preemption_of(site)
    modes = {preemption.mode, *preemption.qos_mode.values(), *(p.preempt for p in site.partitions)}
    if preemption.on and "suspend" in modes and not preemption.gang:
        why = "by QOS" if preemption.kind == "qos" else "without GANG"
        notes.append(
            f"PreemptMode=SUSPEND {why} is not modelled: a suspended job counts as cancelled"
        )
    return notes


def _all_limits(site: Site) -> Iterator[Mapping[str, int]]:
    """The bounds on resources of every QOS and association."""
    for limits in (*(one.limits for one in site.qos), *(one.limits for one in site.associations)):
        yield from (
            limits.group_resources, limits.group_minutes, limits.group_run_minutes,
            limits.user_resources, limits.account_resources,
            limits.job_resources, limits.job_node_resources, limits.job_minutes,
        )  # fmt: skip


def preemption_of(site: Site) -> Preemption:
    """PreemptType, PreemptMode and the QOS' own."""
    kind = setting(site.config, "PreemptType").rpartition("/")[2]
    if kind in ("", "none"):
        return Preemption()
    mode = setting(site.config, "PreemptMode", "off").lower().split(",")
    return Preemption(
        kind=kind,
        mode=next((one for one in mode if one in ("requeue", "cancel", "suspend")), "off"),
        over={one.name: frozenset(one.preempts) for one in site.qos},
        qos_mode={one.name: one.preempt or "" for one in site.qos},
        qos_priority={one.name: one.priority for one in site.qos},
        gang="gang" in mode and kind == "partition_prio",
        kill_wait=_seconds(site, "KillWait", 30),
        patience=_seconds(site, "KillWait", 30) + _seconds(site, "MessageTimeout", 10),
    )


def _seconds(site: Site, name: str, default: int) -> int:
    """A setting such as ``30`` or ``30 sec``."""
    word = setting(site.config, name).partition(" ")[0]
    return int(word) if word.isdigit() else default


def accounts_of(site: Site) -> Accounts:
    """Limits, in force where AccountingStorageEnforce names ``limits`` (or ``safe``)."""
    return Accounts(
        enforced=bool(site.enforce & {"limits", "safe"}),
        safe="safe" in site.enforce,
        qos={one.name: one.limits for one in site.qos},
        chains=chains_of(site.associations),
        part_qos={one.name: one.qos for one in site.partitions if one.qos},
        flags={one.name: one.lower_flags for one in site.qos if one.flags},
    )


def state_of(site: Site) -> SlurmState:
    """The site with nothing running."""
    parameters, accounts = Parameters.of_config(site.config), accounts_of(site)
    stay = accounts.enforced and "node" in accounts.bounded and not parameters.rules.fresh_weights
    return SlurmState.of(
        replace(machine_of(site), weights_stay=stay),
        parameters,
        accounts=accounts,
        preemption=preemption_of(site),
        licences=site.amounts,
    )


def changes_of(
    site: Site, machine: Machine, origin: int
) -> Iterator[tuple[float, tuple[str, int | Window]]]:
    """Outages and reservations: when nodes go down or up, and windows are reserved or open.

    ``origin`` is the log's zero in seconds since 1970.
    """
    for outage in site.outages:
        mask = machine.mask([outage.node])
        yield outage.begin - origin, ("down", mask)
        if outage.end < FOREVER:
            yield outage.end - origin, ("up", mask)
    for one in site.reservations:
        window = Window(
            name=one.name,
            nodes=machine.mask(one.nodes),
            begin=int(one.begin - origin),
            end=int(one.end - origin),
            binds=bool(one.nodes) and one.flags.isdisjoint(UNBOUND),
        )
        known = one.known_at - origin if one.known_at is not None else 0
        yield min(known, window.begin), ("reserve", window)
        if one.end < FOREVER:
            yield window.end, ("open", window)


def chains_of(
    associations: Iterable[Association],
) -> dict[tuple[str, str], tuple[Association, ...]]:
    """From each user's association up to the root.

    Examples
    --------
    >>> from shadowtime.cluster.site import Association
    >>> tree = [Association(account="root"), Association(account="a", parent="root"),
    ...         Association(account="a", user="u")]
    >>> [one.account for one in chains_of(tree)["a", "u"]]
    ['a', 'a', 'root']
    """
    accounts = {one.account: one for one in associations if not one.user}
    chains = {}
    for one in associations:
        if not one.user:
            continue
        chain = [one]
        name = one.account
        while name in accounts and len(chain) < 64:
            chain.append(accounts[name])
            name = accounts[name].parent
        chains[one.account, one.user] = tuple(chain)
    return chains
