"""The state of a run of slurmctld as bytes, and a run that continues from them.

Saved is all that a loop holds except what its constructor makes of the inputs: those are named, and
the loop that continues has its own. Caches are left out; a pass that lacks them decides the same.
Of the events only those are saved that the run itself has added, and which of the others are left.
"""

from __future__ import annotations

import io
import itertools
import pickle
from typing import TYPE_CHECKING, Any

from shadowtime.engine.values import Values
from shadowtime.slurm.running import Running

if TYPE_CHECKING:
    from shadowtime.slurm.loop import Loop

REBUILT = ("workload", "site", "requests", "phase", "longer", "watched", "rows", "events", "asks")
"""What a new loop has already, or gets back piece by piece."""


def saved(loop: Loop) -> bytes:
    """The state of a loop between two events."""
    left, added = loop.events.since(loop.opened)
    more = len(loop.rows) - loop.first_rows
    state = {name: value for name, value in vars(loop).items() if name not in REBUILT}
    state |= {
        "left": left,
        "added": added,
        "number": loop.events.number,
        "more_rows": list(itertools.islice(reversed(loop.rows.items()), more)),
    }
    names = {id(value): name for name, value in named(loop).items()}
    file = io.BytesIO()
    _Pickler(file, names).dump(state)
    return file.getvalue()


def restore(loop: Loop, raw: bytes) -> None:
    """Continue from a saved state, on a loop that is ready for its first event."""
    state = _Unpickler(io.BytesIO(raw), named(loop)).load()
    loop.events.restore(state.pop("left"), state.pop("added"), state.pop("number"))
    loop.rows.update(state.pop("more_rows")[::-1])
    vars(loop).update(state)
    queue = loop.state.queue
    if queue is not None:
        queue.rows[:] = -1  # rows of arrays that are written anew
        for record in queue:
            record.row = -1


def named(loop: Loop) -> dict[str, Any]:
    """The parts of a loop that its constructor makes of the inputs, and that no event changes."""
    state = loop.state
    found = {
        "workload": loop.workload,
        "site": loop.site,
        "requests": loop.requests,
        "machine": state.machine,
        "full cores": state.machine.full_cores,
        "parameters": state.parameters,
        "preemption": state.preemption,
        "chooser": state.chooser,
        "board": state.board,
        "limits": state.accounts.qos,
        "chains": state.accounts.chains,
    }
    found |= {f"section {name}": one for name, one in state.machine.sections.items()}
    found |= {f"ask {at}": one for at, one in enumerate(loop.asks)}
    if loop.depends is not None:
        for name in ("good", "wishes", "dependents"):
            found[name] = getattr(loop.depends, name)
    return found


class _Pickler(pickle.Pickler):
    def __init__(self, file: io.BytesIO, names: dict[int, str]) -> None:
        super().__init__(file, protocol=5)
        self.names = names

    def persistent_id(self, obj: Any) -> str | None:
        return self.names.get(id(obj))

    def reducer_override(self, obj: Any) -> Any:
        if type(obj) is Running:  # its sums are counted anew
            return Running, (list(obj),)
        return NotImplemented


class _Unpickler(Values):
    def __init__(self, file: io.BytesIO, known: dict[str, Any]) -> None:
        super().__init__(file)
        self.known = known

    def persistent_load(self, pid: str) -> Any:
        return self.known[pid]
