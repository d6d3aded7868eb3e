"""Print what an administrator changes for the loop."""

from __future__ import annotations

import pwd
import re
from pathlib import Path

from shadowtime.cli.common.slurm_folder import slurm_folder
from shadowtime.cluster.slurm import parse_slurm_conf
from shadowtime.errors import UsageError
from shadowtime.live.slurm import setup
from shadowtime.live.slurm.unit import unit_text


def print_setup(
    *,
    show_only: bool,
    unit: bool,
    undo_it: bool,
    folder: str | None,
    partition: str,
    master: tuple[int, ...],
    lease: int,
) -> None:
    """Print the settings and commands for a partition."""
    if unit:
        print(unit_text(), end="")
        return
    where = slurm_folder(folder or "", conf_lost=undo_it)
    if undo_it:
        changes = setup.plan_undo(where)
    else:
        names, default = _partitions(where, partition)
        masters = sorted({0, *_slurm_user(where), *master})
        changes = setup.plan_setup(
            where, partitions=names, default=default, masters=masters, lease=lease
        )
    for change in changes:
        print(change.diff(), end="")
    if show_only:
        return
    if undo_it:
        setup.undo(changes, where)
    else:
        setup.carry_out(changes, where)
    print(f"{len(changes)} files changed in {where}; restart slurmctld to apply the changes")
    if undo_it:
        print("jobs still at the gate: Slurm starts them when their leases end, or at once after")
        print("`shadowtime live slurm release`")
    else:
        print(
            "Slurm schedules the jobs that wait now until the loop runs with --apply, which brings "
            "them to the gate"
        )


def _partitions(folder: object, wanted: str) -> tuple[list[str], bool]:
    """The partitions' names, and whether they include the default one, from slurm.conf."""
    path = Path(str(folder)) / "slurm.conf"
    known = parse_slurm_conf(
        path.read_text(), path=str(path), include=lambda name: (path.parent / name).read_text()
    ).options["partitions"]
    default = next((name for name, record in known.items() if record["default"]), "")
    names = [name.strip() for name in wanted.split(",") if name.strip()] or [default]
    for name in names:
        if name not in known:
            there = ", ".join(known) or "none"
            raise UsageError(f"{path} has no partition {name or '(default)'}: it has {there}")
    return list(dict.fromkeys(names)), default in names


def _slurm_user(folder: object) -> set[int]:
    """The user id of SlurmUser, if slurm.conf names one that this machine knows."""
    text = (Path(str(folder)) / "slurm.conf").read_text()
    found = re.search(r"^\s*SlurmUser\s*=\s*([^\s(#]+)", text, re.IGNORECASE | re.MULTILINE)
    if found is None:
        return set()
    try:
        return {int(found[1])} if found[1].isdigit() else {pwd.getpwnam(found[1]).pw_uid}
    except KeyError:
        return set()
