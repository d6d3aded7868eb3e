"""The commands that create the files of a site's folder: run by `pull`, printed by `doctor`."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, timedelta

from shadowtime.slurmtext.sacct_rows import BETWEEN, BY_HAND, RECOMMENDED

ENVIRONMENT = {"SLURM_TIME_FORMAT": "%s", "SLURM_BITSTR_LEN": "0"}
"""Times in seconds, so that no time zone is needed; array blocks in full."""
DAYS = "days"
"""The folder of sacct's days, from which jobs.psv is joined."""

_ASSOCIATION = (
    "Cluster,Account,User,ParentName,Partition,Share,Priority,GrpJobs,GrpTRES,GrpSubmit,GrpWall,"
    "GrpTRESMins,GrpTRESRunMins,GrpJobsAccrue,MaxJobs,MaxTRES,MaxTRESPerNode,MaxSubmit,MaxWall,"
    "MaxTRESMins,MaxJobsAccrue,QOS,DefaultQOS"
)
_QOS = (
    "Name,Priority,GraceTime,Preempt,PreemptExemptTime,PreemptMode,Flags,UsageThres,UsageFactor,"
    "GrpTRES,GrpTRESMins,GrpTRESRunMins,GrpJobs,GrpJobsAccrue,GrpSubmit,GrpWall,MaxTRES,"
    "MaxTRESPerNode,MaxTRESMins,MaxWall,MaxTRESPU,MaxJobsPU,MaxJobsAccruePU,MaxSubmitPU,MaxTRESPA,"
    "MaxJobsPA,MaxSubmitPA,MinTRES"
)


@dataclass(frozen=True, kw_only=True)
class SiteCommand:
    """A command, the file it creates, and what its output must contain to be valid."""

    file: str
    argv: tuple[str, ...]
    mark: str = ""
    what: str = ""
    """What a simulation lacks without the file."""
    optional: bool = False
    """Many sites have no such file, or nothing depends on it."""

    @property
    def accounting(self) -> bool:
        """Does slurmdbd answer it?"""
        return self.argv[0] in ("sacct", "sacctmgr")

    @property
    def line(self) -> str:
        """The command as it is typed, with its environment and where its output goes."""
        settings = " ".join(f"{name}={value}" for name, value in ENVIRONMENT.items())
        return f"{settings} {shlex.join(self.argv)} > {self.file}"


def site_commands(since: date) -> tuple[SiteCommand, ...]:
    """One command for each file besides the jobs, in the order in which they are run.

    Associations come first: they show which names are those of users and accounts.

    Examples
    --------
    >>> [one.file for one in site_commands(date(2026, 5, 1))][:3]
    ['associations.txt', 'nodes.txt', 'partitions.txt']
    """
    start = f"Start={since.isoformat()}"
    return (
        SiteCommand(
            file="associations.txt",
            argv=("sacctmgr", "show", "assoc", "-P", f"format={_ASSOCIATION}"),
            mark="Account|",
            what="accounts, shares and their limits",
        ),
        SiteCommand(
            file="nodes.txt",
            argv=("scontrol", "show", "node", "--oneliner"),
            mark="NodeName=",
            what="the machine",
        ),
        SiteCommand(
            file="partitions.txt",
            argv=("scontrol", "show", "partition", "--oneliner"),
            mark="PartitionName=",
            what="time limits, tiers and nodes of the partitions",
        ),
        SiteCommand(
            file="config.txt",
            argv=("scontrol", "show", "config"),
            mark="SchedulerType",
            what="the scheduler's settings, and whether memory counts and limits are enforced",
        ),
        SiteCommand(
            file="reservations.txt",
            argv=("scontrol", "show", "reservation", "--oneliner"),
            what="reservations that are yet to come",
        ),
        SiteCommand(
            file="qos.txt",
            argv=("sacctmgr", "show", "qos", "-P", f"format={_QOS}"),
            mark="Name|",
            what="QOS, their priorities and limits",
        ),
        SiteCommand(
            file="events_sacctmgr.txt",
            argv=(
                "sacctmgr", "show", "event", "-P", start,
                "format=Cluster,NodeName,TimeStart,TimeEnd,State,Reason,User",
            ),
            mark="NodeName|",
            what="outages and drains: the machine is taken as whole all the time",
        ),
        SiteCommand(
            file="sacct_resv.txt",
            argv=(
                "sacctmgr", "show", "reservation", "-P", start,
                "format=Cluster,Name,TRES,TimeStart,TimeEnd,NodeNames,Flags",
            ),
            mark="Name|",
            what="past reservations and maintenance",
        ),
        SiteCommand(
            file="sshare.txt",
            argv=("sshare", "-a", "-P", "-l"),
            mark="Account|",
            what="usage at the beginning of the log: fair-share begins with none",
        ),
        SiteCommand(file="sprio.txt", argv=("sprio", "-l"), optional=True),
        SiteCommand(file="sdiag.txt", argv=("sdiag",), optional=True),
    )  # fmt: skip


CONFIGURATION = ("slurm.conf", "gres.conf", "topology.conf")
"""Slurm's own files beside what slurm.conf includes."""


def conf_command(file: str, folder: str = "/etc/slurm") -> SiteCommand:
    """Copies a file of Slurm's configuration.

    Examples
    --------
    >>> conf_command("gres.conf").argv
    ('cat', '/etc/slurm/gres.conf')
    """
    what = {"gres.conf": "which GPUs are near which socket", "topology.conf": "the switches"}
    return SiteCommand(
        file=file.rpartition("/")[2],
        argv=("cat", file if file.startswith("/") else f"{folder}/{file}"),
        what=what.get(file, "node sets, and the text that deploy changes"),
        optional=True,
    )


def day_command(
    day: date, *, today: date, columns: str = RECOMMENDED, delimiter: str = BY_HAND
) -> SiteCommand:
    """The sacct of one day: every job that waited or ran on it.

    ``delimiter`` should be drawn: users write the usual one into names and constraints.

    Examples
    --------
    >>> day_command(date(2026, 5, 1), today=date(2026, 6, 1)).argv[6:10]
    ('-S', '2026-05-01T00:00:00', '-E', '2026-05-02T00:00:00')
    """
    end = "now" if day >= today else f"{(day + timedelta(days=1)).isoformat()}T00:00:00"
    return SiteCommand(
        file=f"{DAYS}/{day.isoformat()}.psv",
        argv=(
            "sacct", "-a", "-X", "-D", "-P", "--noconvert", "-S", f"{day.isoformat()}T00:00:00",
            "-E", end, f"--delimiter={delimiter}", f"--format={columns}",
        ),
        mark=columns.replace(",", BETWEEN),
        what="the jobs",
    )  # fmt: skip


def days_between(since: date, until: date) -> Iterator[date]:
    """Every day from the first to the last, both included."""
    for number in range((until - since).days + 1):
        yield since + timedelta(days=number)
