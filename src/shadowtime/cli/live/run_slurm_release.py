"""Return the queue to Slurm."""

from __future__ import annotations

import contextlib
from pathlib import Path

from shadowtime.cli.common.console import note
from shadowtime.live.lock import one_loop
from shadowtime.live.slurm import drive
from shadowtime.live.slurm.configuration import refuse_strangers
from shadowtime.live.slurm.release import give_back, plan_release
from shadowtime.live.store import StateFile
from shadowtime.printable import printable


def release_queue(
    *, show_only: bool, partition: str, state_file: str | None, timeout: float
) -> int:
    """Release the jobs at the gate; 1 if one of them could not be released."""
    port = drive.make_port(drive.Where(partition=partition, timeout=timeout))
    name = port.scope.partition
    path = Path(state_file or drive.default_state_file(name))
    with contextlib.ExitStack() as stack:
        if not show_only:
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
        if show_only:
            print(*map(printable, plan.words()), sep="\n")
            return 0
        found = give_back(port, plan)
        if path.exists():
            store.save(kept.replace(port={}, intents={}, aside={}))
    print(f"jobs now scheduled by Slurm: {len(found.done)} (partition {name})")
    for job, why in found.held.items():
        print(printable(f"{job} stays held: {why}"))
    return 1 if found.held.keys() - plan.stay.keys() else 0
