"""shadowtime live condor: a policy on an HTCondor pool."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import Any

import click

from shadowtime.cli import options
from shadowtime.cli.trace_options import Span


@click.command("condor")
@click.option(
    "--policy",
    "-p",
    metavar="P",
    shell_complete=options.policy_names,
    help="A name with or without parameters: ibb, 'easy(reserve=4)'.",
)
@click.option("--apply", "act", is_flag=True, help="Start and stop jobs; without it only look on.")
@click.option(
    "--state",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="What outlives a restart. [default with --apply: "
    "~/.local/state/shadowtime/live-condor.json]",
)
@click.option("--until-idle", is_flag=True, help="End when nobody waits and nobody runs.")
@click.option("--once", is_flag=True, help="End after one look.")
@click.option(
    "--shape",
    type=click.Choice(["pool", "hosts"]),
    default="pool",
    show_default=True,
    help="How the policy sees the slots: one sum, or each on its own.",
)
@click.option("--pool", "collector", metavar="HOST", default="", help="The collector to ask.")
@click.option("--schedd", metavar="NAME", default="", help="The schedd whose jobs are managed.")
@click.option(
    "--default-request",
    type=Span(),
    default="1h",
    show_default=True,
    metavar="SPAN",
    help="Time limit of jobs that give none.",
)
@click.option(
    "--overhead",
    type=Span(),
    default="2s",
    show_default=True,
    metavar="SPAN",
    help="What a start costs, added to every time limit.",
)
@click.option("--every", type=float, default=0.5, show_default=True, help="Seconds between looks.")
@click.option("--print-setup", is_flag=True, help="Print what the schedd's configuration needs.")
def command(
    policy: str | None,
    act: bool,
    until_idle: bool,
    once: bool,
    print_setup: bool,
    **how: Any,
) -> None:
    """Drive an HTCondor pool: every waiting job is started, and placed, by a policy.

    Jobs wait on hold (--print-setup shows how they get there), are pinned to slots and released.
    Without --apply nothing is touched: what would be done is told on standard error.

    \b
    shadowtime live condor --policy ibb
    shadowtime live condor --policy ibb --apply
    """
    from shadowtime.errors import UsageError
    from shadowtime.live.condor.gate import TRANSFORM

    if print_setup:
        click.echo(TRANSFORM, nl=False)
        return
    if policy is None:
        raise UsageError("say which policy: --policy ibb (`shadowtime policies` lists them)")
    _drive(policy, act=act, until_idle=until_idle, once=once, **how)


def _drive(
    policy: str,
    *,
    act: bool,
    until_idle: bool,
    once: bool,
    state: Path | None,
    shape: Any,
    collector: str,
    schedd: str,
    default_request: int,
    overhead: int,
    every: float,
) -> None:
    from shadowtime.cli.console import note
    from shadowtime.errors import UsageError
    from shadowtime.live.clock import SystemClock
    from shadowtime.live.condor.client import Pool
    from shadowtime.live.condor.jobs import Reading
    from shadowtime.live.condor.port import CondorPort
    from shadowtime.live.loop import Loop, Pace
    from shadowtime.live.store import InMemory, StateFile
    from shadowtime.policy import parse_policy

    if every <= 0:
        raise UsageError(f"--every {every} is no pause: give seconds above 0")
    port = CondorPort(
        client=Pool(collector=collector, schedd=schedd),
        clock=SystemClock(),
        reading=Reading(default_request=default_request, overhead=overhead),
        tell=note,
    )
    if act and state is None:
        state = Path.home() / ".local" / "state" / "shadowtime" / "live-condor.json"
        state.parent.mkdir(parents=True, exist_ok=True)
    store = InMemory() if state is None else StateFile(state)
    loop = Loop(
        port=port,
        policy=parse_policy(policy),
        store=store,
        clock=SystemClock(),
        shape=shape,
        act=act,
        pace=Pace(every=every, slowest=max(2.0, every)),
        tell=note,
    )
    note("acting on HTCondor" if act else "looking on (--apply lets it act)")
    with store.locked() if isinstance(store, StateFile) else nullcontext():
        if once:
            loop.step()
            return
        stop = _stop_on_signals()
        loop.run(until_idle=until_idle, stopped=lambda: bool(stop))


def _stop_on_signals() -> list[int]:
    """A list that is empty until somebody asks us to end."""
    import signal

    asked: list[int] = []
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda received, frame: asked.append(received))
    return asked
