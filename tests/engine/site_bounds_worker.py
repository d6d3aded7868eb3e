"""Run policies on generated sites and print a digest of each schedule.

Called by test_site_bounds.py in a process without the compiler, with tables that reject every index
outside of them, negative ones too: compiled code would read memory beyond the table.
"""

from __future__ import annotations

import hashlib
import json
import os
from typing import Any

import numpy as np

from shadowtime.cluster.site import Limits, Node, Outage, Partition, Qos, Reservation, Site
from shadowtime.engine import simulate
from shadowtime.policy import parse_policy
from shadowtime.workload import Workload
from shadowtime.workload.request import Dependency, Gres, Request, Requests

POLICIES = (
    "easy",
    "easy(place=first-fit)",
    "easy-sjbf(place=spread)",
    "lxfw(reserve=3, place=pack)",
    "easy(reserve=all, place=slurm)",
    "part-l-a(hosts=1, above=4, hours=1)",
    "ibb",
    "bb",
    "easy++",
    "conservative",
    "conservative(estimate=last-two, compress=no)",
)
JOBS, SITES = 30, 2
KINDS = (
    Request(tasks=1),
    Request(tasks=6, memory=1, memory_per="cpu"),
    Request(nodes=2, max_nodes=2, tasks=4),
    Request(nodes=3, tasks=3, features="[x*1&y*2]"),
    Request(tasks=5, features="[x|y]", qos="q"),
    Request(tasks=2, gres=(Gres(name="gpu", count=3, per="job"),)),
    Request(tasks=2, exclusive=True, partitions=("b", "a")),
    Request(nodes=2, tasks=2, contiguous=True),
    Request(tasks=3, reservation="r", wanted=("n0",)),
)


def drawn(seed: int) -> tuple[Workload, Site]:
    """Some jobs of every kind on a small site with limits, an outage and a reservation."""
    rng = np.random.default_rng(seed)
    names = tuple(f"n{i}" for i in range(6 + seed))
    nodes = tuple(
        Node(
            name=name,
            amounts=(int(rng.integers(1, 9)), int(rng.integers(2, 12)), int(rng.integers(0, 3))),
            features=frozenset(("x", "y", "xy")[i % 3]),
            weight=int(rng.integers(1, 3)),
        )
        for i, name in enumerate(names)
    )
    site = Site(
        nodes=nodes,
        resources=("cpus", "memory", "gpu"),
        partitions=(
            Partition(name="a", nodes=names, default=True),
            Partition(name="b", nodes=names[::2], tier=2, max_nodes=2),
        ),
        qos=(Qos(name="q", limits=Limits(user_jobs=1, group_resources={"cpus": 8})),),
        outages=(Outage(node="n1", begin=40, end=90), Outage(node="n2", begin=60, end=1 << 50)),
        reservations=(Reservation(name="r", nodes=names[:3], begin=30, end=120, known_at=5),),
        enforce=frozenset({"limits"}),
    )
    run = rng.integers(1, 40, JOBS)
    kinds = [KINDS[i] for i in rng.integers(0, len(KINDS), JOBS)]
    asked = Requests.of_jobs(
        kinds,
        dependencies=[
            Dependency(job=9, kind="afterany", on=(3,)),
            Dependency(job=12, kind="after", on=(9,)),
        ],
        array=[1 if i % 7 == 0 else -1 for i in range(JOBS)],
        throttle=[2] * JOBS,
        cancel_at=[50 if i % 11 == 5 else -1 for i in range(JOBS)],
        begin=[25 if i % 13 == 6 else -1 for i in range(JOBS)],
    )
    jobs = Workload.build(
        submit=np.sort(rng.integers(0, 120, JOBS)),
        run=run,
        request=run * rng.integers(1, 3, JOBS),
        procs=[one.cpus for one in kinds],
        user=rng.integers(0, 3, JOBS),
        requests=asked,
        epoch=0,
    )
    return jobs, site


def digests() -> dict[str, str]:
    """A digest of starts, ends, places, reasons and promises by policy."""
    found = {}
    for policy in POLICIES:
        made = hashlib.sha256()
        for seed in range(SITES):
            schedule = simulate(*drawn(seed), parse_policy(policy))
            for column in ("start", "end", "reason", "promised", "blocked_at", "kills"):
                made.update(getattr(schedule, column).astype("int64").tobytes())
            made.update(repr(list(schedule.place)).encode())
        found[policy] = made.hexdigest()
    return found


class Checked(np.ndarray):
    """A table that rejects indices before its beginning; NumPy rejects those behind its end."""

    def __getitem__(self, at: Any) -> Any:
        reject_negative(at)
        return super().__getitem__(at)

    def __setitem__(self, at: Any, value: Any) -> None:
        reject_negative(at)
        super().__setitem__(at, value)


def reject_negative(at: Any) -> None:
    for one in at if isinstance(at, tuple) else (at,):
        if isinstance(one, int | np.integer) and one < 0:
            raise IndexError(f"index {one} lies before the beginning of a table")


def checked(made: Any) -> Any:
    """The same tuple of tables, each with its indices checked."""
    if isinstance(made, np.ndarray):
        return made.view(Checked)
    if isinstance(made, tuple):
        parts = [checked(one) for one in made]
        return type(made)(*parts) if hasattr(made, "_fields") else tuple(parts)
    return made


def check_every_table() -> None:
    """Replace the functions that make tables by ones that make checked tables."""
    from shadowtime.engine.site import by_priority, conservative, general, run_tables, venture
    from shadowtime.engine.site import simulate as module

    for where, name in (
        (run_tables, "build_ground"),
        (run_tables, "build_events"),
        (run_tables, "build"),
        (module, "with_more_room"),
        (by_priority, "with_more_room"),
        (venture, "with_more_room"),
        (general, "make_general"),
        (conservative, "make_conservative"),
    ):
        make = getattr(where, name)
        setattr(where, name, lambda *given, make=make, **more: checked(make(*given, **more)))


if __name__ == "__main__":
    assert os.environ.get("NUMBA_DISABLE_JIT") == "1", "compiled code knows no such tables"
    check_every_table()
    with np.errstate(over="raise"):
        print(json.dumps(digests()))
