"""Sites for the digests: drawn ones with every rule a site can have, and recorded ones."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from shadowtime.cluster.site import (
    Association,
    Limits,
    Node,
    Outage,
    Partition,
    Qos,
    Reservation,
    Site,
)
from shadowtime.workload import Workload
from shadowtime.workload.request import Dependency, Gres, Request, Requests

if TYPE_CHECKING:
    from collections.abc import Sequence

ROOT = Path(__file__).resolve().parent.parent
GIGABYTE = 1 << 20
"""In KB, the unit of memory."""
RESOURCES = ("cpus", "memory", "gpu", "gpu:a")
FEATURES = ("", "", "", "x", "x&y", "x|y", "!x", "[x|y]", "[x*1&y*1]", "[x*2|y*1]")
NEVER = -1
CONFIG = {
    "PriorityType": "priority/multifactor",
    "PriorityWeightAge": "1000",
    "PriorityWeightFairshare": "10000",
    "PriorityWeightQOS": "5000",
    "PriorityMaxAge": "1-00:00:00",
    "PriorityDecayHalfLife": "1-00:00:00",
    "SelectType": "select/cons_tres",
    "SelectTypeParameters": "CR_Core_Memory",
    "SchedulerType": "sched/backfill",
    "SchedulerParameters": "bf_interval=7,bf_resolution=1,batch_sched_delay=0",
}
PREEMPTING = {"PreemptType": "preempt/qos", "PreemptMode": "REQUEUE"}


class Draw:
    """Choices of one seed."""

    def __init__(self, seed: int) -> None:
        self.random = np.random.default_rng(seed)

    def one(self, among: Sequence[Any]) -> Any:
        """One of them."""
        return among[int(self.random.integers(len(among)))]

    def number(self, least: int, most: int) -> int:
        """A whole number, both ends included."""
        return int(self.random.integers(least, most + 1))

    def yes(self, share: float) -> bool:
        """True in this share of the cases."""
        return bool(self.random.random() < share)


def draw_site(seed: int, *, jobs: int, plain: bool = False) -> tuple[Workload, Site]:
    """Jobs of every kind on a mixed site with partitions, limits, reservations and outages.

    ``plain`` leaves out what a snapshot of waiting jobs does not have: times, dependencies, arrays,
    cancelled jobs and outages to come.

    Examples
    --------
    >>> work, site = draw_site(1, jobs=40)
    >>> len(work), site.resources == RESOURCES
    (40, True)
    """
    draw = Draw(seed)
    site = _site(draw, preempting=seed % 3 == 2 and not plain, events=not plain)
    kinds = [_request(draw, site) for _ in range(24)]
    each = [draw.one(kinds) for _ in range(jobs)]
    length = draw.random.lognormal(4.0, 1.2, jobs).astype(np.int64) + 1
    request = length * draw.random.integers(1, 4, jobs)
    arrays = [] if plain else [range(row, row + 4) for row in range(9, jobs - 4, 17)]
    for rows in arrays:
        for row in rows:
            each[row] = each[rows[0]]
    cpus = np.array([max(one.cpus, one.nodes) for one in each])
    gap = float((length * cpus).sum()) / site.procs / jobs / 1.1
    columns: dict[str, Any] = {}
    dependencies: list[Dependency] = []
    submit = np.cumsum(draw.random.exponential(gap, jobs)).astype(np.int64)
    for rows in arrays:
        submit[rows] = submit[rows[-1]]
    if not plain:
        columns = {
            "begin": [int(submit[i]) + 60 if draw.yes(0.05) else NEVER for i in range(jobs)],
            "cancel_at": [int(submit[i]) + 90 if draw.yes(0.05) else NEVER for i in range(jobs)],
            "array": [NEVER] * jobs,
            "task": [NEVER] * jobs,
            "throttle": [2] * jobs,
            "requeue": [int(draw.yes(0.8)) for _ in range(jobs)],
        }
        for rows in arrays:
            columns["array"][rows.start : rows.stop] = [rows[0] + 1] * len(rows)
            columns["task"][rows.start : rows.stop] = range(len(rows))
            for name in ("begin", "cancel_at", "requeue"):
                columns[name][rows.start : rows.stop] = [columns[name][rows[0]]] * len(rows)
        inside = {row for rows in arrays for row in rows}
        for job in range(1, jobs):
            if draw.yes(0.1) and job not in inside:
                kind = draw.one(("after", "afterany", "afterok", "afternotok", "singleton"))
                on = () if kind == "singleton" else (draw.number(max(1, job - 5), job),)
                dependencies.append(Dependency(job=job, kind=kind, on=on))
    people = ("", "ann", "bob", "cleo")
    work = Workload.build(
        submit=submit,
        run=length,
        request=request,
        procs=cpus,
        user=draw.random.integers(1, len(people), jobs),
        status=[draw.one((1, 1, 1, 0)) for _ in range(jobs)],
        names={"user": people},
        requests=Requests.of_jobs(each, dependencies=dependencies, **columns),
        epoch=0,
    )
    return work, site


def _site(draw: Draw, *, preempting: bool, events: bool) -> Site:
    nodes = []
    for i in range(draw.number(6, 12)):
        gpus = draw.one((0, 0, 2, 4))
        size = draw.one((4, 8, 8, 16))
        nodes.append(
            Node(
                name=f"n{i}",
                amounts=(size, size * 2 * GIGABYTE, gpus, gpus if draw.yes(0.5) else 0),
                features=frozenset(one for one in "xy" if draw.yes(0.6)),
                weight=draw.one((1, 1, 2)),
                sockets=draw.one((1, 2)),
                real_memory=size * 2 * GIGABYTE,
            )
        )
    names = tuple(node.name for node in nodes)
    outages: list[Outage] = []
    reservations: list[Reservation] = []
    if events:
        for _ in range(3):
            begin = draw.number(50, 3000)
            outages.append(
                Outage(
                    node=draw.one(names[1:]),
                    begin=begin,
                    end=draw.one((begin + 100, begin + 900, begin + 5000)),
                    drain=draw.yes(0.5),
                    known_at=draw.one((None, 0, begin - 30)),
                )
            )
        begin = draw.number(100, 2000)
        reservations.append(
            Reservation(
                name="r0", nodes=names[:2], begin=begin, end=begin + 600,
                users=frozenset({"ann"}), known_at=draw.one((None, begin - 60)),
            )
        )  # fmt: skip
    return Site(
        nodes=tuple(nodes),
        resources=RESOURCES,
        partitions=(
            Partition(
                name="p0", nodes=names, default=True, default_memory=GIGABYTE, max_time=20_000
            ),
            Partition(
                name="p1", nodes=names[1::2], tier=draw.one((1, 3)), max_nodes=3, qos="part",
                priority_factor=4,
            ),
            Partition(name="p2", nodes=names[::3], exclusive=draw.yes(0.5), max_cpus_per_node=6),
        ),
        qos=(
            Qos(name="normal"),
            Qos(name="q", limits=_limits(draw), priority=20),
            Qos(name="part", limits=_limits(draw)),
            Qos(
                name="high", priority=100, preempts=("normal", "q") if preempting else (),
                preempt="requeue" if preempting else None,
            ),
        ),
        associations=(
            Association(account="root"),
            Association(account="a", parent="root", shares=3, limits=_limits(draw)),
            Association(account="b", parent="root", shares=1),
            *(
                Association(account=account, user=user, parent=account)
                for account in "ab"
                for user in ("ann", "bob", "cleo")
            ),
        ),
        reservations=tuple(reservations),
        outages=tuple(outages),
        amounts={"license/m": 3},
        requeue=draw.yes(0.7),
        enforce=frozenset({"limits"}),
        config=CONFIG | (PREEMPTING if preempting else {}),
    )  # fmt: skip


def _limits(draw: Draw) -> Limits:
    return Limits(
        group_jobs=draw.one((None, 6)),
        user_jobs=draw.one((None, 3)),
        account_jobs=draw.one((None, 5)),
        group_resources=draw.one(({}, {"cpus": 24}, {"nodes": 6, "gpu": 4})),
        user_resources=draw.one(({}, {"cpus": 16}, {"memory": 30 * GIGABYTE})),
        group_run_minutes=draw.one(({}, {"cpus": 4000})),
        job_wall=draw.one((None, 4000)),
        job_resources=draw.one(({}, {"cpus": 20})),
        job_node_resources=draw.one(({}, {"cpus": 8})),
    )


def _request(draw: Draw, site: Site) -> Request:
    nodes = draw.one((1, 1, 1, 1, 2, 3))
    gres: tuple[Gres, ...] = ()
    if draw.yes(0.3):
        per = draw.one(("node", "task", "job"))
        count = draw.number(1, 4 if per == "job" else 2)
        gres = (Gres(name=draw.one(("gpu", "gpu", "gpu:a")), count=count, per=per),)
    partitions = draw.one(((), ("p0",), ("p1",), ("p2",), ("p1", "p0")))
    return Request(
        nodes=nodes,
        max_nodes=draw.one((None, None, nodes, nodes + 1)),
        tasks=draw.one((1, 2, 4, 6, 8)) if nodes == 1 else nodes * draw.number(1, 4),
        cpus_per_task=draw.one((1, 1, 1, 2)),
        tasks_per_node=draw.one((None, None, None, 4)),
        memory=draw.one((None, None, 0, GIGABYTE, 3 * GIGABYTE)),
        memory_per=draw.one(("node", "cpu")),
        gres=gres,
        features=draw.one(FEATURES),
        exclusive=draw.yes(0.1),
        contiguous=draw.yes(0.05),
        partitions=partitions,
        qos=draw.one(("", "", "normal", "q", "high")),
        account=draw.one(("", "a", "b")),
        reservation="r0" if site.reservations and draw.yes(0.05) else "",
        wanted=("n0",) if draw.yes(0.05) else (),
        excluded=("n1",) if draw.yes(0.05) else (),
        amounts=(("license/m", draw.number(1, 3)),) if draw.yes(0.15) else (),
    )


def recordings() -> list[Path]:
    """Folders of recorded Slurms beside the traces, of every version."""
    given = os.environ.get("SHADOWTIME_TRACES")
    above = Path(given).parent if given else ROOT.parent / "shared"
    found = (one for folder in sorted(above.glob("slurm-runs*")) for one in folder.iterdir())
    return sorted(one for one in found if (one / "slurm.conf").is_file())
