"""Slurm's configuration: which partitions a loop drives, and which users may act there."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

from shadowtime.errors import UsageError
from shadowtime.live.port import PortError
from shadowtime.live.runner import NotInstalled
from shadowtime.live.slurm.state import Scope

if TYPE_CHECKING:
    from collections.abc import Sequence

    from shadowtime.live.runner import Runner

_USER = re.compile(r"^SlurmUser\s*=\s*\S+\((\d+)\)", re.MULTILINE)
_SELECT = re.compile(r"^SelectTypeParameters\s*=\s*(\S+)", re.MULTILINE)
_NAME = re.compile(r"^ClusterName\s*=\s*(\S+)", re.MULTILINE)
_DEFAULT = re.compile(r"^PartitionName=(\S+).*? Default=YES", re.MULTILINE)


class NotReady(PortError):
    """Slurm answers but is not ready yet: a loop waits for it."""


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
        raise PortError(
            f"Slurm does not answer ({reason}): is slurmctld running, and does SLURM_CONF name "
            "its configuration?"
        )
    if not partition:
        shown = run(("scontrol", "--oneliner", "show", "partition")).out
        if "PartitionName=" not in shown:
            raise NotReady("Slurm shows no partition yet: is slurmctld starting?")
        default = _DEFAULT.search(shown)
        if default is None:
            raise UsageError("Slurm has no default partition: name one with --partition")
        partition = default[1]
    elif "," in partition:
        partition = several(partition, run(("scontrol", "--oneliner", "show", "partition")).out)
    select, name = _SELECT.search(config.out), _NAME.search(config.out)
    return Scope(
        partition=partition,
        gres=tuple(gres),
        memory=select is not None and "MEMORY" in select[1].upper(),
        name=name[1] if name else "slurm",
    )


def several(wanted: str, shown: str) -> str:
    """Several partitions, each once, as Slurm knows them.

    Examples
    --------
    >>> several("a, b,a", "PartitionName=a X=1\\nPartitionName=b X=1\\n")
    'a,b'
    """
    names = list(dict.fromkeys(name.strip() for name in wanted.split(",") if name.strip()))
    known = set(re.findall(r"^PartitionName=(\S+)", shown, re.MULTILINE))
    if not known:
        raise NotReady("Slurm shows no partition yet: is slurmctld starting?")
    strange = [name for name in names if name not in known]
    if strange:
        raise UsageError(f"Slurm has no partition {strange[0]}: it has {', '.join(sorted(known))}")
    return ",".join(names)


def refuse_strangers(run: Runner, *, uid: int | None = None) -> None:
    """Only SlurmUser and root can place and stop the jobs of others."""
    uid = os.geteuid() if uid is None else uid
    found = _USER.search(run(("scontrol", "show", "config")).out)
    allowed = {0} | ({int(found[1])} if found else set())
    if uid not in allowed:
        raise UsageError(
            "only SlurmUser or root may act on the jobs of others: run the loop as one of them, "
            "or without --apply to see what it would do"
        )
