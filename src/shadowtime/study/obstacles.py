"""What blocked a waiting job of a site, interval by interval, from the schedule alone.

The schedule may come from a policy of the catalogue, Slurm's own scheduler, or a log with places.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import numpy as np

from shadowtime.cluster import Cluster
from shadowtime.cluster.site import Site
from shadowtime.metrics.unstarted import waited_until
from shadowtime.schedule import Schedule
from shadowtime.slurm.parameters import Parameters
from shadowtime.study.obstacle import Obstacle, by_passes
from shadowtime.study.way import Way, is_slurm
from shadowtime.workload import Workload, series, site_requests


def obstacles(workload: Workload, site: Site, schedule: Schedule, row: int) -> tuple[Obstacle, ...]:
    """What blocked the job at a row while it waited, in the order of time.

    Rules
    -----
    Tested after each start, end, outage and reservation during its wait, in this order: its
    begin time and dependencies, its array's throttle, amounts of the site (licences), limits of QOS
    and accounts, reservations, outages, room on the nodes of its partitions. If none of these
    blocked it, others were ahead of it (``order``). Of several partitions, the one that came
    closest counts. Empty if the schedule does not name nodes.

    Examples
    --------
    >>> from shadowtime.cluster.site import Node, Site
    >>> from shadowtime.engine import simulate
    >>> from shadowtime.policy import parse_policy
    >>> from shadowtime.workload import Workload
    >>> site = Site(nodes=(Node(name="n1", amounts=(4,)),))
    >>> jobs = Workload.build(submit=[0, 5], run=[60, 60], procs=[3, 2])
    >>> [(one.kind, one.name, one.since, one.until, one.jobs)
    ...  for one in obstacles(jobs, site, simulate(jobs, site, parse_policy("easy")), 1)]
    [('room', 'cpus', 5, 60, (1,))]
    """
    if schedule.place is None:
        return ()
    found = Way(workload, site, schedule).of(row).stretches()
    pause = pause_of(site, schedule)
    return by_passes(found, pause) if pause else found


def on_nodes(
    workload: Workload, cluster: Cluster | Site | None, schedule: Schedule
) -> tuple[Workload, Site, Schedule] | None:
    """What is asked for obstacles: a site, or a pool with bounds that change over time as one node.

    None for other machines, whose schedules do not name nodes.
    """
    if cluster is None or cluster.shape == "site":
        return None if cluster is None else (workload, cast("Site", cluster), schedule)
    if cluster.shape != "pool" or not series.bounded_amounts(workload):
        return None
    asked, site = site_requests.pool_as_site(workload, cast("Cluster", cluster))
    places = [f"{site.nodes[0].name}:{procs}" for procs in workload.demand[:, 0].tolist()]
    return asked, site, schedule.replace(place=np.array(places, object))


def pause_of(site: Site, schedule: Schedule) -> int:
    """Seconds between the passes of Slurm's backfill; 0 under a policy that runs at every event."""
    return Parameters.of_config(site.config).bf_interval if is_slurm(schedule) else 0


def why_unstarted(
    workload: Workload, site: Site, schedule: Schedule, rows: Sequence[int]
) -> list[Obstacle]:
    """What still blocked each of these jobs, which never started, when it left or all was over.

    Examples
    --------
    >>> from shadowtime.cluster.site import Limits, Node, Qos, Site
    >>> from shadowtime.engine import simulate
    >>> from shadowtime.policy import parse_policy
    >>> from shadowtime.workload import Workload
    >>> from shadowtime.workload.request import Request, Requests
    >>> few = Qos(name="few", limits=Limits(user_resources={"cpus": 2}))
    >>> site = Site(nodes=(Node(name="n1", amounts=(4,)),), qos=(few,), enforce={"limits"})
    >>> asked = Requests.of_jobs([Request(tasks=3, qos="few")])
    >>> jobs = Workload.build(submit=[0], run=[60], procs=[3], user=[0], requests=asked)
    >>> made = simulate(jobs, site, parse_policy("easy"))
    >>> [(one.kind, one.name) for one in why_unstarted(jobs, site, made, [0])]
    [('limit', 'QOSMaxCpuPerUserLimit')]
    """
    way = Way(workload, site, schedule)
    until = waited_until(schedule, workload)
    held = {one.job for one in way.requests.dependencies}
    alike: dict[tuple[int, ...], Obstacle] = {}
    found = []
    for row in rows:
        if way.requests.cancel_at[row] >= 0:
            end = int(until[row])
            found.append(Obstacle(kind="cancelled", since=end, until=end))
            continue
        one_of = (way.requests.index[row], workload.user[row], workload.request[row])
        key = tuple(int(value) for value in one_of)
        alone = row in held or way.requests.array[row] >= 0 or way.requests.begin[row] >= 0
        if alone or key not in alike:
            alike[key] = way.of(row).at_the_end(int(until[row]))
        found.append(alike.pop(key) if alone else alike[key])
    return found
