"""The state of a run of slurmctld as bytes, and a run that continues from them.

Saved is all that a loop holds except what its constructor makes of the inputs: those are named, and
the loop that continues has its own. Caches are left out; a pass that lacks them decides the same.
Of the events only those are saved that the run itself has added, and which of the others are left.
Jobs that are over do not change any more: each checkpoint packs those that have ended since the
last one, so that it takes no longer late in a year than early.
"""

from __future__ import annotations

import io
import itertools
import pickle
from typing import TYPE_CHECKING, Any

import numpy as np

from shadowtime.engine.values import Values
from shadowtime.slurm.running import Running

if TYPE_CHECKING:
    from shadowtime.slurm.loop import Loop
    from shadowtime.slurm.outcome import SlurmRun

REBUILT = (
    "workload", "site", "requests", "phase", "longer", "watched", "asks", "rows", "events", "out",
    "over_in", "lane",
)  # fmt: skip
"""What a new loop has already, or gets back piece by piece."""


def saved(loop: Loop) -> list[bytes]:
    """The state of a loop between two events."""
    left, added = loop.events.since(loop.opened)
    more = len(loop.rows) - loop.first_rows
    out = loop.out
    names = {id(value): name for name, value in named(loop).items()}
    ended = [row for row in loop.begun if out.end[row] >= 0]
    loop.over_in.append(_packed(_rows(out, ended), names))
    loop.begun.difference_update(ended)
    state = {name: value for name, value in vars(loop).items() if name not in REBUILT}
    state |= {
        "open": _rows(out, sorted(loop.begun)),
        "counts": (out.preemptions, out.passes, out.lost, out.paused),
        "events_left": left,
        "added": added,
        "number": loop.events.number,
        "more_rows": list(itertools.islice(reversed(loop.rows.items()), more)),
    }
    return [pickle.dumps([_packed(state, names), *loop.over_in], protocol=5)]


def restore(loop: Loop, raw: memoryview) -> None:
    """Continue from a saved state, on a loop that is ready for its first event."""
    known, out = named(loop), loop.out
    packed, *loop.over_in = Values(io.BytesIO(raw)).load()
    state = _Unpickler(io.BytesIO(packed), known).load()
    out.preemptions, out.passes, out.lost, out.paused = state.pop("counts")
    for one in loop.over_in:
        _put_back(out, _Unpickler(io.BytesIO(one), known).load())
    _put_back(out, state.pop("open"))
    loop.events.restore(state.pop("events_left"), state.pop("added"), state.pop("number"))
    loop.rows.update(state.pop("more_rows")[::-1])
    vars(loop).update(state)
    loop.state.usage.chosen = {}  # by the places of requests in memory, which are others now
    queue = loop.state.queue
    if queue is not None:
        queue.write_again(loop.state)


def _rows(out: SlurmRun, rows: list[int]) -> tuple[Any, ...]:
    """All that is known about some jobs, by column."""
    columns = [[column[row] for row in rows] for column in (out.start, out.end)]
    numbers = [np.array(column, np.int64) for column in (rows, *columns)]
    nodes, words = [out.nodes[row] for row in rows], [out.scheduler[row] for row in rows]
    waited = {row: out.waited_for[row] for row in rows if row in out.waited_for}
    return (*numbers, nodes, words, {row: out.holding[row] for row in rows}, waited)


def _put_back(out: SlurmRun, found: tuple[Any, ...]) -> None:
    """What :func:`_rows` told."""
    rows, start, end, nodes, words, holding, waited = found
    every = zip(rows.tolist(), start.tolist(), end.tolist(), nodes, words, strict=True)
    for row, *values in every:
        out.start[row], out.end[row], out.nodes[row], out.scheduler[row] = values
    out.holding |= holding
    out.waited_for |= waited


def _packed(value: Any, names: dict[int, str]) -> bytes:
    file = io.BytesIO()
    _Pickler(file, names).dump(value)
    return file.getvalue()


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
