"""Random small sites and requests, and the comparison of the engine with the slow reference."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from drawing import Drawing
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
from shadowtime.engine import simulate
from shadowtime.policy import parse_policy
from shadowtime.schedule import Schedule
from shadowtime.schedule.check import check
from shadowtime.types import Reason
from shadowtime.verify import site as naive_site
from shadowtime.workload import Workload
from shadowtime.workload.request import Dependency, Gres, Request, Requests
from shadowtime.workload.site_requests import requests_of

RESOURCES = ("cpus", "memory", "gpu", "gpu:a")
FEATURES = [
    *("", "", "", "", "x", "x", "x&y", "x|y", "!x"),
    *("x*1", "[x|y]", "[x*1&y*1]", "[(x|y)*2&x*1]", "y&x*2", "[x*2|y*1]"),
]
"""Feature expressions for one node, or for several nodes together."""
M, K, POWER = "license/m", "license/k", "power"
LENGTHS = (1, 1, 2, 3, 4, 5, 7, 10, 16, 25)


@st.composite
def sites(draw: st.DrawFn, *, plain: bool = False, events: bool = True) -> Site:
    """Mixed nodes; partitions that overlap; outages and reservations if requested."""
    pick = Drawing(draw)
    count = pick.number(1, 4)
    nodes = []
    for i in range(count):
        gpus = pick.one([0, 0, 2])
        typed = gpus if pick.yes() else 0
        nodes.append(
            Node(
                name=f"n{i}",
                amounts=(pick.one([1, 2, 4]), pick.number(2, 6), gpus, typed),
                features=frozenset(pick.some("xy")),
                weight=pick.one([1, 1, 2]),
            )
        )
    amounts = {M: pick.number(1, 3), K: 2}
    if pick.yes():  # without a number there is no cap
        amounts[POWER] = pick.number(3, 9)
    if plain:
        return Site(nodes=tuple(nodes), resources=RESOURCES, amounts=amounts)
    names = [node.name for node in nodes]
    partitions = []
    for i in range(pick.number(1, 2)):
        inside = pick.some(names, least=1)
        partitions.append(
            Partition(
                name=f"p{i}",
                nodes=tuple(name for name in names if name in inside),
                max_time=pick.one([None, None, 10]),
                max_nodes=pick.one([None, None, 2]),
                max_cpus_per_node=pick.one([None, None, 2]),
                default_cpus_per_gpu=pick.one([None, None, None, 2]),
                tier=pick.one([1, 1, 2]),
                exclusive=pick.one([False, False, False, True]),
                default_memory=pick.one([None, 1]),
                max_memory=pick.one([None, None, None, 1, 2]),
                max_memory_per=pick.one(["cpu", "node"]),
                default=i == 0,
                qos=pick.one(["", "part"]),
            )
        )
    outages: list[Outage] = []
    reservations: list[Reservation] = []
    if events:
        for _ in range(pick.number(0, 2)):
            begin = pick.number(0, 30)
            outages.append(
                Outage(
                    node=pick.one(names),
                    begin=begin,
                    end=pick.one([begin + 1, begin + 6, (1 << 40) - 1]),
                    drain=pick.yes(),
                    known_at=pick.one([None, 0, begin - 3]),
                )
            )
        for i in range(pick.number(0, 1)):
            begin = pick.number(0, 20)
            inside = pick.some(names, least=1)
            reservations.append(
                Reservation(
                    name=f"r{i}",
                    nodes=tuple(name for name in names if name in inside),
                    begin=begin,
                    end=begin + pick.number(1, 20),
                    users=pick.one([frozenset(), frozenset({"0"})]),
                    known_at=pick.one([None, max(0, begin - 4)]),
                )
            )
    limited = pick.yes()
    small = (None, None, 1, 2)

    def limits() -> Limits:
        return Limits(
            group_jobs=pick.one(small),
            user_jobs=pick.one(small),
            account_jobs=pick.one(small),
            group_resources=pick.one([{}, {"cpus": 3}, {"cpus": 6}, {"nodes": 2, "gpu": 1}]),
            user_resources=pick.one([{}, {"cpus": 2}, {"cpus": 5, "nodes": 2}, {"memory": 4}]),
            group_minutes=pick.one([{}, {}, {"cpus": 1}]),
            group_run_minutes=pick.one([{}, {}, {"cpus": 1}]),
            group_wall=pick.one([None, None, 30]),
            job_wall=pick.one([None, None, 10]),
            job_resources=pick.one([{}, {}, {"cpus": 3}]),
            job_minutes=pick.one([{}, {}, {"cpus": 1}]),
            job_node_resources=pick.one([{}, {}, {"cpus": 2, "gpu": 1}]),
        )

    return Site(
        nodes=tuple(nodes),
        resources=RESOURCES,
        partitions=tuple(partitions),
        qos=(Qos(name="q", limits=limits()), Qos(name="part", limits=limits())),
        associations=(
            Association(account="root"),
            Association(account="a", parent="root", limits=limits()),
            Association(account="a", user="0", parent="a", limits=limits()),
            Association(account="a", user="0", partition="p1", parent="a", limits=limits()),
        ),
        reservations=tuple(reservations),
        outages=tuple(outages),
        amounts=amounts,
        requeue=pick.yes(),
        enforce=frozenset({"limits"}) if limited else frozenset(),
    )


@st.composite
def requests(draw: st.DrawFn, *, plain: bool = False) -> Request:
    """The request of one job."""
    pick = Drawing(draw)
    least = pick.one([1, 1, 1, 2, 3])
    tasks = pick.number(1, 5)
    gres: tuple[Gres, ...] = ()
    if pick.one([False, False, True]):
        name = pick.one(["gpu", "gpu:a"])
        per = pick.one(["node", "task", "job"])
        most = 5 if per == "job" else 2
        gres = (Gres(name=name, count=pick.number(1, most), per=per),)
    common: dict[str, Any] = {
        "nodes": least,
        "max_nodes": pick.one([None, least, least + 1]),
        "tasks": tasks,
        "cpus_per_task": pick.one([1, 1, 2]),
        "tasks_per_node": pick.one([None, None, 1, 2]),
        "memory": pick.one([None, 0, 1, 2]),
        "memory_per": pick.one(["node", "cpu"]),
        "gres": gres,
        "cpus_per_gpu": pick.one([None, None, 2]),
        "features": pick.one(FEATURES),
        "exclusive": pick.one([False, False, True]),
        "contiguous": pick.one([False, False, False, True]),
        "wanted": pick.one([(), (), ("n0",)]),
        "excluded": pick.one([(), (), ("n1",)]),
        "amounts": pick.one([(), (), ((M, 1),), ((M, 2),), ((M, 1), (K, 2))])
        + pick.one([(), ((POWER, 2),), ((POWER, 5),)]),
    }
    if plain:
        return Request(**common)
    return Request(
        **common,
        partitions=pick.one([(), ("p0",), ("p1",), ("p1", "p0")]),
        qos=pick.one(["", "q"]),
        account=pick.one(["", "a"]),
        reservation=pick.one(["", "", "", "r0"]),
    )


@st.composite
def workloads(
    draw: st.DrawFn, *, plain: bool = False, overruns: bool = False, most: int = 10
) -> Workload:
    """Jobs with requests, begin times, cancellations, arrays and dependencies."""
    pick = Drawing(draw)
    count = pick.number(1, most)
    spread = pick.one([0, 3, 20])
    asks = requests(plain=plain)
    kinds = [draw(asks) for _ in range(pick.number(1, 4))]
    submit = sorted(pick.number(0, spread) for _ in range(count))
    request = [pick.one(LENGTHS) for _ in range(count)]
    run = [pick.one((asked,) * len(LENGTHS) + LENGTHS) for asked in request]
    limit = [asked + pick.one([0, 0, 7, 1 << 30]) if overruns else asked for asked in request]
    each = [pick.one(kinds) for _ in range(count)]
    rare = (-1, -1, -1, 0, 4, 12)
    columns: dict[str, Any] = {}
    dependencies = []
    if not plain:
        columns = {
            "begin": [pick.one(rare) for _ in range(count)],
            "cancel_at": [pick.one(rare) for _ in range(count)],
            "array": [pick.one([-1, 1]) for _ in range(count)],
            "throttle": [2] * count,
            "requeue": [pick.one([1, 1, 0]) for _ in range(count)],
        }
        names = ["after", "afterany", "afterok", "afternotok", "aftercorr", "singleton"]
        for job in range(1, count):
            for _ in range(pick.one([0, 0, 0, 1, 2])):
                on = {pick.number(1, job) for _ in range(pick.number(1, 2))}
                kind = pick.one(names)
                dependencies.append(
                    Dependency(
                        job=job,
                        kind=kind,
                        on=() if kind == "singleton" else tuple(sorted(on)),
                        any_of=pick.yes(),
                    )
                )
    asked = Requests.of_jobs(each, dependencies=dependencies, **columns)
    return Workload.build(
        submit=submit,
        run=run,
        procs=[one.cpus for one in each],
        request=request,
        limit=limit,
        user=[pick.number(-1, 1) for _ in range(count)],
        status=[pick.one([-1, 1, 0]) for _ in range(count)],
        executable=[pick.number(0, 1) for _ in range(count)],
        requests=asked,
        epoch=0,
    )


@st.composite
def crowds(draw: st.DrawFn) -> tuple[Workload, Site]:
    """Many jobs of one or two kinds of nodes in a short time: the queue gets long."""
    pick = Drawing(draw)
    nodes = [pick.one((2, 4, 4)) for _ in range(pick.number(1, 3))]
    site = Site(nodes=tuple(Node(name=f"n{i}", amounts=(c,)) for i, c in enumerate(nodes)))
    count = pick.number(5, 14)
    request = [pick.number(1, 25) for _ in range(count)]
    workload = Workload.build(
        submit=sorted(pick.number(0, 20) for _ in range(count)),
        run=[min(pick.number(1, 2 * asked), asked) for asked in request],
        procs=[pick.number(1, sum(nodes)) for _ in range(count)],
        request=request,
        user=[pick.number(0, 2) for _ in range(count)],
        epoch=0,
    )
    return with_requests(workload, site), site


def with_requests(workload: Workload, site: Site) -> Workload:
    """The same jobs, each with its request."""
    return workload.replace(requests=requests_of(workload, site))


def assert_same(workload: Workload, site: Site, policy: Any, rules: naive_site.Rules) -> Schedule:
    """Start, end, place, reason, promise and kills of every job equal the reference's."""
    chosen = parse_policy(policy) if isinstance(policy, str) else policy
    made = simulate(workload, site, chosen)
    world = naive_site.simulate(workload, site, rules)
    for row in range(len(workload)):
        over = world.over.get(row)
        ran = over in ("ended", "lost")
        run = world.last.get(row)
        start = run.start if ran and run is not None else -1
        end = -1
        if over == "ended" and run is not None:
            end = run.end
        elif over == "lost":
            end = world.over_at[row]
        kills = sum(1 for number, _, _ in world.attempts if number == workload.job_id[row])
        expected = {
            "start": start,
            "end": end,
            "place": sorted(run.tasks.items()) if ran and run is not None else [],
            "reason": world.reason.get(row, 0) if ran else int(Reason.UNSTARTED),
            "promised": world.promised.get(row, -1),
            "blocked_at": world.blocked.get(row, -1),
            "kills": kills,
        }
        found = {
            "start": int(made.start[row]),
            "end": int(made.end[row]),
            "place": sorted(made.place.tasks_of(row)),
            "reason": int(made.reason[row]),
            "promised": int(made.promised[row]),
            "blocked_at": int(made.blocked_at[row]),
            "kills": int(made.kills[row]),
        }
        assert found == expected, f"job {workload.job_id[row]}"
        assert made.unstarted[row] == (not ran)
    assert made.counters["slipped_promises"] == world.slipped
    assert check(made, workload, site).first_violation is None
    return made
