"""The names that ``--set`` accepts, as Slurm spells them, and what each means in the model."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import fields

from shadowtime.cluster.amounts import COUNTED
from shadowtime.errors import UsageError, near
from shadowtime.slurm.parameters import NO_EFFECT, Parameters

PARAMETERS = tuple(one.name for one in fields(Parameters) if one.name not in {*NO_EFFECT, "rules"})
"""SchedulerParameters that the model knows."""

NUMBERS = (
    "PriorityWeightAge", "PriorityWeightAssoc", "PriorityWeightFairShare", "PriorityWeightJobSize",
    "PriorityWeightPartition", "PriorityWeightQOS", "FairShareDampeningFactor",
)  # fmt: skip
TIMES = ("PriorityMaxAge", "PriorityDecayHalfLife", "PriorityCalcPeriod")
CHOICES = {
    "SchedulerType": ("sched/backfill", "sched/builtin"),
    "PriorityType": ("priority/basic", "priority/multifactor"),
    "PriorityFavorSmall": ("YES", "NO"),
    "PreemptType": ("preempt/none", "preempt/partition_prio", "preempt/qos"),
    "TopologyPlugin": ("topology/none", "topology/default", "topology/tree"),
    "JobRequeue": ("0", "1"),
}
TEXTS = (
    "SchedulerParameters", "PriorityWeightTRES", "PriorityFlags", "PreemptMode",
    "AccountingStorageEnforce", *(kind.setting for kind in COUNTED),
)  # fmt: skip
SETTINGS = (*NUMBERS, *TIMES, *CHOICES, *TEXTS)
"""Lines of slurm.conf that the model knows."""

PARTITION = {
    "MaxTime": ("max_time",),
    "DefaultTime": ("default_time",),
    "MinNodes": ("min_nodes",),
    "MaxNodes": ("max_nodes",),
    "MaxCPUsPerNode": ("max_cpus_per_node",),
    "DefCpuPerGPU": ("default_cpus_per_gpu",),
    "PriorityTier": ("tier",),
    "PriorityJobFactor": ("priority_factor",),
    "OverSubscribe": ("exclusive",),
    "ExclusiveUser": ("exclusive_user",),
    "LLN": ("least_loaded",),
    "DefMemPerCPU": ("default_memory", "default_memory_per"),
    "DefMemPerNode": ("default_memory", "default_memory_per"),
    "MaxMemPerCPU": ("max_memory", "max_memory_per"),
    "MaxMemPerNode": ("max_memory", "max_memory_per"),
    "QOS": ("qos",),
    "PreemptMode": ("preempt",),
    "State": ("up",),
    "Default": ("default",),
    "Nodes": ("nodes",),
    "TRESBillingWeights": ("billing",),
}
"""Keys of a partition, and the fields of :class:`shadowtime.cluster.site.Partition`."""

LIMITS = {
    "GrpJobs": "group_jobs",
    "GrpWall": "group_wall",
    "GrpTRES": "group_resources",
    "GrpTRESMins": "group_minutes",
    "GrpTRESRunMins": "group_run_minutes",
    "MaxTRES": "job_resources",
    "MaxTRESPerJob": "job_resources",
    "MaxTRESPerNode": "job_node_resources",
    "MaxTRESMins": "job_minutes",
    "MaxTRESMinsPerJob": "job_minutes",
    "MaxWall": "job_wall",
    "MaxWallDurationPerJob": "job_wall",
}
QOS_LIMITS = LIMITS | {
    "MaxJobsPU": "user_jobs",
    "MaxJobsPerUser": "user_jobs",
    "MaxTRESPU": "user_resources",
    "MaxTRESPerUser": "user_resources",
    "MaxJobsAccruePU": "user_accruing",
    "MaxJobsAccruePerUser": "user_accruing",
    "MaxJobsPA": "account_jobs",
    "MaxJobsPerAccount": "account_jobs",
    "MaxTRESPA": "account_resources",
    "MaxTRESPerAccount": "account_resources",
}
"""Limits of a QOS by sacctmgr's names."""
ASSOCIATION_LIMITS = LIMITS | {
    "MaxJobs": "user_jobs",
    "MaxJobsAccrue": "user_accruing",
}
QOS = {"Priority": "priority", "Preempt": "preempts", "PreemptMode": "preempt"}
USER = ("DefaultQOS", "DefaultAccount", "MaxNodes")
SHARES = ("Fairshare",)
NODE = ("Weight", "Features", "Drain", "Down")

SCOPES: dict[str, tuple[str, ...]] = {
    "partition": tuple(PARTITION),
    "qos": (*QOS, *QOS_LIMITS),
    "account": (*SHARES, *ASSOCIATION_LIMITS),
    "user": (*USER, *SHARES, *ASSOCIATION_LIMITS),
    "node": NODE,
}
"""Keys of the form SCOPE.NAME.KEY."""

GLOBAL = (*PARAMETERS, *SETTINGS)
"""Keys that stand alone."""


def spelt(key: str, known: Iterable[str], what: str) -> str:
    """The key as Slurm spells it; one that is unknown is rejected with the nearest names.

    Examples
    --------
    >>> spelt("maxtime", PARTITION, "a partition")
    'MaxTime'
    >>> spelt("bf_max_job_tests", GLOBAL, "Slurm")
    Traceback (most recent call last):
    ...
    shadowtime.errors.UsageError: --set: Slurm has no key 'bf_max_job_tests' that is modelled: did \
you mean bf_max_job_test or bf_max_job_start?
    """
    names = {name.lower(): name for name in known}
    found = names.get(key.strip().lower())
    if found is not None:
        return found
    if key.strip().lower() in NO_EFFECT:
        raise UsageError(f"--set {key}: it is not modelled and would change nothing")
    raise UsageError(
        f"--set: {what} has no key {key!r} that is modelled{near(key, names.values())}"
    )


BOUNDS = {**PARTITION, **{name: (of,) for name, of in (QOS_LIMITS | ASSOCIATION_LIMITS).items()}}
_OF_A_REQUEST = ("job_", "max_time", "max_nodes", "max_cpus_per_node", "max_memory")


def bounds_a_request(key: str) -> bool | None:
    """Whether a key bounds what one job asks for, or what several hold; None if it is no bound.

    Examples
    --------
    >>> [bounds_a_request(f"qos.normal.{key}") for key in ("MaxWall", "GrpTRES", "Priority")]
    [True, False, None]
    """
    name = key.rpartition(".")[2]
    if name == "max-limit" or BOUNDS.get(name, ("",))[0].startswith(_OF_A_REQUEST):
        return True
    return False if name in QOS_LIMITS | ASSOCIATION_LIMITS else None
