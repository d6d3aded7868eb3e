"""Why Slurm lets a job wait: the codes of squeue's column Reason, read once into a value."""

from __future__ import annotations

import enum
from functools import lru_cache


class WaitReason(enum.Enum):
    """A kind of Slurm's codes, by how they begin; the first that fits counts.

    Slurm has about 200 of them, and each version adds some: all that begin with ``QOSGrp`` are
    limits of all jobs of a QOS together. Of some codes it prints more than the code, as
    ``ReqNodeNotAvail, UnavailableNodes:n1``, and for some of its own reasons a sentence (``Nodes
    required for job are DOWN ...``).
    """

    QOS_GROUP = ("QOSGrp",)
    QOS = ("QOS",)
    ASSOCIATION = ("Assoc",)
    ACCOUNT = ("Account",)
    INVALID = ("Invalid",)
    LICENCES = ("Licenses",)
    RESERVATION = ("Reservation",)
    BURST_BUFFER = ("BurstBuffer",)
    PARTITION_LIMIT = ("PartitionTimeLimit", "PartitionNodeLimit")
    PARTITION = ("Partition",)
    MEMORY = ("MaxMemPerLimit",)
    BAD_CONSTRAINTS = ("BadConstraints",)
    """It cannot run on the nodes that it names, or nowhere."""
    NODES = ("Resources", "NodeDown", "Nodes")
    NOT_AVAILABLE = ("ReqNodeNotAvail",)
    NEVER = ("DependencyNeverSatisfied",)
    DEPENDENCY = ("Dependency",)
    ARRAY = ("JobArrayTaskLimit",)
    BEGIN = ("BeginTime",)
    OTHER = ("",)

    @property
    def limit(self) -> bool:
        """A limit of a QOS, an account or a user."""
        return self in _LIMITS

    @property
    def beside_nodes(self) -> bool:
        """Something that keeps a job from starting although its nodes are free."""
        return self in _BESIDE

    @property
    def nodes(self) -> bool:
        """Slurm has looked for nodes: they are not free."""
        return self in (WaitReason.NODES, WaitReason.NOT_AVAILABLE)

    @property
    def dependency(self) -> bool:
        """Other jobs."""
        return self in (WaitReason.DEPENDENCY, WaitReason.NEVER)

    @property
    def partition(self) -> bool:
        """Its partition: it is closed, or the job exceeds its bounds."""
        return self in (WaitReason.PARTITION, WaitReason.PARTITION_LIMIT)


_LIMITS = {WaitReason.QOS_GROUP, WaitReason.QOS, WaitReason.ASSOCIATION}
_BESIDE = _LIMITS | {
    WaitReason.ACCOUNT, WaitReason.INVALID, WaitReason.LICENCES, WaitReason.RESERVATION,
    WaitReason.BURST_BUFFER, WaitReason.PARTITION_LIMIT, WaitReason.MEMORY,
    WaitReason.BAD_CONSTRAINTS,
}  # fmt: skip


@lru_cache(4096)
def wait_reason(text: str) -> WaitReason:
    """What kind of reason squeue prints.

    Examples
    --------
    >>> wait_reason("QOSGrpCpuLimit"), wait_reason("AssocMaxJobsLimit").limit
    (<WaitReason.QOS_GROUP: ('QOSGrp',)>, True)
    >>> wait_reason("ReqNodeNotAvail, UnavailableNodes:n1").nodes, wait_reason("None").name
    (True, 'OTHER')
    """
    return next(one for one in WaitReason if text.startswith(one.value))
