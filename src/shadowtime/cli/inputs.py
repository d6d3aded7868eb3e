"""From what the user typed to the values of a run: a workload that fits its cluster."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from shadowtime.cli.compiling import compile_notice
from shadowtime.cli.console import note
from shadowtime.cli.progress import working

if TYPE_CHECKING:
    from collections.abc import Iterable

    from shadowtime.cluster import Cluster
    from shadowtime.workload import Workload


LISTED = 20
"""So many jobs that fit nowhere are named one by one."""


@dataclass(frozen=True, kw_only=True)
class Cleaning:
    """The cleaning switches of the command line."""

    overrun: Literal["cut", "extend", "keep"] = "cut"
    cancelled: Literal["drop", "queue-until-cancel", "refuse"] = "drop"
    too_wide: Literal["drop", "refuse"] = "drop"


def load(
    trace: str, cluster: str | None, cleaning: Cleaning, *, demand: str | None = None
) -> tuple[Workload, Cluster]:
    """Read a log and its machine, and keep the jobs that fit.

    What a machine counts besides processors (memory, GPUs, ``license/matlab`` ...) the reader looks
    for in the log; without a machine the log's own header gives one. ``demand`` draws the bandwidth
    of every job, in place of what the log may say.
    """
    from shadowtime.cluster.spec import parse_cluster
    from shadowtime.trace import read
    from shadowtime.workload.clean import fit
    from shadowtime.workload.demand import Demands
    from shadowtime.workload.fit import too_wide_jobs

    draws = None if demand is None else Demands.parse(demand)
    machine = None if cluster is None else parse_cluster(cluster)
    named = machine.resources[1:] if machine else ()
    counted: dict[str, Any] = {name: True for name in ("memory", "gpus") if name in named}
    counted["others"] = [name for name in named if name not in counted]
    with working(f"reading {trace}"), compile_notice("the log reader", "a few seconds"):
        workload = read(trace, overrun=cleaning.overrun, cancelled=cleaning.cancelled, **counted)
    if machine is None:
        machine = parse_cluster(None, machine=workload.machine)
    fitting = fit(workload, machine, too_wide=cleaning.too_wide)
    if fitting.cleaning["too_wide_dropped"]:
        note(f"left out, for want of a place to run: {_listed(too_wide_jobs(workload, machine))}")
    return fitting if draws is None else draws.draw(fitting), machine


def tell_idle_places(policies: Iterable[Any], machine: Cluster) -> None:
    """Say of policies that place by bandwidth that a machine without nodes shares none."""
    from shadowtime.policy import Policy, place

    by_bandwidth = (place.LessConsume, place.LeastSlowdown, place.Filled)
    for policy in policies:
        if (
            machine.shape == "pool"
            and isinstance(policy, Policy)
            and isinstance(policy.place, by_bandwidth)
        ):
            note(
                f"{policy.name} places jobs on nodes by what they share, and a pool has no nodes: "
                'give a machine of shape = "nodes" with --cluster FILE.toml'
            )


def _listed(jobs: Workload) -> str:
    """Jobs by id with what they ask for."""
    told = []
    for job, needs in zip(jobs.job_id.tolist(), jobs.demand.tolist(), strict=True):
        amounts = (f"{n} {name}" for n, name in zip(needs, jobs.resources, strict=True))
        told.append(f"job {job} ({', '.join(amounts)})")
    more = f" and {len(told) - LISTED} more" if len(told) > LISTED else ""
    return ", ".join(told[:LISTED]) + more
