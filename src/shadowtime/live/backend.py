"""What a live backend is: a scheduler that a loop can drive.

A backend is a value of :class:`Backend`: how to connect, which options it adds to the command line
and which commands. ``shadowtime live NAME`` is made from it. They are listed in live/registry.py.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from shadowtime.types import File

if TYPE_CHECKING:
    from shadowtime.engine.live_pass.outcome import Shape
    from shadowtime.live.clock import Clock
    from shadowtime.live.log_watcher import LogWatcher
    from shadowtime.live.loop import Loop
    from shadowtime.live.operation import Operation
    from shadowtime.live.port import Port

    Kind = Literal["text", "span", "seconds", "flag"]


@dataclass(frozen=True, kw_only=True)
class Option:
    """An option that a backend adds to its commands.

    A ``span`` is a length of time such as 90s, 5m or 1h, in whole seconds; ``seconds`` is a number
    from 0.1. With ``multiple`` the value is a tuple. An option with ``prints`` prints that text,
    and no loop runs.

    Examples
    --------
    >>> Option(name="--default-request", help="Time limit of jobs that give none.").key
    'default_request'
    """

    name: str
    help: str
    kind: Kind = "text"
    metavar: str = "NAME"
    default: Any = None
    multiple: bool = False
    prints: str = ""

    @property
    def key(self) -> str:
        """The name of its value in :attr:`Wanted.options`."""
        return self.name.lstrip("-").replace("-", "_")


class Command(NamedTuple):
    """A further command of a backend: its summary, and its click command as module:name.

    In a file of ours ``name`` is a function, from which the command is made.
    """

    help: str
    path: str


@dataclass(frozen=True, kw_only=True)
class Wanted:
    """What the user wants from a backend."""

    policy: Any
    operation: Operation
    act: bool = False
    """Act. Without it: decide and print, change nothing."""
    shape: Shape | None = None
    """How the policy sees the machine; None: the backend chooses."""
    state_file: File | None = None
    until_idle: bool = False
    """Exit when no job waits or runs."""
    once: bool = False
    """Exit after one poll."""
    record: File | None = None
    """FILE : Append every pass: the snapshot, the memory and the decisions."""
    every: float = 0.5
    """SECONDS >= 0.05 : How often it is polled while things happen; less often while they do
    not."""
    options: Mapping[str, Any] = field(default_factory=dict)
    """The values of the backend's own options, by :attr:`Option.key`."""


@dataclass(frozen=True, kw_only=True)
class Target:
    """What is driven through a port: its title, labels, lock and state file."""

    shape: Shape | None = None
    """None: as the user wants it, else a pool."""
    title: str = "the cluster"
    """For people: ``partition batch``."""
    labels: Mapping[str, str] = field(default_factory=dict)
    """For metrics and structured logs: ``{"partition": "batch"}``."""
    locks: tuple[tuple[str, str], ...] = ()
    """What only one loop may drive, and what distinguishes two of the same name."""
    state_name: str = "live"
    """The default name of the state file, without its suffix."""
    watcher: LogWatcher | None = None
    """The scheduler's log, if the loop may read it."""
    attach: Callable[[Loop], None] = lambda loop: None
    """Called with the loop once it is created, for ports that need its memory."""
    clock: Clock | None = None
    resizes: bool = False
    """Whether jobs run on whole equal nodes and the port shrinks them."""

    def shape_for(self, wanted: Shape | None = None) -> Shape:
        """How policies see the machine."""
        return self.shape or wanted or "pool"


def no_prediction(wanted: Wanted) -> bool:
    """Every policy is run by the loop."""
    return False


@dataclass(frozen=True, kw_only=True)
class Backend:
    """A scheduler that can be driven.

    Rules
    -----
    ``connect`` is called with what is wanted, a function that logs a line and one that returns
    whether the run is over; it returns a port (see :class:`shadowtime.live.port.Port`) and its
    target. It raises UsageError for what cannot be done, and checks that the user may act if
    ``act`` is set. ``predict`` takes policies that need no loop, such as Slurm's own scheduler, and
    returns whether it has run one.
    """

    name: str
    title: str
    """The scheduler's own name: ``HTCondor``."""
    help: str
    """What ``shadowtime live NAME --help`` prints, with examples."""
    connect: Callable[..., tuple[Port, Target]]
    options: tuple[Option, ...] = ()
    shapes: tuple[Shape, ...] = ("pool", "hosts")
    shape_help: str = "How the policy sees the machine: one sum, or each host. [default: pool]"
    every: float = 0.5
    """Default number of seconds between two polls while things happen."""
    example: str = "easy"
    """A policy to name in messages."""
    commands: Mapping[str, Command] = field(default_factory=dict)
    """Further commands; every backend has ``status``."""
    resizes: bool = False
    """Whether running jobs can be shrunk."""
    predict: Callable[[Wanted], bool] = no_prediction
