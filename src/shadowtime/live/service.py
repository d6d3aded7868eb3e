"""A loop as a service: runs the loop of every backend."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from shadowtime.engine.live_pass.decide import refuse
from shadowtime.engine.live_pass.site_pass import refuse_on_site
from shadowtime.live.backend import Backend, Target, Wanted
from shadowtime.live.clock import Pace, SystemClock
from shadowtime.live.compiling import PassesAtOnce
from shadowtime.live.guarded import OwnCode, guard_for, is_own
from shadowtime.live.heartbeat import Heartbeat, heartbeat_of, notifier
from shadowtime.live.lock import one_loop
from shadowtime.live.log import LogLine
from shadowtime.live.loop import Loop
from shadowtime.live.operation import Counting, Operation
from shadowtime.live.port import Port
from shadowtime.live.record import Recorder
from shadowtime.live.reports import described
from shadowtime.live.signals import Interrupted, Signals, Undisturbed
from shadowtime.live.store import InMemory, StateFile, Store
from shadowtime.live.worker import TO_COME_UP
from shadowtime.policy import Policy, parse_policy
from shadowtime.policy.snapshot import name_of
from shadowtime.private import state_path


def make_loop(
    port: Port,
    policy: Policy | Any,
    store: Store,
    *,
    target: Target | None = None,
    act: bool = False,
    pace: Pace | None = None,
    tell: Callable[[str], None] = lambda line: None,
    record: Path | None = None,
    beat: Callable[..., None] = lambda waiting_for, understood=True: None,
    attention: Undisturbed | None = None,
    own: OwnCode | None = None,
    at_once: bool = False,
) -> Loop:
    """A loop over a port.

    ``own``: how a policy that is the user's code is run; without it in this process, unguarded.
    ``at_once``: passes that are not compiled yet do not wait for the compiler.
    """
    target = target or Target()
    clock, shape = target.clock or SystemClock(), target.shape_for()
    ours = policy if own is None else own.fallback
    passes = None
    if at_once and not is_own(ours):
        passes = PassesAtOnce(policy=ours, shape=shape, clock=clock, tell=tell, beat=beat)
    guarded = guard_for(policy, own, shape=shape, clock=clock, tell=tell, passes=passes)
    name = guarded.policy if guarded is not None else described(policy)
    recorder = Recorder(record, policy=name, shape=shape, tell=tell) if record else None
    loop = Loop(
        port=port,
        policy=policy,
        store=store,
        clock=clock,
        shape=shape,
        act=act,
        pace=pace or Pace(),
        tell=tell,
        record=recorder,
        watcher=target.watcher,
        beat=beat,
        attention=attention or Undisturbed(),
        guarded=guarded,
        passes=passes if guarded is None else None,
    )
    target.attach(loop)
    return loop


@dataclass(frozen=True, kw_only=True)
class Ended:
    """How a run ended."""

    interrupted: bool
    """By a signal."""
    summary: str
    """One line."""


def run(
    port: Port,
    policy: Policy | Any,
    *,
    target: Target | None = None,
    act: bool = False,
    operation: Operation | None = None,
    state_file: Path | None = None,
    record: Path | None = None,
    until_idle: bool = False,
    once: bool = False,
    pace: Pace | None = None,
    tell: Callable[[str], None] | None = None,
    signals: Undisturbed | None = None,
    own: OwnCode | None = None,
) -> Ended:
    """Drive a scheduler through its port until the run is over, idle or interrupted.

    Rules
    -----
    The policy is a value or a text such as ``easy``. A loop that acts locks its target and keeps a
    state file; in shadow mode it keeps one only if it is named. The heartbeat is beside the state
    file. Log, metrics and length of the run are those of ``operation``. With ``once`` there is one
    poll, whose pass may wait for the compiler, and an error of the scheduler is raised; a run never
    waits for the compiler, and retries after errors.
    """
    target, how = target or Target(), operation or Operation()
    clock = target.clock or SystemClock()
    if isinstance(policy, str):
        text, policy = policy, parse_policy(policy)
        own = own or how.own_code(policy, text)
    refuse(policy, resizes=target.resizes)
    if own is not None and once:  # the one pass is worth waiting for
        own = replace(own, patience=TO_COME_UP)
    if own is not None and target.shape == "site":
        refuse_on_site(own.fallback)
    tell, notify = tell or how.log(), notifier()
    with contextlib.ExitStack() as stack:
        attention = signals or stack.enter_context(Signals())
        beat = Heartbeat(path=None, clock=clock, notify=notify)
        if act:
            for what, identity in target.locks:
                stack.enter_context(one_loop(what, identity=identity))
        store: Any = InMemory()
        if act or state_file:
            path = state_file or state_path(target.state_name)
            path.parent.mkdir(parents=True, exist_ok=True)
            store = StateFile(path, tell=tell)
            beat.path = heartbeat_of(path)
            stack.enter_context(store.locked())
        labels = {**target.labels, "policy": name_of(policy), "mode": "apply" if act else "shadow"}
        counting = stack.enter_context(how.counting(labels, tell=tell))
        loop = make_loop(
            port,
            policy,
            store,
            target=target,
            act=act,
            pace=pace,
            tell=tell,
            record=record,
            beat=beat,
            attention=attention,
            own=own,
            at_once=not once,
        )
        stack.callback(loop.end)
        notify("READY=1")
        does = "acting" if act else "shadow mode: changing nothing"
        tell(LogLine(f"{name_of(policy)} on {target.title}, {does}", event="begin", **labels))
        interrupted = False
        try:
            _turn(loop, counting, how, until_idle=until_idle, once=once)
        except Interrupted:
            interrupted = True
        notify("STOPPING=1")
        summary = how.summary(loop, counting)
        if how.log_file or how.log_format == "json":  # on a terminal the command prints it
            tell(LogLine(summary, event="end", interrupted=interrupted))
    return Ended(interrupted=interrupted, summary=summary)


def _turn(loop: Loop, counting: Counting, how: Operation, *, until_idle: bool, once: bool) -> None:
    """Poll once, or for the duration of the run."""

    def after(step: Any) -> None:
        counting.after(step, loop.port)

    if once:
        after(loop.step())
    else:
        failed = partial(counting.failed, loop.port)
        loop.run(until_idle=until_idle, stopped=how.over(), after=after, failed=failed)


def serve(backend: Backend, policy: str, wanted: Wanted) -> str:
    """Connect to a backend's scheduler and run a loop over it, as a command does.

    Returns the summary of a run with a duration or that was interrupted, else an empty text.
    """
    how = wanted.operation
    if backend.predict(wanted):
        return ""
    refuse(wanted.policy, resizes=backend.resizes)
    own = how.own_code(wanted.policy, policy)
    tell = how.log()
    with Signals() as signals:
        try:
            port, target = backend.connect(wanted, tell=tell, stopped=how.over())
            target = replace(target, shape=target.shape_for(wanted.shape))
            ended = run(
                port,
                wanted.policy,
                target=target,
                act=wanted.act,
                operation=how,
                state_file=Path(wanted.state_file) if wanted.state_file else None,
                record=Path(wanted.record) if wanted.record else None,
                until_idle=wanted.until_idle,
                once=wanted.once,
                pace=Pace(every=wanted.every, slowest=max(2.0, wanted.every)),
                tell=tell,
                signals=signals,
                own=own,
            )
        except Interrupted:
            return ""
    meant = wanted.until_idle or wanted.once or how.length is not None
    return ended.summary if meant or ended.interrupted else ""
