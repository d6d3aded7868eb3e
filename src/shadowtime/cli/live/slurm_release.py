"""shadowtime live slurm release: return the queue to Slurm."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import TYPE_CHECKING

from shadowtime.cli.common.console import note
from shadowtime.live.lock import one_loop
from shadowtime.live.slurm import drive
from shadowtime.live.slurm.configuration import refuse_strangers
from shadowtime.live.slurm.release import give_back, plan_release
from shadowtime.live.store import StateFile
from shadowtime.printable import printable

if TYPE_CHECKING:
    from shadowtime.types import File


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
            refuse_strangers(port.run)
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
