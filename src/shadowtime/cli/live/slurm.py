"""shadowtime live slurm: the loop over a Slurm cluster."""

from __future__ import annotations

from typing import Any

import click

from shadowtime.cli.common.lazy import Entry, LazyGroup
from shadowtime.cli.live import options as live
from shadowtime.cli.live.operation import Operation, operation

COMMANDS = {
    "setup": Entry("Commands", "Put up the gate: every change shown, undone.", "slurm_setup"),
    "status": Entry("Commands", "Waiting jobs, and when each will start.", "slurm_status"),
    "release": Entry("Commands", "Give the queue back to Slurm.", "slurm_release"),
    "accuracy": Entry("Commands", "How good predicted starts were.", "slurm_accuracy"),
}


@click.group(
    "slurm",
    cls=LazyGroup,
    package="shadowtime.cli.live",
    entries=COMMANDS,
    invoke_without_command=True,
    context_settings={"max_content_width": 100},
)
@live.policy
@click.option(
    "--apply", "act", is_flag=True, help="Act. Without it: decide and print, change nothing."
)
@live.partition
@live.shape
@live.gres
@live.state
@click.option("--until-idle", is_flag=True, help="Leave when no job waits and none runs.")
@click.option(
    "--record",
    metavar="FILE",
    type=click.Path(dir_okay=False),
    help="Append every pass: what was seen, remembered and decided.",
)
@click.option(
    "--every",
    type=click.FloatRange(min=0.05),
    default=0.25,
    show_default=True,
    metavar="SECONDS",
    help="How often Slurm is asked while things happen; less often while they do not.",
)
@live.timeout
@operation
@click.pass_context
def command(context: click.Context, /, **given: Any) -> None:
    """Drive Slurm with a policy: the same value and the same code as in a simulation.

    In shadow mode, which is the default, nothing is touched. With --apply jobs at the gate
    (see `setup`) are placed and let through, and running ones requeued where the policy preempts.
    The policy `slurm` only predicts, for a Slurm that schedules by itself (see `accuracy`).

    \b
    shadowtime live slurm --policy easy --for 1h
    shadowtime live slurm --policy pv-easy --apply --record passes.jsonl
    shadowtime live slurm --policy easy --apply --log-format json --metrics-port 9341
    shadowtime live slurm --policy lessc --apply --gres membw
    shadowtime live slurm --policy slurm --for 1h
    shadowtime live slurm --policy mine.py:mine --pass-limit 2 --fallback easy
    """
    if context.invoked_subcommand is None:
        run_loop(**given)


def run_loop(
    *,
    policy: str | None,
    act: bool,
    partition: str,
    shape: Any,
    gres: tuple[str, ...],
    state_file: str | None,
    until_idle: bool,
    record: str | None,
    every: float,
    timeout: float,
    **given: Any,
) -> None:
    """The command itself; ``given`` are the options of :mod:`shadowtime.cli.live.operation`."""
    import contextlib
    import sys
    from pathlib import Path

    from shadowtime.cli.common.compiling import compile_notice
    from shadowtime.cli.live.slurm_watch import refuse_acting, run_watch
    from shadowtime.engine.live_pass.decide import refuse
    from shadowtime.engine.live_pass.on_site import refuse_on_site
    from shadowtime.live.heartbeat import Heartbeat, heartbeat_of, notifier
    from shadowtime.live.lock import one_loop
    from shadowtime.live.log import Told
    from shadowtime.live.loop import Pace
    from shadowtime.live.signals import Interrupted, Signals
    from shadowtime.live.slurm import drive
    from shadowtime.live.store import InMemory, StateFile
    from shadowtime.policy import parse_policy
    from shadowtime.policy.snapshot import name_of
    from shadowtime.slurm.policy import SlurmPolicy

    if policy is None:
        raise click.UsageError("name a policy: --policy easy", ctx=click.get_current_context())
    chosen: Any = parse_policy(policy)
    how = Operation(**given)
    if isinstance(chosen, SlurmPolicy):
        refuse_acting(act=act, shape=shape, gres=gres, record=record)
        run_watch(
            chosen,
            partition=partition,
            state_file=state_file,
            until_idle=until_idle,
            every=every,
            timeout=timeout,
            how=how,
        )
        return
    refuse(chosen)
    own = how.own_code(chosen, policy)
    tell, notify = how.log(), notifier()
    interrupted, loop, counting = False, None, None
    with contextlib.ExitStack() as stack:
        signals = stack.enter_context(Signals())
        try:
            where = drive.Where(partition=partition, gres=gres, timeout=timeout)
            port = drive.wait_for_port(where, tell=tell, stopped=how.over())
            beat = Heartbeat(path=None, clock=port.clock, notify=notify)
            name = port.view.partition
            seen_as = drive.choose_shape(port, chosen, shape)
            if own is not None and seen_as == "site":
                refuse_on_site(own.fallback)
            if act:
                identity = drive.identity_of(port.run)
                for one in sorted(port.view.driven):
                    what = f"partition {one} of {port.view.name}"
                    stack.enter_context(one_loop(what, identity=identity))
            if act or state_file:
                path = Path(state_file or drive.default_state_file(name))
                path.parent.mkdir(parents=True, exist_ok=True)
                store: Any = StateFile(path, tell=tell)
                beat.path = heartbeat_of(path)
                stack.enter_context(store.locked())
            else:
                store = InMemory()
            mode = "apply" if act else "shadow"
            labels = {"cluster": port.view.name, "partition": name, "policy": name_of(chosen)}
            counting = stack.enter_context(how.counting({**labels, "mode": mode}, tell=tell))
            loop = drive.make_loop(
                port,
                chosen,
                store,
                shape=seen_as,
                act=act,
                pace=Pace(every=every, slowest=max(2.0, every)),
                tell=tell,
                record=Path(record) if record else None,
                beat=beat,
                attention=signals,
                own=own,
            )
            notify("READY=1")
            does = "acting" if act else "shadow mode: touching nothing"
            where_on = f"partitions {name}" if "," in name else f"partition {name}"
            how_seen = " as a site" if seen_as == "site" else ""
            line = f"{name_of(chosen)} on {where_on}{how_seen}, {does}"
            tell(Told(line, event="begin", **labels))
            with compile_notice("the policy's pass", "half a minute"):
                how.run(loop, counting, until_idle=until_idle)
        except Interrupted:
            interrupted = True
        notify("STOPPING=1")
    if (until_idle or interrupted or how.length) and loop is not None and counting is not None:
        print(how.summary(loop, counting), file=sys.stderr)
