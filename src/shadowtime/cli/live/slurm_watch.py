"""shadowtime live slurm --policy slurm: beside a Slurm that schedules by itself."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from shadowtime.errors import UsageError

if TYPE_CHECKING:
    from shadowtime.cli.live.operation import Operation
    from shadowtime.slurm.policy import SlurmPolicy


def refuse_acting(*, act: bool, **given: Any) -> None:
    """Options that mean nothing where nothing is decided."""
    if act:
        raise UsageError(
            "slurm is Slurm's own scheduler, which needs no loop to act for it: leave --apply out "
            "to predict its starts, or name another policy"
        )
    useless = [name for name, value in given.items() if value]
    if useless:
        raise UsageError(
            f"--{useless[0]} has no effect with --policy slurm, which only predicts: leave it out"
        )


def run_watch(
    policy: SlurmPolicy,
    *,
    partition: str,
    state_file: str | None,
    until_idle: bool,
    every: float,
    timeout: float,
    how: Operation,
) -> None:
    """Predict the starts of a Slurm that schedules by itself, and keep the predictions."""
    import contextlib
    import sys
    from collections import Counter
    from pathlib import Path

    from shadowtime.live.heartbeat import Heartbeat, heartbeat_of, notifier
    from shadowtime.live.log import Told
    from shadowtime.live.predictions import Predictions
    from shadowtime.live.signals import Interrupted, Signals
    from shadowtime.live.slurm import drive
    from shadowtime.live.slurm.state import HOLDS
    from shadowtime.live.slurm.watch import SLOWEST, Watch, predictions_of
    from shadowtime.live.store import StateFile

    tell, notify = how.log(), notifier()
    with contextlib.ExitStack() as stack:
        stack.enter_context(contextlib.suppress(Interrupted))
        stack.enter_context(Signals())
        where = drive.Where(partition=partition, timeout=timeout)
        port = drive.wait_for_port(where, nodes=False, tell=tell, stopped=how.over())
        path = Path(state_file or drive.default_state_file(port.view.partition))
        path.parent.mkdir(parents=True, exist_ok=True)
        kept = predictions_of(path)
        stack.enter_context(StateFile(kept, tell=tell).locked())
        labels = {"cluster": port.view.name, "policy": policy.name, "mode": "predict"}
        counting = stack.enter_context(how.counting(labels, tell=tell))
        watch = Watch(
            run=port.run,
            clock=port.clock,
            predictions=Predictions(kept, tell=tell),
            policy=policy,
            tell=tell,
            beat=Heartbeat(path=heartbeat_of(kept), clock=port.clock, notify=notify),
            every=max(every, SLOWEST) if every < 1 else every,
        )

        def after(seen: Any, found: Any) -> None:
            queue = Counter({"predicted": len(found.etas), "not_predicted": len(found.unknown)})
            counting.watched(queue, sum(row.state in HOLDS for row in seen.rows))

        notify("READY=1")
        line = f"{policy.name} on {port.view.name}, read-only: predictions in {kept}"
        tell(Told(line, event="begin", **labels))
        with contextlib.suppress(Interrupted):
            watch.run_on(
                until_idle=until_idle, stopped=how.over(), after=after, failed=counting.failed
            )
        notify("STOPPING=1")
    print("see how good they were: shadowtime live slurm accuracy", file=sys.stderr)
