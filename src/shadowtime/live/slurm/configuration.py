"""Slurm's configuration: which partitions a loop drives, and which users may act there."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from shadowtime.errors import PortError, UsageError
from shadowtime.live.runner import Commands, NotInstalled, Runner
from shadowtime.private import state_path
from shadowtime.slurmtext.conf import consumes_memory, parse_config
from shadowtime.slurmtext.scontrol import records
from shadowtime.slurmtext.squeue import ENVIRONMENT


class NotReady(PortError):
    """Slurm answers but is not ready yet: a loop waits for it."""


class Unreachable(PortError):
    """Slurm's commands are configured and fail: slurmctld is away, or they fail now and then."""


_NOT_CONFIGURED = re.compile(
    r"configuration (source|file)|slurm\.conf|pars(e|ing)|Unknown host", re.I
)
"""What Slurm's commands say where waiting does not help."""


@dataclass(frozen=True, kw_only=True)
class Scope:
    """The part of the cluster that the loop is responsible for."""

    partition: str
    """Its name; several separated by commas."""
    gres: tuple[str, ...] = ()
    memory: bool = False
    """Whether Slurm counts memory."""
    name: str = "slurm"
    bandwidth: str = ""
    """The generic resource that is memory bandwidth, if the policy limits it."""
    sized: bool = False
    """Whether the policy chooses among the numbers of nodes that jobs permit, in whole nodes."""
    site: bool = False
    """Whether the policy sees the whole site, with everything that jobs can request."""

    @property
    def driven(self) -> frozenset[str]:
        """The partitions.

        Examples
        --------
        >>> sorted(Scope(partition="a,b").driven)
        ['a', 'b']
        """
        return frozenset(self.partition.split(","))

    @property
    def resources(self) -> tuple[str, ...]:
        return ("procs", *(("memory",) if self.memory else ()), *self.gres)


def commands(timeout: float) -> Commands:
    """Slurm's commands as this process finds them."""
    return Commands(timeout=timeout, env={**os.environ, **ENVIRONMENT})


def look_at(run: Runner, *, partition: str = "", gres: Sequence[str] = ()) -> Scope:
    """What the loop is responsible for, from Slurm's own configuration."""
    try:
        config = run(("scontrol", "show", "config"))
    except NotInstalled as error:
        raise NotInstalled(
            f"{error}: run this on a machine with Slurm's commands, such as a login node"
        ) from None
    if config.code != 0:
        output = (config.err or config.out).strip().splitlines() or ["no reason given"]
        reason = output[0].removeprefix("scontrol: ").removeprefix("error: ")
        lasting = any(_NOT_CONFIGURED.search(line) for line in output)
        raise (PortError if lasting else Unreachable)(
            f"Slurm does not answer ({reason}): is slurmctld running, and does SLURM_CONF name "
            "its configuration?"
        )
    settings = parse_config(config.out)
    return Scope(
        partition=partitions(run, partition),
        gres=tuple(gres),
        memory=bool(consumes_memory(settings)),
        name=settings.get("ClusterName", "slurm"),
    )


def partitions(run: Runner, wanted: str) -> str:
    """The partitions that are meant; Slurm is asked for them unless a single one is named."""
    if wanted and "," not in wanted:
        return wanted
    return chosen(wanted, run(("scontrol", "--oneliner", "show", "partition")).out)


def default_state_file(partition: str) -> Path:
    """Where the loop of a partition keeps its state unless a file is named."""
    return state_path(f"slurm-{partition}")


def chosen(wanted: str, shown: str) -> str:
    """The partitions to drive, each once, as Slurm knows them; its default where none is named.

    Examples
    --------
    >>> shown = "PartitionName=a Default=NO\\nPartitionName=b Default=YES\\n"
    >>> chosen("a, b,a", shown), chosen("", shown)
    ('a,b', 'b')
    """
    known = {one["partitionname"]: one for _, one in records(shown) if "partitionname" in one}
    if not known:
        raise NotReady("Slurm shows no partition yet: is slurmctld starting?")
    names = list(dict.fromkeys(name.strip() for name in wanted.split(",") if name.strip()))
    if not wanted:
        names = [name for name, one in known.items() if one.get("default") == "YES"][:1]
        if not names:
            raise UsageError("Slurm has no default partition: name one with --partition")
    strange = [name for name in names if name not in known]
    if len(strange) == len(names):  # of several, those that are there are served
        raise UsageError(f"Slurm has no partition {strange[0]}: it has {', '.join(sorted(known))}")
    return ",".join(names)


def refuse_strangers(run: Runner, *, uid: int | None = None) -> None:
    """Only SlurmUser and root can place and stop the jobs of others."""
    uid = os.geteuid() if uid is None else uid
    owner = parse_config(run(("scontrol", "show", "config")).out).get("SlurmUser", "")
    number = owner.partition("(")[2].rstrip(")")  # slurm(64030)
    if uid not in {0, *([int(number)] if number.isdecimal() else [])}:
        raise UsageError(
            "only SlurmUser or root may act on the jobs of others: run the loop as one of them, "
            "or without --apply to see what it would do"
        )
