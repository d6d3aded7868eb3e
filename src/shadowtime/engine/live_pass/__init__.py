"""One pass on a given state: the simulator's decision code for a cluster that is not simulated."""

from shadowtime.engine.live_pass.decide import decide
from shadowtime.engine.live_pass.memory import History, Memory, Note
from shadowtime.engine.live_pass.outcome import Decided
from shadowtime.policy.snapshot import (
    Continue,
    Decision,
    Ended,
    Held,
    Place,
    Promise,
    Resize,
    RunningJob,
    Snapshot,
    Start,
    Stop,
    Suspend,
    WaitingJob,
    natural,
)

__all__ = [
    "Continue",
    "Decided",
    "Decision",
    "Ended",
    "Held",
    "History",
    "Memory",
    "Note",
    "Place",
    "Promise",
    "Resize",
    "RunningJob",
    "Snapshot",
    "Start",
    "Stop",
    "Suspend",
    "WaitingJob",
    "decide",
    "natural",
]
