"""Every kind of amount that a site counts is read, planned with, checked, explained and written.

The tests go over the table of kinds: a new row is tested without a new test.
"""

from __future__ import annotations

import csv
from io import StringIO
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shadowtime
from conftest import examples
from shadowtime.cli import run
from shadowtime.cluster import Cluster
from shadowtime.cluster.amounts import COUNTED, Kind
from shadowtime.cluster.site import Node, Site
from shadowtime.cluster.site_summary import summarise
from shadowtime.cluster.site_toml import parse_site_toml
from shadowtime.cluster.site_toml_write import format_site_toml
from shadowtime.engine import simulate
from shadowtime.errors import UsageError
from shadowtime.metrics import measure
from shadowtime.policy import parse_policy
from shadowtime.result.read import read_inputs
from shadowtime.schedule.check import check
from shadowtime.slurm.policy import SlurmPolicy
from shadowtime.study.site.changes import Change, without_effect
from shadowtime.study.site.deploy import deployment
from shadowtime.study.site.world import SiteWorld
from shadowtime.study.unstarted import why_never
from shadowtime.trace.job_table import table_of
from shadowtime.workload import Workload
from shadowtime.workload.request import Request, Requests
from shadowtime.workload.site_requests import requests_of

of_every_kind = pytest.mark.parametrize("kind", COUNTED, ids=[kind.name for kind in COUNTED])
POLICIES = ("fcfs", "easy", "easy(reserve=3)", "lxfw", "easy-sjbf", "conservative", "selective",
            "pv-easy")  # fmt: skip


def name_of(kind: Kind) -> str:
    """An amount of a kind."""
    return f"{kind.prefix}m" if kind.prefix else kind.name


def site_with(kind: Kind, capacity: int, cpus: int = 64) -> Site:
    """One node, and so much of an amount."""
    return Site(nodes=(Node(name="n", amounts=(cpus,)),), amounts={name_of(kind): capacity})


def asking(kind: Kind, each: list[int], **columns: Any) -> Workload:
    """Jobs of one processor that take so much of an amount, one submitted each second."""
    taken = [Request(amounts=((name_of(kind), n),) if n else ()) for n in each]
    rows = {"submit": range(len(each)), "run": [100] * len(each), "procs": [1] * len(each)}
    return Workload.build(requests=Requests.of_jobs(taken), **rows | columns)


@of_every_kind
def test_a_site_with_it_is_written_read_and_shown(kind: Kind) -> None:
    site = site_with(kind, 7)
    again = parse_site_toml(format_site_toml(site))
    assert again.amounts == site.amounts
    assert again.checksum == site.checksum != site.replace(amounts={}).checksum
    assert summarise(site)[kind.entry] == ({"m": 7} if kind.prefix else 7)


@of_every_kind
def test_a_table_of_jobs_has_it_as_a_column(kind: Kind, tmp_path: Path) -> None:
    jobs = asking(kind, [3, 0, 5])
    columns = table_of(jobs)
    assert columns[kind.entry] == (["m:3", None, "m:5"] if kind.prefix else ["3", None, "5"])
    text = StringIO()
    csv.writer(text).writerows([list(columns), *zip(*columns.values(), strict=True)])
    (tmp_path / "jobs.csv").write_text(text.getvalue())
    read = shadowtime.read(tmp_path / "jobs.csv")
    assert [one.amounts for one in map(read.requests.__getitem__, range(3))] == [
        ((name_of(kind), 3),), (), ((name_of(kind), 5),),
    ]  # fmt: skip
    words = text.getvalue().replace("m:3", "m:x").replace(",3", ",x")
    (tmp_path / "wrong.csv").write_text(words)
    with pytest.raises(shadowtime.errors.InputError, match=f"{kind.entry} must be like"):
        shadowtime.read(tmp_path / "wrong.csv")


@of_every_kind
def test_the_table_runs_on_a_pool_that_has_it(kind: Kind, tmp_path: Path) -> None:
    """A pool has it as a resource under the same name."""
    entry = "m:" if kind.prefix else ""
    (tmp_path / "jobs.csv").write_text(
        f"job_id,submit,run,procs,{kind.entry}\n1,0,50,1,{entry}3\n2,0,50,1,{entry}3\n"
    )
    made = shadowtime.simulate(tmp_path / "jobs.csv", f"pool:8,{name_of(kind)}=5", "easy")
    assert made.schedule.start.tolist() == [0, 50]


@of_every_kind
def test_a_column_of_a_log_without_requests_counts_on_a_site(kind: Kind) -> None:
    column = np.array([3, -1, 3])
    log = Workload.build(
        submit=[0, 0, 0], run=[9] * 3, procs=[1] * 3, extra={name_of(kind): column}
    )
    site = site_with(kind, 5)
    taken = requests_of(log, site)
    assert [taken[row].amounts for row in range(3)] == [
        ((name_of(kind), 3),),
        (),
        ((name_of(kind), 3),),
    ]
    assert simulate(log, site, parse_policy("easy")).start.tolist() == [0, 0, 9]


def test_what_a_site_does_not_count_has_no_bound_unless_jobs_demand_it() -> None:
    for kind in COUNTED:
        made = simulate(
            asking(kind, [9]), site_with(kind, 9).replace(amounts={}), parse_policy("easy")
        )
        assert bool(made.unstarted[0]) == kind.demanded


@of_every_kind
@pytest.mark.parametrize("policy", POLICIES)
def test_it_is_planned_with_as_a_resource_of_a_pool(kind: Kind, policy: str) -> None:
    """The same starts, promises and reasons: the guarantees of the policy hold under it."""

    @given(st.data())
    @settings(max_examples=examples(30), deadline=None)
    def equal(data: st.DataObject) -> None:
        count = data.draw(st.integers(1, 12))

        def some(low: int, high: int) -> list[int]:
            return data.draw(st.lists(st.integers(low, high), min_size=count, max_size=count))

        columns = {"submit": sorted(some(0, 20)), "run": some(1, 12), "procs": some(1, 4)}
        columns["request"] = [a + b for a, b in zip(columns["run"], some(0, 5), strict=True)]
        each = some(0, 3)
        asked = [
            Request(tasks=procs, nodes=1, max_nodes=1, amounts=((name_of(kind), n),) if n else ())
            for procs, n in zip(columns["procs"], each, strict=True)
        ]
        jobs = Workload.build(requests=Requests.of_jobs(asked), **columns)
        pool = Workload.build(demand={name_of(kind): each}, **columns)
        here = simulate(pool, Cluster.pool(4, **{name_of(kind): 3}), parse_policy(policy))
        there = simulate(jobs, site_with(kind, 3, cpus=4), parse_policy(policy))
        for name in ("start", "promised", "blocked_at", "reason"):
            assert getattr(here, name).tolist() == getattr(there, name).tolist(), name
        assert check(there, jobs, site_with(kind, 3, cpus=4)).first_violation is None

    equal()


@of_every_kind
@pytest.mark.parametrize("policy", [SlurmPolicy(), *map(parse_policy, POLICIES)])
def test_no_policy_goes_beyond_it_and_check_would_find_that(kind: Kind, policy: Any) -> None:
    jobs, site = asking(kind, [2, 3, 1, 4, 2, 1, 1, 3]), site_with(kind, 5)
    made = simulate(jobs, site, policy)
    assert not made.unstarted.any()
    within = {one.name: one for one in check(made, jobs, site).proofs}["site-limits"]
    assert within.verdict == "proved"
    found = {one.name: one for one in check(made, jobs, site_with(kind, 3)).proofs}["site-limits"]
    assert found.verdict == "violated" and "a bound on each job" in found.detail
    small = asking(
        kind, [2, 3, 1, 3, 2, 1, 1, 3]
    )  # no job alone takes more than 3, two together do
    found = {one.name: one for one in check(made, small, site_with(kind, 3)).proofs}["site-limits"]
    title = kind.title(name_of(kind))
    assert found.detail.endswith(f"s more of {title} is in use than {kind.count('3')}")


@of_every_kind
def test_slurm_gives_its_reason(kind: Kind) -> None:
    made = simulate(asking(kind, [5, 1]), site_with(kind, 5), SlurmPolicy())
    assert made.waited_for == {2: kind.reason}


@of_every_kind
def test_use_of_it_is_a_metric(kind: Kind) -> None:
    jobs, site = asking(kind, [4, 2], submit=[0, 100]), site_with(kind, 8)
    found = measure(simulate(jobs, site, parse_policy("easy")), jobs, site)
    assert found[f"utilisation_{name_of(kind)}"] == 0.5


@of_every_kind
def test_more_than_the_site_has_is_the_cause_of_never_starting(kind: Kind) -> None:
    jobs, site = asking(kind, [9, 1]), site_with(kind, 5)
    made = simulate(jobs, site, parse_policy("easy"))
    assert [one.why for one in why_never(made, jobs, site)] == [kind.short.format("m")]


@of_every_kind
def test_a_whatif_changes_it(kind: Kind) -> None:
    world = SiteWorld(
        site=site_with(kind, 5),
        jobs=asking(kind, [3, 3]),
        policy=SlurmPolicy(),
        zone=ZoneInfo("UTC"),
    )
    change = Change("set", f"{kind.setting.lower()}={'m:' if kind.prefix else ''}6")
    more = change.apply(world)
    assert more.site.amounts == {name_of(kind): 6} and not without_effect(world, [change])
    assert simulate(more.jobs, more.site, parse_policy("easy")).start.tolist() == [0, 1]
    assert without_effect(world.replace(jobs=asking(kind, [0, 0])), [change]) == [
        f"{kind.setting} has no effect: no job of the log takes {kind.entry}"
    ]
    made = deployment(world, [change], files={"slurm.conf": f"{kind.setting}=m:5\n"})
    assert made.slurm_conf[-1:] == ((f"+{kind.setting}=m:6",) if kind.of_slurm else ())
    with pytest.raises(UsageError, match=kind.setting):
        Change("set", f"{kind.setting}=m:x").apply(world)


@of_every_kind
def test_from_files_to_a_folder_and_back(
    kind: Kind, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """simulate, check, explain and rerun on the command line."""
    monkeypatch.chdir(tmp_path)
    Path("site.toml").write_text(format_site_toml(site_with(kind, 5)))
    entry = "m:" if kind.prefix else ""
    Path("jobs.csv").write_text(
        f"job_id,submit,run,request,procs,{kind.entry}\n"
        f"1,0,50,50,1,{entry}3\n2,1,50,50,1,{entry}3\n3,2,50,50,1,\n"
    )
    words = ["jobs.csv", "--cluster", "site.toml", "-p", "conservative"]
    assert run(["simulate", *words, "-o", "out"]) == 0
    schedule = ["out/schedules/conservative.csv", "--trace", "jobs.csv", "--cluster", "site.toml"]
    assert run(["check", *schedule, "-p", "conservative"]) == 0
    Path("more.toml").write_text(format_site_toml(site_with(kind, 6)))
    assert run(["check", *schedule[:-1], "more.toml", "-p", "conservative"]) == 1
    assert run(["rerun", "out"]) == 0
    capsys.readouterr()
    assert run(["explain", "out", "2"]) == 0
    heard = capsys.readouterr().out
    title, bound, asks = kind.title(name_of(kind)), kind.count("5"), kind.count("3")
    assert f"{title}: 3 of {bound} were in use and it asks for {asks}; held by" in " ".join(
        heard.split()
    )
    jobs, site = read_inputs("out")
    assert isinstance(site, Site) and site.amounts == {name_of(kind): 5}
    assert jobs.requests is not None and jobs.requests[0].amounts == ((name_of(kind), 3),)


@of_every_kind
def test_site_show_lists_it(kind: Kind, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "site.toml").write_text(format_site_toml(site_with(kind, 5)))
    assert run(["site", "show", str(tmp_path / "site.toml")]) == 0
    assert f"{kind.entry}: {kind.count('m 5' if kind.prefix else '5')}" in capsys.readouterr().out
