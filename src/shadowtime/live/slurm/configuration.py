"""Slurm's configuration: which partitions a loop drives, and which users may act there."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

from shadowtime.errors import UsageError
from shadowtime.live.port import PortError
from shadowtime.live.runner import NotInstalled
from shadowtime.live.slurm.state import Scope
from shadowtime.slurmtext.conf import consumes_memory, parse_config
from shadowtime.slurmtext.scontrol import records

if TYPE_CHECKING:
    from collections.abc import Sequence

    from shadowtime.live.runner import Runner


class NotReady(PortError):
    """Slurm answers but is not ready yet: a loop waits for it."""


class Unreachable(PortError):
    """Slurm's commands are configured and fail: slurmctld is away, or they fail now and then."""


_NOT_CONFIGURED = re.compile(
    r"configuration (source|file)|slurm\.conf|pars(e|ing)|Unknown host", re.I
)
"""What Slurm's commands say where waiting does not help."""


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
    if not partition or "," in partition:
        partition = chosen(partition, run(("scontrol", "--oneliner", "show", "partition")).out)
    settings = parse_config(config.out)
    return Scope(
        partition=partition,
        gres=tuple(gres),
        memory=bool(consumes_memory(settings)),
        name=settings.get("ClusterName", "slurm"),
    )


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
