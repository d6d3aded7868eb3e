"""Random small sites and requests, and the comparison of the engine with the slow reference."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from naive import site as naive_site
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
from shadowtime.workload import Workload
from shadowtime.workload.request import Dependency, Gres, Request, Requests
from shadowtime.workload.site_requests import requests_of

RESOURCES = ("cpus", "memory", "gpu", "gpu:a")
FEATURES = [
    *("", "", "", "", "x", "x", "x&y", "x|y", "!x"),
    *("x*1", "[x|y]", "[x*1&y*1]", "[(x|y)*2&x*1]", "y&x*2", "[x*2|y*1]"),
]
"""Feature expressions for one node, or for several nodes together."""
LENGTHS = st.sampled_from([1, 1, 2, 3, 4, 5, 7, 10, 16, 25])


@st.composite
def sites(draw: st.DrawFn, *, plain: bool = False, events: bool = True) -> Site:
    """Mixed nodes; partitions that overlap; outages and reservations if requested."""
    count = draw(st.integers(1, 4))
    nodes = []
    for i in range(count):
        gpus = draw(st.sampled_from([0, 0, 2]))
        typed = gpus if draw(st.booleans()) else 0
        nodes.append(
            Node(
                name=f"n{i}",
                amounts=(draw(st.sampled_from([1, 2, 4])), draw(st.integers(2, 6)), gpus, typed),
                features=frozenset(draw(st.sets(st.sampled_from("xy"), max_size=2))),
                weight=draw(st.sampled_from([1, 1, 2])),
            )
        )
    if plain:
        return Site(nodes=tuple(nodes), resources=RESOURCES)
    names = [node.name for node in nodes]
    partitions = []
    for i in range(draw(st.integers(1, 2))):
        inside = draw(st.sets(st.sampled_from(names), min_size=1))
        partitions.append(
            Partition(
                name=f"p{i}",
                nodes=tuple(name for name in names if name in inside),
                max_time=draw(st.sampled_from([None, None, 10])),
                max_nodes=draw(st.sampled_from([None, None, 2])),
                max_cpus_per_node=draw(st.sampled_from([None, None, 2])),
                tier=draw(st.sampled_from([1, 1, 2])),
                exclusive=draw(st.sampled_from([False, False, False, True])),
                default_memory=draw(st.sampled_from([None, 1])),
                default=i == 0,
                qos=draw(st.sampled_from(["", "part"])),
            )
        )
    outages: list[Outage] = []
    reservations: list[Reservation] = []
    if events:
        for _ in range(draw(st.integers(0, 2))):
            begin = draw(st.integers(0, 30))
            outages.append(
                Outage(
                    node=draw(st.sampled_from(names)),
                    begin=begin,
                    end=draw(st.sampled_from([begin + 1, begin + 6, (1 << 40) - 1])),
                    drain=draw(st.booleans()),
                    known_at=draw(st.sampled_from([None, 0, begin - 3])),
                )
            )
        for i in range(draw(st.integers(0, 1))):
            begin = draw(st.integers(0, 20))
            inside = draw(st.sets(st.sampled_from(names), min_size=1))
            reservations.append(
                Reservation(
                    name=f"r{i}",
                    nodes=tuple(name for name in names if name in inside),
                    begin=begin,
                    end=begin + draw(st.integers(1, 20)),
                    users=draw(st.sampled_from([frozenset(), frozenset({"0"})])),
                    known_at=draw(st.sampled_from([None, max(0, begin - 4)])),
                )
            )
    limited = draw(st.booleans())
    small = st.sampled_from([None, None, 1, 2])

    def limits() -> Limits:
        return Limits(
            group_jobs=draw(small),
            user_jobs=draw(small),
            account_jobs=draw(small),
            group_resources=draw(st.sampled_from([{}, {"cpus": 3}, {"nodes": 2, "gpu": 1}])),
            user_resources=draw(st.sampled_from([{}, {"cpus": 2}, {"memory": 4}])),
            group_minutes=draw(st.sampled_from([{}, {}, {"cpus": 1}])),
            group_run_minutes=draw(st.sampled_from([{}, {}, {"cpus": 1}])),
            group_wall=draw(st.sampled_from([None, None, 30])),
            job_wall=draw(st.sampled_from([None, None, 10])),
            job_resources=draw(st.sampled_from([{}, {}, {"cpus": 3}])),
            job_minutes=draw(st.sampled_from([{}, {}, {"cpus": 1}])),
            job_node_resources=draw(st.sampled_from([{}, {}, {"cpus": 2, "gpu": 1}])),
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
        licences={"m": 1},
        requeue=draw(st.booleans()),
        enforce=frozenset({"limits"}) if limited else frozenset(),
    )


@st.composite
def requests(draw: st.DrawFn, *, plain: bool = False) -> Request:
    """The request of one job."""
    least = draw(st.sampled_from([1, 1, 1, 2, 3]))
    tasks = draw(st.integers(1, 5))
    gres: tuple[Gres, ...] = ()
    if draw(st.sampled_from([False, False, True])):
        name = draw(st.sampled_from(["gpu", "gpu:a"]))
        per = draw(st.sampled_from(["node", "task", "job"]))
        most = 5 if per == "job" else 2
        gres = (Gres(name=name, count=draw(st.integers(1, most)), per=per),)
    common: dict[str, Any] = {
        "nodes": least,
        "max_nodes": draw(st.sampled_from([None, least, least + 1])),
        "tasks": tasks,
        "cpus_per_task": draw(st.sampled_from([1, 1, 2])),
        "tasks_per_node": draw(st.sampled_from([None, None, 1, 2])),
        "memory": draw(st.sampled_from([None, 0, 1, 2])),
        "memory_per": draw(st.sampled_from(["node", "cpu"])),
        "gres": gres,
        "cpus_per_gpu": draw(st.sampled_from([None, None, 2])),
        "features": draw(st.sampled_from(FEATURES)),
        "exclusive": draw(st.sampled_from([False, False, False, True])),
        "contiguous": draw(st.sampled_from([False, False, False, True])),
        "wanted": draw(st.sampled_from([(), (), ("n0",)])),
        "excluded": draw(st.sampled_from([(), (), ("n1",)])),
    }
    if plain:
        return Request(**common)
    return Request(
        **common,
        partitions=draw(st.sampled_from([(), ("p0",), ("p1",), ("p1", "p0")])),
        qos=draw(st.sampled_from(["", "q"])),
        account=draw(st.sampled_from(["", "a"])),
        reservation=draw(st.sampled_from(["", "", "", "r0"])),
        licences=draw(st.sampled_from([(), (), (("m", 1),)])),
    )


@st.composite
def workloads(
    draw: st.DrawFn, *, plain: bool = False, overruns: bool = False, most: int = 10
) -> Workload:
    """Jobs with requests, begin times, cancellations, arrays and dependencies."""
    count = draw(st.integers(1, most))
    spread = draw(st.sampled_from([0, 3, 20]))
    kinds = [draw(requests(plain=plain)) for _ in range(draw(st.integers(1, 4)))]
    submit = sorted(draw(st.integers(0, spread)) for _ in range(count))
    request = [draw(LENGTHS) for _ in range(count)]
    run = [draw(st.one_of(st.just(asked), LENGTHS)) for asked in request]
    limit = [
        asked + draw(st.sampled_from([0, 0, 7, 1 << 30])) if overruns else asked
        for asked in request
    ]
    each = [draw(st.sampled_from(kinds)) for _ in range(count)]
    rare = st.sampled_from([-1, -1, -1, 0, 4, 12])
    columns: dict[str, Any] = {}
    dependencies = []
    if not plain:
        columns = {
            "begin": [draw(rare) for _ in range(count)],
            "cancel_at": [draw(rare) for _ in range(count)],
            "array": [draw(st.sampled_from([-1, 1])) for _ in range(count)],
            "throttle": [2] * count,
            "requeue": [draw(st.sampled_from([1, 1, 0])) for _ in range(count)],
        }
        names = ["after", "afterany", "afterok", "afternotok", "aftercorr", "singleton"]
        for job in range(1, count):
            for _ in range(draw(st.sampled_from([0, 0, 0, 1, 2]))):
                on = draw(st.sets(st.integers(1, job), min_size=1, max_size=2))
                kind = draw(st.sampled_from(names))
                dependencies.append(
                    Dependency(
                        job=job,
                        kind=kind,
                        on=() if kind == "singleton" else tuple(sorted(on)),
                        any_of=draw(st.booleans()),
                    )
                )
    asked = Requests.of_jobs(each, dependencies=dependencies, **columns)
    return Workload.build(
        submit=submit,
        run=run,
        procs=[one.cpus for one in each],
        request=request,
        limit=limit,
        user=[draw(st.integers(-1, 1)) for _ in range(count)],
        status=[draw(st.sampled_from([-1, 1, 0])) for _ in range(count)],
        executable=[draw(st.integers(0, 1)) for _ in range(count)],
        requests=asked,
        epoch=0,
    )


@st.composite
def crowds(draw: st.DrawFn) -> tuple[Workload, Site]:
    """Many jobs of one or two kinds of nodes in a short time: the queue gets long."""
    nodes = draw(st.lists(st.sampled_from([2, 4, 4]), min_size=1, max_size=3))
    site = Site(nodes=tuple(Node(name=f"n{i}", amounts=(c,)) for i, c in enumerate(nodes)))
    count = draw(st.integers(5, 14))
    request = [draw(st.integers(1, 25)) for _ in range(count)]
    workload = Workload.build(
        submit=sorted(draw(st.integers(0, 20)) for _ in range(count)),
        run=[draw(st.one_of(st.just(asked), st.integers(1, asked))) for asked in request],
        procs=[draw(st.integers(1, sum(nodes))) for _ in range(count)],
        request=request,
        user=[draw(st.integers(0, 2)) for _ in range(count)],
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
            "reason": world.reason.get(row, 0) if ran else 0,
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
        assert (int(workload.job_id[row]) in made.unstarted) == (not ran)
    assert made.counters["slipped_promises"] == world.slipped
    assert check(made, workload, site).first_violation is None
    return made
