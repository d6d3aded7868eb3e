"""Class partitioning reproduced: what is run, and how the claims are judged."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from shadowtime.cli import run
from shadowtime.engine import simulate
from shadowtime.metrics import measure
from shadowtime.policy import parse_policy
from shadowtime.study.papers import published
from shadowtime.study.papers.class_partitioning import PAPER
from shadowtime.study.papers.class_partitioning import runs as o
from shadowtime.study.papers.class_partitioning import runs as p
from shadowtime.study.papers.class_partitioning.runs import (
    QUICK_DEPTHS,
    SHARED_JOBS,
    SPACE_SHARED,
    WHOLE,
    Findings,
    MonthRuns,
    Outcome,
    draw_month,
    outcome,
    policies_of,
    subjects,
)
from shadowtime.study.papers.picture import svg

HOUR = 3600.0
LABELS = {
    o.ALL: ("all",),
    "width": ("small", "medium", "large"),
    o.BY_SIZE: ("1", "2", "3-4", "5-8", "9-16", "17-32", "33-64", "> 64"),
    o.BY_REQUEST: ("<= 10 min", "> 200 h"),
    o.BY_RUN: ("<= 10 min", "> 200 h"),
}
Wait = Callable[[str, str, str, str], float]
"""Average wait in hours by month, world, policy and class."""


@pytest.fixture(scope="module")
def drawn():
    """A draw of each month and the study's subjects."""
    return {month: draw_month(month, 1) for month in p.MONTH_NAMES}, tuple(subjects())


def made_up(drawn, wait: Wait, depths=p.DEPTHS) -> Findings:
    """Findings with invented waits, two equal draws of each month."""
    months, found = drawn

    def one(month: str, world: str, policy: str) -> Outcome:
        groups = {}
        for kind, labels in LABELS.items():
            for label in labels:
                seconds = HOUR * wait(month, world, policy, label)
                groups[kind, label] = dict.fromkeys(o.MEASURES, seconds)
        return Outcome(groups=groups, start=np.zeros(3, np.int64))

    runs = {
        (month, seed): MonthRuns(
            {(world, policy): one(month, world, policy) for world, policy in policies_of(depths)},
            months[month].check,
        )
        for month in p.MONTH_NAMES
        for seed in (1, 2)
    }
    return Findings(subjects=found, seeds=(1, 2), depths=depths, months=runs)


def as_the_paper_says(month: str, world: str, policy: str, group: str) -> float:
    """Results in which every claim is true."""
    if world == SHARED_JOBS:
        return 1.0 if policy in ("lxfw(reserve=2)", "lxfw(reserve=4)") else 2.0
    base = {"small": 0.1, "medium": 2.0, "large": 60.0, "all": 5.0}.get(group, 1.0)
    if policy == "lxfw(reserve=1)":
        return base
    if policy == p.policy_of(p.SINGLE, month):
        return 0.6 * base
    if policy.startswith(("lxfw(", "easy", "lpf", "lxfwp")):
        return base
    worse = policy in (p.PARTITIONED[p.L_SM_5], p.PARTITIONED[p.L_A_5])
    return 0.5 * base if worse else 0.3 * base


def test_on_the_command_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """No log is needed; figures, tables, verdicts and the months' schedules are written."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SHADOWTIME_TRACES", "nowhere")
    command = ["paper", "class-partitioning", "--quick", "--seeds", "1", "-o", "out", "--json"]
    assert run(command) == 0
    captured = capsys.readouterr()
    found = json.loads(captured.out)
    assert "--traces" not in captured.err
    assert [trace["label"] for trace in found["traces"]] == list(p.MONTH_NAMES)
    assert len(found["claims"]) == 22 and found["seeds"] == [1]
    for name in ("figures/figure-2.svg", "figures/figure-5.csv", "tables/table-8.csv"):
        assert (Path("out") / name).stat().st_size > 100
    month = json.loads(Path("out/jan03/result.json").read_text())
    assert len(month["policies"]) == 5 and month["cluster"]["hosts"] == 12


def test_what_is_run() -> None:
    """Four orders, eight depths, the partitions; both readings; the shared jobs alone."""
    keys = policies_of(p.DEPTHS)
    assert len(keys) == len(set(keys))
    whole = [policy for world, policy in keys if world == WHOLE]
    assert len(whole) == 4 * 8 + 4 + 1
    assert {policy for world, policy in keys if world == SPACE_SHARED} >= set(
        p.PARTITIONED.values()
    )
    assert len([1 for world, _ in keys if world == SHARED_JOBS]) == 8
    assert len(PAPER.plan([], 10).tasks) == 40
    assert len(PAPER.plan([], 10, quick=True).tasks) == 8


def test_an_outcome_is_what_measure_says(drawn) -> None:
    """All jobs, classes and ranges are parts of the same run, scored in the month alone."""
    world = drawn[0]["Feb03"].worlds[WHOLE]
    found = outcome(world, "lxfw(reserve=2)", starts=True, keep=True)
    schedule = simulate(world.workload, world.cluster, parse_policy("lxfw(reserve=2)"))
    metrics = measure(schedule, world.workload, world.cluster, window=world.window)
    assert metrics["jobs"] == sum(drawn[0]["Feb03"].check.jobs)
    every = found.groups["all", "all"]
    for name in ("wait_mean_s", "wait_p95_s", "wait_max_s", "slowdown_mean"):
        assert every[name] == pytest.approx(metrics[name])
    assert found.start is not None and (found.start == schedule.start).all()
    assert found.run is not None and found.run.metrics["wait_max_s"] == metrics["wait_max_s"]
    for kind, labels in LABELS.items():
        assert {label for of, label in found.groups if of == kind} >= set(labels)


def test_every_claim_holds_where_it_should(drawn) -> None:
    """In a world made as the paper describes it."""
    found = PAPER.reproduction(made_up(drawn, as_the_paper_says))
    wrong = [(c.text, c.reading, c.evidence) for c in found.claims if c.verdict != "holds"]
    assert not wrong
    assert {claim.text for claim in found.claims} == {
        claim.text for claim in published.claims("class_partitioning").values()
    }


def test_no_simulated_claim_holds_in_the_opposite_world(drawn) -> None:
    """What was simulated is judged by the numbers: with reversed numbers no claim holds."""

    def opposite(month: str, world: str, policy: str, group: str) -> float:
        stated = as_the_paper_says(month, world, policy, group)
        apart = 3.0 if policy == p.PARTITIONED[p.L_A_50] else 1.0
        if group != "large":
            return apart * 100.0 / stated
        first = as_the_paper_says(month, world, "lxfw(reserve=1)", group)
        return 1.0 if policy == "lxfw(reserve=1)" else apart * (1.0 + first / stated)

    found = PAPER.reproduction(made_up(drawn, opposite))
    drawn_or_fixed = ("Sec. 2.2", "Sec. 2.2 and Fig. 1")
    simulated = [
        claim
        for claim in found.claims
        if claim.where not in drawn_or_fixed and "processors." not in claim.text
        if "At most two" not in claim.text
    ]
    assert [(c.text, c.reading) for c in simulated if c.verdict == "holds"] == []


def test_too_few_depths_leave_a_claim_open(drawn) -> None:
    """The quick form does not pretend to know which number of reservations is best."""
    found = PAPER.reproduction(made_up(drawn, as_the_paper_says, QUICK_DEPTHS))
    open_ones = [claim for claim in found.claims if claim.verdict == "not judged"]
    assert len(open_ones) == 1 and "leave out --quick" in open_ones[0].evidence


def test_figures_and_tables(drawn) -> None:
    """Figures 1 to 5 with their panels, drawn; the months beside Tables 4 and 8."""
    found = PAPER.reproduction(made_up(drawn, as_the_paper_says))
    assert [len(figure.panels) for figure in found.figures] == [1, 4, 9, 7, 4]
    for figure in found.figures:
        assert svg(figure).startswith("<svg")
    assert found.figure("Figure 2").panel("(d) large jobs").line("K = 1")["Jan03"] == 60.0
    assert abs(found.table("Table 4").cell("total", "Jan03", group="demand").ours - 92) < 1
    assert found.table("Table 8").cell("demand", "P > 64", group="Feb03").paper == 21
    assert found.table("Shared jobs").cell("average wait", "K = 2", group="Dec02").ours == 1.0
    peaks = found.figure("Figure 1").panels[0].line("jobs")
    assert abs(sum(peaks[name] or 0 for name in ("5h", "50h", "200h", "400h")) - 50) < 5


def test_no_wait_on_either_side_is_the_same(drawn) -> None:
    """A machine on which no job waits makes no claim fail by a division."""
    found = PAPER.reproduction(made_up(drawn, lambda *_: 0.0))
    assert any(claim.verdict == "holds" for claim in found.claims)
