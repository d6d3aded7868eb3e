"""shadowtime live slurm setup, release: install and remove the gate; return the queue to Slurm."""

from __future__ import annotations

import contextlib
import pwd
import re
from pathlib import Path

from shadowtime.cli.common.console import note
from shadowtime.errors import UsageError
from shadowtime.live.lock import one_loop
from shadowtime.live.slurm import configuration, drive
from shadowtime.live.slurm import setup as gate_files
from shadowtime.live.slurm.gate import LEASE
from shadowtime.live.slurm.release import give_back, plan_release
from shadowtime.live.slurm.setup import slurm_folder, unit_text
from shadowtime.live.store import StateFile
from shadowtime.printable import printable
from shadowtime.slurmtext.conf import conf_lines, with_defaults
from shadowtime.types import File, Folder, Seconds


def setup(
    *,
    print_: bool = False,
    unit: bool = False,
    undo: bool = False,
    slurm_conf_dir: Folder | None = None,
    partition: str = "",
    master: tuple[int, ...] = (),
    lease: Seconds = LEASE,
) -> None:
    """Let every job of the partitions wait at a gate until the loop releases it.

    The gate is a lease: if no loop runs for a while (--lease), Slurm schedules the jobs by itself.

    Two files in the folder of slurm.conf change: slurm.conf itself and job_submit.lua; an existing
    script is kept and called first. Slurm reads them after `systemctl restart slurmctld`.

    \b
    shadowtime live slurm setup --print
    shadowtime live slurm setup
    shadowtime live slurm setup --unit
    shadowtime live slurm setup --undo

    Parameters
    ----------
    print_ : --dry-run
        Print every change, make none.
    unit
        Print a systemd unit for the loop, change nothing.
    undo
        Undo all changes.
    slurm_conf_dir : DIR
        The folder of slurm.conf. [default: that of $SLURM_CONF, else /etc/slurm]
    master : UID
        A user id that may release jobs besides root and SlurmUser.
    lease : TIME
        If no loop runs for this time, Slurm schedules the jobs by itself. [default: 15m]
    """
    if unit:
        print(unit_text(), end="")
        return
    where = slurm_folder(slurm_conf_dir or "", conf_lost=undo)
    if undo:
        changes = gate_files.plan_undo(where)
    else:
        names, default = _partitions(where, partition)
        masters = sorted({0, *_slurm_user(where), *master})
        changes = gate_files.plan_setup(
            where, partitions=names, default=default, masters=masters, lease=lease
        )
    for change in changes:
        print(change.diff(), end="")
    if print_:
        return
    if undo:
        gate_files.undo(changes, where)
    else:
        gate_files.carry_out(changes, where)
    print(f"{len(changes)} files changed in {where}; restart slurmctld to apply the changes")
    if undo:
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
    lines = conf_lines(
        path.read_text(), path=str(path), include=lambda name: (path.parent / name).read_text()
    )
    found = with_defaults(lines, "partitionname")
    known = {pairs["partitionname"]: pairs.get("default", "").upper() for _, pairs in found}
    default = next((name for name, said in known.items() if said == "YES"), "")
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


def release(
    *, print_: bool = False, partition: str = "", state: File | None = None, timeout: float = 20.0
) -> int:
    """Return every job at the gate to Slurm's own scheduler, with its user's own request.

    Stop the loop first. Jobs that are submitted later are still held at the gate: remove it with
    `setup --undo` and restart slurmctld.

    Exits with 1 if a job could not be released.

    \b
    shadowtime live slurm release --dry-run
    shadowtime live slurm release

    Parameters
    ----------
    print_ : --dry-run
        Change nothing: print the lines for scontrol, and what stays held.
    """
    port = drive.make_port(drive.Where(partition=partition, timeout=timeout))
    name = port.scope.partition
    path = Path(state or drive.default_state_file(name))
    with contextlib.ExitStack() as stack:
        if not print_:
            configuration.refuse_strangers(port.run)
            identity = drive.identity_of(port.run)
            for one in sorted(port.scope.driven):
                what = f"partition {one} of {port.scope.name}"
                stack.enter_context(one_loop(what, identity=identity))
        store = StateFile(path, tell=note)
        kept = store.load()
        port.recall(kept.port)
        rows = port.look()
        now = port.clock.now()
        plan = plan_release(rows, port.touched, name, now=now, begins=port.begins)
        if print_:
            print(*map(printable, plan.words()), sep="\n")
            return 0
        found = give_back(port, plan)
        if path.exists():
            store.save(kept.replace(port={}, intents={}, aside={}))
    print(f"jobs now scheduled by Slurm: {len(found.done)} (partition {name})")
    for job, why in found.held.items():
        print(printable(f"{job} stays held: {why}"))
    return 1 if found.held.keys() - plan.stay.keys() else 0
