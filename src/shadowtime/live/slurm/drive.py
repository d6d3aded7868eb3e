"""A loop over Slurm put together: commands, port, store, recorder."""

from __future__ import annotations

import os
import re
import secrets
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from shadowtime.engine.live_pass.outcome import Shape
from shadowtime.engine.live_pass.site_pass import refuse_on_site
from shadowtime.engine.python_policy import policy_parts
from shadowtime.errors import PolicyError, UsageError
from shadowtime.live import service
from shadowtime.live.backend import Target
from shadowtime.live.clock import Clock, Pace, SystemClock
from shadowtime.live.log import LogLine
from shadowtime.live.log_watcher import LogWatcher
from shadowtime.live.loop import Loop
from shadowtime.live.port import PortError
from shadowtime.live.runner import Commands, Runner, TimedOut
from shadowtime.live.slurm import configuration
from shadowtime.live.slurm.configuration import (
    NotReady,
    Unreachable,
    look_at,
    refuse_strangers,
)
from shadowtime.live.slurm.configuration import (
    default_state_file as default_state_file,
)
from shadowtime.live.slurm.demand import demand_for
from shadowtime.live.slurm.gate import LEASE, refuse_lease
from shadowtime.live.slurm.port import SlurmPort
from shadowtime.live.slurm.site_look import enforces
from shadowtime.live.store import Store
from shadowtime.policy import Policy
from shadowtime.policy.snapshot import name_of
from shadowtime.slurmtext.conf import parse_version


@dataclass(frozen=True, kw_only=True)
class Where:
    """Which part of which Slurm: partitions (the default one), counted generic resources."""

    partition: str = ""
    gres: tuple[str, ...] = ()
    timeout: float = 20.0
    lease: int = LEASE
    """Seconds after which Slurm schedules by itself if the loop gives no sign of life."""


def commands(where: Where) -> Commands:
    """Slurm's commands, each given that time."""
    return configuration.commands(where.timeout)


def make_port(where: Where, *, run: Runner | None = None, clock: Clock | None = None) -> SlurmPort:
    """A port to the Slurm that SLURM_CONF names."""
    refuse_lease(where.lease)
    run = run or commands(where)
    scope = look_at(run, partition=where.partition, gres=where.gres)
    clock, secret = clock or SystemClock(), secrets.token_hex(5)
    return SlurmPort(run=run, clock=clock, scope=scope, lease=where.lease, secret=secret)


def wait_for_port(
    where: Where,
    *,
    nodes: bool = True,
    patient: bool = False,
    tell: Callable[[str], None],
    stopped: Callable[[], bool] = lambda: False,
    run: Runner | None = None,
    clock: Clock | None = None,
) -> SlurmPort:
    """The same, but waits for a slurmctld that is slow, or starting and shows no partition yet.

    So are the ``nodes`` of the partitions, unless they do not matter. ``patient``: waits also for
    one that is not there at all, as a loop that is restarted while slurmctld is away must.

    It is polled after half a second, then less and less often, and reported once. NotReady if the
    run ends before that.
    """
    clock = clock or SystemClock()
    tries = 0
    while True:
        try:
            port = make_port(where, run=run, clock=clock)
            if nodes:
                ready(port)
            return port
        except (NotReady, TimedOut, Unreachable) as error:
            if stopped() or (isinstance(error, Unreachable) and not patient):
                raise
            tries += 1
            if tries == 1:
                tell(LogLine(f"waiting for slurm: {error}", event="error", why=str(error)))
            clock.sleep(Pace().pause(quiet=0, errors=tries, took=0.0))


def ready(port: SlurmPort) -> None:
    """NotReady if the partitions have no nodes yet."""
    try:
        port.nodes()
    except PortError as error:
        raise NotReady(str(error)) from None


def make_loop(
    port: SlurmPort,
    policy: Policy,
    store: Store,
    *,
    shape: Shape | None = None,
    act: bool = False,
    **more: Any,
) -> Loop:
    """A loop over a port, with further options of :func:`shadowtime.live.service.make_loop`."""
    target = target_of(port, policy, shape or shape_for(policy), act=act)
    return service.make_loop(port, policy, store, target=target, act=act, **more)


def target_of(port: SlurmPort, policy: Policy, shape: Shape, *, act: bool) -> Target:
    """The partitions as a target; the port counts what the policy counts."""
    if act:
        refuse_strangers(port.run)
    suit(port, policy, shape)
    if act and port.scope.sized:
        refuse_old(port.run, policy)
    name = port.scope.partition
    identity = identity_of(port.run) if act else ""
    title = f"partitions {name}" if "," in name else f"partition {name}"
    return Target(
        shape=shape,
        title=f"{title} as a site" if shape == "site" else title,
        labels={"cluster": port.scope.name, "partition": name},
        locks=tuple(
            (f"partition {one} of {port.scope.name}", identity) for one in sorted(port.scope.driven)
        ),
        state_name=f"slurm-{name}",
        watcher=watcher_of(port.run),
        attach=lambda loop: attach(port, loop),
        clock=port.clock,
        resizes=port.scope.sized,
    )


def identity_of(run: Runner) -> str:
    """What distinguishes two clusters of the same name: where their controllers listen."""
    shown = run(("scontrol", "show", "config")).out
    keys = r"^(ClusterName|SlurmctldHost\S*|SlurmctldPort|SlurmctldAddr)\s*=\s*(.*?)\s*$"
    return "\n".join("=".join(pair) for pair in re.findall(keys, shown, re.MULTILINE))


_LOG = re.compile(r"^SlurmctldLogFile\s*=\s*(/\S+)", re.MULTILINE)


def watcher_of(run: Runner) -> LogWatcher | None:
    """A watcher of the controller's log, if the loop runs on the controller's machine."""
    found = _LOG.search(run(("scontrol", "show", "config")).out)
    return LogWatcher(Path(found[1])) if found and os.access(found[1], os.F_OK) else None


def attach(port: SlurmPort, loop: Loop) -> None:
    """Let the port ask the loop's memory which jobs it has stopped."""
    port.tell = lambda line: loop.tell(line)
    port.stopped = lambda job: job in loop.kept.memory.jobs and loop.kept.memory.jobs[job].kills > 0


def shape_for(policy: Policy) -> Shape:
    """Policies that place jobs beside each other see nodes, all others a pool."""
    place = policy_parts(policy).place
    return "nodes" if place.plans or place.fills else "pool"


BANDWIDTH = "membw"
"""The generic resource that is memory bandwidth unless --gres names another."""


def choose_shape(port: SlurmPort, policy: Policy, wanted: Shape | None = None) -> Shape:
    """How the policy sees the machine, unless the user names it.

    Rules
    -----
    Policies that place jobs beside each other see the equal nodes of one partition. All others see
    the site where several partitions are named, where the nodes of the partition differ
    (processors, memory that is counted, generic resources, features) or belong to other partitions
    too, and if Slurm enforces limits; otherwise a pool. A policy that has no meaning on a site sees
    a pool if one partition is named. One that changes sizes sees the equal nodes of one partition.
    """
    count = len(port.scope.driven)
    plain = shape_for(policy)
    if policy_parts(policy).backfill.changes:
        refuse_uneven(port, policy, wanted)
        return plain
    if count > 1 and (plain == "nodes" or wanted not in (None, "site")):
        raise UsageError(
            f"{name_of(policy)} sees the {wanted or plain} of one partition: "
            "name one with --partition"
        )
    if count > 1 or wanted == "site":
        refuse_on_site(policy)
        return "site"
    if wanted is not None or plain == "nodes" or not is_mixed(port):
        return wanted or plain
    try:
        refuse_on_site(policy)
    except PolicyError:
        return plain
    return "site"


def refuse_uneven(port: SlurmPort, policy: Policy, wanted: Shape | None) -> None:
    """Reject sizes in nodes where these are not equal, or not one partition's."""
    sizes = sorted({node.cpus for node in port.nodes()})
    several = len(port.scope.driven) > 1
    if several or len(sizes) > 1 or wanted not in (None, "pool"):
        what = f"have {sizes[0]} to {sizes[-1]} processors" if len(sizes) > 1 else "are not a pool"
        if several:
            what = "are of several partitions"
        raise UsageError(
            f"{name_of(policy)} changes sizes in whole nodes, and the nodes of "
            f"{port.scope.partition} {what} here: name one partition of equal nodes with "
            "--partition, and no --shape but pool"
        )


SHRINKS = (24, 11, 0)
"""The first Slurm that is known to shrink jobs of whole nodes well."""


def refuse_old(run: Runner, policy: Policy) -> None:
    """Reject a Slurm that loses count of the nodes that jobs give up.

    On 22.05 jobs may wait beside idle nodes after another one has taken over such a node.
    """
    shown = re.search(r"^SLURM_VERSION\s*= (\S+)", run(("scontrol", "show", "config")).out, re.M)
    version = parse_version(shown[1]) if shown else None
    if version is None or version < SHRINKS:
        named = shown[1] if shown else "of an unknown version"
        raise UsageError(
            f"{name_of(policy)} shrinks jobs, and Slurm {named} may not start others on the nodes "
            "that they give up: use Slurm 24.11 or later, or omit --apply to see what it decides"
        )


def is_mixed(port: SlurmPort) -> bool:
    """Whether a partition is more than a set of equal nodes; see :func:`choose_shape`."""
    nodes = port.nodes()
    kinds = {
        (node.cpus, node.memory if port.scope.memory else 0, *node.gres.items(), node.features)
        for node in nodes
    }
    shared = any(len(node.partitions) > 1 for node in nodes)
    return len(kinds) > 1 or shared or enforces(port.run(("scontrol", "show", "config")).out)


def suit(port: SlurmPort, policy: Policy, shape: Shape = "pool") -> None:
    """Let the port see what a policy counts: the first generic resource is the bandwidth."""
    sized = shape == "pool" and policy_parts(policy).backfill.changes
    port.scope = replace(port.scope, site=shape == "site", sized=sized)
    if policy_parts(policy).place.caps and shape != "site":
        gres = port.scope.gres or (BANDWIDTH,)
        port.scope = replace(port.scope, gres=gres, bandwidth=gres[0])
        port.demand = demand_for(policy, port.clock)
