"""Slurm's words for what keeps a job from starting, as squeue and sacct print them."""

from __future__ import annotations

WORDS = {
    "GrpJobs": "{who}GrpJobsLimit",
    "GrpWall": "{who}GrpWallLimit",
    "MaxJobs": "{who}MaxJobsLimit",
    "MaxJobsPU": "QOSMaxJobsPerUserLimit",
    "MaxJobsPA": "MaxJobsPerAccount",
    "GrpTRES": "{who}Grp{what}",
    "GrpTRESMins": "{who}Grp{what}MinutesLimit",
    "GrpTRESRunMins": "{who}Grp{what}RunMinutesLimit",
    "MaxTRESPU": "QOSMax{what}PerUser{limit}",
    "MaxTRESPA": "Max{what}PerAccount",
    "MaxTRESPJ": "{who}Max{what}PerJob{limit}",
}
NAMES = {"cpu": "Cpu", "node": "Node", "mem": "Mem", "gres/gpu": "GRES", "billing": "Billing"}


def reason_of(who: str, kind: str, name: str = "") -> str:
    """The reason of a limit of a QOS or an association (Assoc), by kind and resource.

    Examples
    --------
    >>> reason_of("QOS", "MaxJobsPU"), reason_of("QOS", "GrpTRES", "cpu")
    ('QOSMaxJobsPerUserLimit', 'QOSGrpCpuLimit')
    >>> reason_of("Assoc", "GrpTRESRunMins", "cpu"), reason_of("QOS", "MaxTRESPU", "mem")
    ('AssocGrpCPURunMinutesLimit', 'QOSMaxMemoryPerUser')
    >>> reason_of("QOS", "GrpTRES", "gres/gpu"), reason_of("Assoc", "MaxTRESPJ", "cpu")
    ('QOSGrpGRES', 'AssocMaxCpuPerJobLimit')
    """
    what = NAMES.get(name, name)
    limit = "Limit" if name in ("cpu", "node") else ""
    if kind == "GrpTRES":
        what += "Limit" if name in ("cpu", "node", "mem") else ""
    elif kind.endswith("Mins"):
        what = "CPU" if name == "cpu" else what
    elif name == "mem" and who == "QOS":
        what = "Memory"
    return WORDS[kind].format(who=who, what=what, limit=limit)
