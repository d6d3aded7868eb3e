"""A real site as a value: mixed nodes, partitions, QOS, accounts, reservations, outages, licences.

The older shapes are special cases: a pool is one node, hosts are nodes whose jobs need one each.
Readers build this value (a site folder, TOML, Slurm's own output); every policy runs on it.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field, is_dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

from shadowtime.cluster.cluster import Cluster, Host
from shadowtime.errors import ClusterError
from shadowtime.types import NO_LIMIT

if TYPE_CHECKING:
    from shadowtime.workload.request import Request

Preempting = Literal["off", "requeue", "cancel", "suspend"]
FOREVER = NO_LIMIT
"""The end of an outage or reservation that has none."""


@dataclass(frozen=True, kw_only=True)
class Node:
    """One node: what it offers per resource, in the site's resource order.

    ``amounts`` counts cpus (hardware threads), memory in KB, and each GRES by name. A typed GRES
    (``gpu:a100``) is a resource of its own and counts into its family (``gpu``) too.
    ``near`` lists, per socket, how many GPUs are bound to that socket's cores (empty: unbound).
    """

    name: str
    amounts: tuple[int, ...]
    features: frozenset[str] = frozenset()
    weight: int = 1
    sockets: int = 1
    threads_per_core: int = 1
    near: tuple[int, ...] = ()
    real_memory: int = 0
    """KB the node has, whether memory is a counted resource or not; 0 where unknown."""


@dataclass(frozen=True, kw_only=True)
class Partition:
    """A set of nodes with rules of its own. Times are seconds; None is "no bound"."""

    name: str
    nodes: tuple[str, ...]
    max_time: int | None = None
    default_time: int | None = None
    min_nodes: int = 0
    max_nodes: int | None = None
    max_cpus_per_node: int | None = None
    tier: int = 1
    priority_factor: int = 1
    exclusive: bool = False
    """True where every job gets whole nodes (OverSubscribe=EXCLUSIVE)."""
    exclusive_user: bool = False
    """True where a node runs jobs of one user at a time (ExclusiveUser=YES)."""
    least_loaded: bool = False
    """True where the nodes with the largest share of free cpus come first (LLN=YES)."""
    default_memory: int | None = None
    """KB where a job asks for none, per cpu or node by ``default_memory_per``."""
    default_memory_per: Literal["cpu", "node"] = "cpu"
    max_memory: int | None = None
    """KB that a job may ask for, per cpu or node by ``max_memory_per`` (MaxMemPerCPU)."""
    max_memory_per: Literal["cpu", "node"] = "cpu"
    default_cpus_per_gpu: int | None = None
    """Cpus that each GPU brings where a job names none, nor any per task (DefCpuPerGPU)."""
    qos: str = ""
    preempt: Preempting | None = None
    """How jobs of this partition are preempted; None: the site's own setting."""
    up: bool = True
    default: bool = False
    billing: Mapping[str, float] = field(default_factory=dict)
    """Billing weight by resource (TRESBillingWeights); empty: one per cpu."""

    def cpus_per_gpu(self, request: Request) -> int | None:
        """Cpus for each GPU of a request, None where nothing tells them."""
        if request.cpus_per_gpu is not None or request.cpus_per_task > 1:
            return request.cpus_per_gpu
        return self.default_cpus_per_gpu


@dataclass(frozen=True, kw_only=True)
class Limits:
    """Bounds of a QOS or an association; resources by name, minutes as resource minutes.

    ``group_*`` counts all users below; ``user_*`` each user apart; ``account_*`` each account
    apart; ``job_*`` each job by itself. None and missing names are "no bound".
    """

    group_jobs: int | None = None
    group_submitted: int | None = None
    group_wall: int | None = None
    group_resources: Mapping[str, int] = field(default_factory=dict)
    group_minutes: Mapping[str, int] = field(default_factory=dict)
    group_run_minutes: Mapping[str, int] = field(default_factory=dict)
    user_jobs: int | None = None
    user_submitted: int | None = None
    user_resources: Mapping[str, int] = field(default_factory=dict)
    account_jobs: int | None = None
    account_submitted: int | None = None
    account_resources: Mapping[str, int] = field(default_factory=dict)
    job_wall: int | None = None
    job_resources: Mapping[str, int] = field(default_factory=dict)
    job_node_resources: Mapping[str, int] = field(default_factory=dict)
    job_minutes: Mapping[str, int] = field(default_factory=dict)
    group_accruing: int | None = None
    user_accruing: int | None = None

    @staticmethod
    def kind(name: str) -> Literal["span", "amounts", "count"]:
        """What the limit of a name is: a span of time, amounts by resource, or a number of jobs."""
        if name.endswith(("_resources", "_minutes")):
            return "amounts"
        return "span" if name.endswith("_wall") else "count"


@dataclass(frozen=True, kw_only=True)
class Qos:
    """A quality of service: priority, limits, and which other QOS it may preempt."""

    name: str
    priority: int = 0
    limits: Limits = field(default_factory=Limits)
    preempts: tuple[str, ...] = ()
    preempt: Preempting | None = None
    flags: frozenset[str] = frozenset()
    usage_factor: float = 1.0
    grace: int = 0

    @property
    def lower_flags(self) -> frozenset[str]:
        """Its flags in lower case."""
        return frozenset(one.lower() for one in self.flags)


@dataclass(frozen=True, kw_only=True)
class Association:
    """A node of the account tree: an account (``user`` empty) or a user in an account.

    ``shares`` is the number of shares, or None for FairShare=parent. ``usage`` is the decayed
    usage at the beginning of the log (``sshare``), in billing seconds.
    """

    account: str
    user: str = ""
    partition: str = ""
    parent: str = ""
    """The account above: a user's own account; empty for the root."""
    shares: int | None = 1
    limits: Limits = field(default_factory=Limits)
    default_qos: str = ""
    allowed_qos: tuple[str, ...] = ()
    priority: int = 0
    usage: float = 0.0


@dataclass(frozen=True, kw_only=True)
class Reservation:
    """Nodes set aside during [begin, end), in seconds since 1970."""

    name: str
    nodes: tuple[str, ...]
    begin: int
    end: int
    users: frozenset[str] = frozenset()
    accounts: frozenset[str] = frozenset()
    flags: frozenset[str] = frozenset()
    known_at: int | None = None
    """When it was created; None: known from the beginning."""
    cpus: int = 0
    """Cpus set aside, where a record has their number but not the nodes (``nodes`` is empty)."""


@dataclass(frozen=True, kw_only=True)
class Outage:
    """A node that takes no new jobs during [begin, end).

    ``drain``: running jobs go on; otherwise they are lost or requeued at ``begin``.
    ``known_at``: from when the scheduler may plan with it (None: not before ``begin``).
    """

    node: str
    begin: int
    end: int
    drain: bool = False
    known_at: int | None = None
    reason: str = ""


@dataclass(frozen=True, kw_only=True)
class Site:
    """A whole site. Nodes keep their order: it decides ties and Slurm's placement.

    Examples
    --------
    >>> site = Site(nodes=(Node(name="n1", amounts=(16,)), Node(name="n2", amounts=(32,))))
    >>> site.procs, site.resources, site.shape
    (48, ('cpus',), 'site')
    >>> site
    Site(2 nodes, 48 cpus)
    """

    nodes: tuple[Node, ...]
    resources: tuple[str, ...] = ("cpus",)
    """cpus first, then memory (KB) where it is counted, then GRES by name."""
    partitions: tuple[Partition, ...] = ()
    """Empty: one partition of all nodes without bounds."""
    qos: tuple[Qos, ...] = ()
    associations: tuple[Association, ...] = ()
    reservations: tuple[Reservation, ...] = ()
    outages: tuple[Outage, ...] = ()
    amounts: Mapping[str, int] = field(default_factory=dict)
    """What is counted over the whole site, such as licences (cluster/amounts.py)."""
    config: Mapping[str, str] = field(default_factory=dict)
    """The scheduler's own settings by Slurm's names (``scontrol show config`` or slurm.conf)."""
    switches: tuple[tuple[str, tuple[str, ...]], ...] = ()
    """Leaf switches with their nodes, in the order of topology.conf."""
    requeue: bool = True
    """Jobs on a failed node return to the queue; otherwise they are lost."""
    enforce: frozenset[str] = frozenset()
    """AccountingStorageEnforce: limits hold only where it names ``limits``."""
    ignored: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Keys that the readers met and do not model, with the names of what has them."""
    unusable: tuple[str, ...] = ()
    """Nodes that were down, drained or failing when they were described; counted all the same."""
    notes: tuple[str, ...] = ()
    """What the readers decided and people should know, a sentence each."""
    name: str = ""

    shape = "site"

    def __post_init__(self) -> None:
        if self.resources[:1] != ("cpus",):
            raise ClusterError("the first resource of a site must be cpus")
        if len(set(self.resources)) != len(self.resources):
            raise ClusterError(f"a resource is named twice: {', '.join(self.resources)}")
        if not self.nodes:
            raise ClusterError("a site needs at least one node")
        names = [node.name for node in self.nodes]
        if len(set(names)) != len(names):
            twice = next(name for name in names if names.count(name) > 1)
            raise ClusterError(f"node {twice} is described twice: keep one description")
        for node in self.nodes:
            if len(node.amounts) != len(self.resources):
                raise ClusterError(f"node {node.name} must give {', '.join(self.resources)}")
            if min(node.amounts) < 0:
                raise ClusterError(f"node {node.name} offers a negative amount")
        known = set(names)
        for partition in self.partitions:
            for name in partition.nodes:
                if name not in known:
                    raise ClusterError(f"partition {partition.name} names an unknown node {name}")

    def __repr__(self) -> str:
        count = len(self.partitions)
        held = [f"{len(self.nodes):,} node{'s' * (len(self.nodes) != 1)}"]
        held += [f"{amount:,} {name}" for name, amount in self.total.items()]
        held += [f"{count:,} partition{'s' * (count != 1)}"] if count else []
        return f"Site({f'{self.name}: ' if self.name else ''}{', '.join(held)})"

    @property
    def procs(self) -> int:
        """Cpus in all."""
        return sum(node.amounts[0] for node in self.nodes)

    @property
    def total(self) -> dict[str, int]:
        """What the whole site offers, by resource."""
        columns = zip(*(node.amounts for node in self.nodes), strict=True)
        return dict(zip(self.resources, map(sum, columns), strict=True))

    @property
    def hosts(self) -> tuple[Host, ...]:
        """The nodes as hosts, for what takes any machine: tables, pictures, pages."""
        return tuple(Host(node.name, node.amounts) for node in self.nodes)

    @property
    def options(self) -> dict[str, Any]:
        """The options of a cluster of an older shape; a site has fields for them."""
        return {}

    def as_nodes(self) -> Cluster:
        """The same nodes in the older shape, without rules: for loads and pictures.

        Examples
        --------
        >>> Site(nodes=(Node(name="n1", amounts=(4,)),)).as_nodes().total
        {'procs': 4}
        """
        return Cluster(
            shape="nodes",
            resources=("procs", *self.resources[1:]),
            hosts=self.hosts,
            name=self.name,
        )

    @cached_property
    def nodes_by_name(self) -> Mapping[str, Node]:
        """Each node, under its name."""
        return {one.name: one for one in self.nodes}

    @cached_property
    def qos_by_name(self) -> Mapping[str, Qos]:
        """Each QOS, under its name."""
        return {one.name: one for one in self.qos}

    @cached_property
    def associations_by_name(self) -> Mapping[tuple[str, str], tuple[Association, ...]]:
        """The associations of each account and user, one for each partition that has its own."""
        found: dict[tuple[str, str], tuple[Association, ...]] = {}
        for one in self.associations:
            found[one.account, one.user] = (*found.get((one.account, one.user), ()), one)
        return found

    @cached_property
    def checksum(self) -> int:
        """A number that distinguishes two sites on which jobs may get different things.

        Examples
        --------
        >>> site = Site(nodes=(Node(name="n1", amounts=(4,)),))
        >>> site.checksum == site.replace(config={"bf_x": "1"}).checksum
        True
        >>> site.checksum == site.replace(amounts={"license/matlab": 2}).checksum
        False
        """
        nodes = [(node.name, node.amounts, sorted(node.features)) for node in self.nodes]
        rules = (self.partitions, self.qos, self.associations, self.reservations, self.outages)
        more = (sorted(self.amounts.items()), self.resources, self.enforce)
        return zlib.crc32(repr((nodes, in_one_order(rules), in_one_order(more))).encode())

    def setting(self, name: str, default: str = "") -> str:
        """A setting of Slurm by its name in any case: slurm.conf spells some otherwise.

        Examples
        --------
        >>> node = Node(name="n1", amounts=(4,))
        >>> Site(nodes=(node,), config={"bf_x": "1"}).setting("BF_X")
        '1'
        """
        low = name.lower()
        return next((value for key, value in self.config.items() if key.lower() == low), default)

    def replace(self, **changes: Any) -> Site:
        """A variant of this site."""
        return replace(self, **changes)


def in_one_order(value: Any) -> Any:
    """The same values as lists, whatever the order in which a set gives its members."""
    if is_dataclass(value):
        return [in_one_order(one) for one in vars(value).values()]
    if isinstance(value, frozenset):
        return sorted(value)
    return [in_one_order(one) for one in value] if isinstance(value, tuple) else value
