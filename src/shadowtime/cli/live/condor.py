"""shadowtime live condor: a policy on an HTCondor pool."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from shadowtime.cli.common.amounts import Span
from shadowtime.cli.live import options as live
from shadowtime.cli.live.operation import Operation, operation

if TYPE_CHECKING:
    from pathlib import Path


@click.command("condor")
@live.policy
@click.option(
    "--apply", "act", is_flag=True, help="Act. Without it: decide and print, change nothing."
)
@click.option(
    "--shape",
    type=click.Choice(["pool", "hosts"]),
    default="pool",
    show_default=True,
    help="How the policy sees the slots: one sum, or each on its own.",
)
@live.state
@click.option("--until-idle", is_flag=True, help="Leave when no job waits and none runs.")
@click.option("--once", is_flag=True, help="Leave after one look.")
@click.option(
    "--record",
    metavar="FILE",
    type=click.Path(dir_okay=False),
    help="Append every pass: what was seen, remembered and decided.",
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
@click.option(
    "--every",
    type=click.FloatRange(min=0.05),
    default=0.5,
    show_default=True,
    metavar="SECONDS",
    help="How often HTCondor is asked while things happen; less often while they do not.",
)
@operation
@click.option("--print-setup", is_flag=True, help="Print what the schedd's configuration needs.")
def command(policy: str | None, print_setup: bool, **given: Any) -> None:
    """Drive an HTCondor pool: every waiting job is started, and placed, by a policy.

    Jobs wait on hold (--print-setup shows how they get there), are pinned to slots and released.
    In shadow mode, which is the default, nothing is touched.

    \b
    shadowtime live condor --policy ibb
    shadowtime live condor --policy ibb --apply --record passes.jsonl
    """
    from shadowtime.live.condor.gate import TRANSFORM

    if print_setup:
        click.echo(TRANSFORM, nl=False)
        return
    if policy is None:
        raise click.UsageError("name a policy: --policy ibb", ctx=click.get_current_context())
    run_loop(policy, **given)


def run_loop(
    policy: str,
    *,
    act: bool,
    shape: Any,
    state_file: str | None,
    until_idle: bool,
    once: bool,
    record: str | None,
    collector: str,
    schedd: str,
    default_request: int,
    overhead: int,
    every: float,
    **given: Any,
) -> None:
    """The command itself; ``given`` are the options of :mod:`shadowtime.cli.live.operation`."""
    import contextlib
    import sys
    from pathlib import Path

    from shadowtime.cli.common.compiling import compile_notice
    from shadowtime.live.clock import SystemClock
    from shadowtime.live.condor.client import Pool
    from shadowtime.live.condor.jobs import Reading
    from shadowtime.live.condor.port import CondorPort
    from shadowtime.live.guarded import guard_for
    from shadowtime.live.heartbeat import Heartbeat, heartbeat_of, notifier
    from shadowtime.live.lock import one_loop
    from shadowtime.live.log import Told
    from shadowtime.live.loop import Loop, Pace
    from shadowtime.live.record import Recorder
    from shadowtime.live.signals import Interrupted, Signals
    from shadowtime.live.store import InMemory, StateFile
    from shadowtime.policy import parse_policy
    from shadowtime.policy.snapshot import name_of

    how = Operation(**given)
    tell = how.log()
    chosen: Any = parse_policy(policy)
    own = how.own_code(chosen, policy)
    client = Pool(collector=collector, schedd=schedd)
    port = CondorPort(
        client=client,
        clock=SystemClock(),
        reading=Reading(default_request=default_request, overhead=overhead),
        tell=tell,
    )
    stopped = False
    with contextlib.ExitStack() as stack:
        signals = stack.enter_context(Signals())
        notify = notifier()
        beat = Heartbeat(path=None, clock=SystemClock(), notify=notify)
        store: Any = InMemory()
        if act:  # the same schedd may be named in several ways: its own name counts
            stack.enter_context(one_loop(f"schedd {client.schedd_name()}"))
        if act or state_file:
            path = Path(state_file) if state_file else default_state_file(schedd)
            path.parent.mkdir(parents=True, exist_ok=True)
            store = StateFile(path, tell=tell)
            beat.path = heartbeat_of(path)
            stack.enter_context(store.locked())
        labels = {"schedd": schedd, "policy": name_of(chosen), "mode": "apply" if act else "shadow"}
        counting = stack.enter_context(how.counting(labels, tell=tell))
        loop = Loop(
            port=port,
            policy=chosen,
            store=store,
            clock=SystemClock(),
            shape=shape,
            act=act,
            pace=Pace(every=every, slowest=max(2.0, every)),
            tell=tell,
            record=(
                Recorder(Path(record), policy=own.text if own else policy, shape=shape, tell=tell)
                if record
                else None
            ),
            beat=beat,
            attention=signals,
            guarded=guard_for(chosen, own, shape=shape, clock=SystemClock(), tell=tell),
        )
        notify("READY=1")
        does = "acting" if act else "shadow mode: touching nothing"
        tell(Told(f"{name_of(chosen)}, {does}", event="begin", **labels))
        try:
            with compile_notice("the policy's pass", "half a minute"):
                if once:
                    stack.callback(loop.end)
                    loop.step()
                else:
                    how.run(loop, counting, until_idle=until_idle)
        except Interrupted:
            stopped = True
        notify("STOPPING=1")
    if until_idle or once or stopped or how.length:
        print(how.summary(loop, counting), file=sys.stderr)


def default_state_file(schedd: str) -> Path:
    """Where the loop keeps what it knows unless told: where systemd says, else at home."""
    import os
    from pathlib import Path

    told = os.environ.get("STATE_DIRECTORY")
    folder = Path(told) if told else Path.home() / ".local" / "state" / "shadowtime"
    return folder / f"live-condor{'-' if schedd else ''}{schedd}.json"
