"""Slurm in the registry of live backends."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from shadowtime.errors import PortError, UsageError
from shadowtime.live.backend import Backend, Command, Option, Target, Wanted
from shadowtime.live.log import LogLine
from shadowtime.live.slurm.gate import LEASE

if TYPE_CHECKING:
    from shadowtime.live.slurm.drive import Where
    from shadowtime.live.slurm.port import SlurmPort

PARTITION = Option(
    name="--partition",
    default="",
    help="The partition, or several as in a,b. [default: Slurm's default one]",
)
GRES = Option(
    name="--gres",
    multiple=True,
    help="A generic resource that the policy counts in addition to processors.",
)
TIMEOUT = Option(
    name="--timeout",
    kind="seconds",
    default=20.0,
    metavar="SECONDS",
    help="Time limit of each of the cluster's commands.",
)
LEASE_OPTION = Option(
    name="--lease",
    kind="span",
    default=LEASE,
    metavar="TIME",
    help="With --apply: if the loop gives no sign of life for this time, Slurm schedules the jobs "
    "by itself.  [default: 15m]",
)
PAUSE = 1.0
"""Seconds before an answer that could not be read is asked for again at the start."""
SHAPE_HELP = (
    "How the policy sees the machine. [default: nodes for policies that share bandwidth; site for "
    "several partitions, mixed or shared nodes, enforced limits; else pool]"
)


def where(wanted: Wanted) -> Where:
    """The part of Slurm that the options name."""
    from shadowtime.live.slurm.drive import Where

    return Where(**{"partition": "", "gres": (), "timeout": 20.0, **wanted.options})


def connect(
    wanted: Wanted,
    *,
    tell: Callable[[str], None] = lambda line: None,
    stopped: Callable[[], bool] = lambda: False,
) -> tuple[SlurmPort, Target]:
    """The partitions that the options name; waits for a slurmctld that is starting.

    A loop that acts asks again where an answer is cut off or garbled as it starts.
    """
    from shadowtime.live.slurm import drive

    patient = wanted.act and not wanted.once
    while True:
        port = drive.wait_for_port(where(wanted), patient=patient, tell=tell, stopped=stopped)
        try:
            shape = drive.choose_shape(port, wanted.policy, wanted.shape)
            return port, drive.target_of(port, wanted.policy, shape, act=wanted.act)
        except PortError as error:
            if not patient or stopped():
                raise
            tell(LogLine(f"asking slurm again: {error}", event="error", why=str(error)))
            port.clock.sleep(PAUSE)


def predict(wanted: Wanted) -> bool:
    """Predict the starts of a Slurm that schedules by itself, if its policy is named."""
    from shadowtime.slurm.policy import SlurmPolicy

    if not isinstance(wanted.policy, SlurmPolicy):
        return False
    if wanted.act:
        raise UsageError(
            "slurm is Slurm's own scheduler, which needs no loop: omit --apply to predict its "
            "starts, or name another policy"
        )
    useless = {
        "shape": wanted.shape,
        "gres": wanted.options.get("gres"),
        "record": wanted.record,
        "once": wanted.once,
    }
    for name, value in useless.items():
        if value:
            raise UsageError(
                f"--{name} has no effect with --policy slurm, which only predicts: omit it"
            )
    from shadowtime.live.slurm.watch import watch_slurm

    watch_slurm(wanted, where(wanted))
    return True


def _command(name: str, help: str, module: str = "slurm_setup") -> Command:
    return Command(help, f"shadowtime.cli.live.{module}:{name}")


SLURM = Backend(
    name="slurm",
    title="Slurm",
    help="""Drive Slurm with a policy, with the same code as in a simulation.

    In shadow mode, the default, nothing is changed. With --apply jobs at the gate (see `setup`) are
    placed and released, and running ones are requeued if the policy preempts. The policy `slurm`
    only predicts, for a Slurm that schedules by itself (see `accuracy`).

    \b
    shadowtime live slurm --policy easy --for 1h
    shadowtime live slurm --policy pv-easy --apply --record passes.jsonl
    shadowtime live slurm --policy easy --apply --log-format json --metrics-port 9341
    shadowtime live slurm --policy lessc --apply --gres membw
    shadowtime live slurm --policy slurm --for 1h
    shadowtime live slurm --policy mine.py:mine --pass-limit 2 --fallback easy
    """,
    connect=connect,
    options=(PARTITION, GRES, TIMEOUT, LEASE_OPTION),
    shapes=("pool", "hosts", "nodes", "site"),
    shape_help=SHAPE_HELP,
    every=0.25,
    commands={
        "setup": _command("setup", "Install the gate, print every change, or undo it."),
        "status": _command("status", "Waiting jobs, and when each will start.", "slurm_status"),
        "release": _command("release", "Return the queue to Slurm."),
        "accuracy": _command("accuracy", "Compare predicted with real starts.", "slurm_status"),
    },
    predict=predict,
    resizes=True,
)
