"""One pass on a given state: the simulator's decision code for a cluster that is not simulated."""

from shadowtime.engine.once.decide import Decided, decide
from shadowtime.engine.once.memory import History, Memory, Note
from shadowtime.engine.once.moment import (
    Decision,
    Ended,
    Place,
    Running,
    Start,
    State,
    Stop,
    Waiting,
    natural,
)

__all__ = [
    "Decided",
    "Decision",
    "Ended",
    "History",
    "Memory",
    "Note",
    "Place",
    "Running",
    "Start",
    "State",
    "Stop",
    "Waiting",
    "decide",
    "natural",
]
