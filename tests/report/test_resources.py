"""The section on several resources: shown where several count, drawn from the schedule."""

from __future__ import annotations

import re

import numpy as np

from report.worlds import report_input, workload
from shadowtime.cluster import Cluster
from shadowtime.engine import simulate
from shadowtime.metrics import measure
from shadowtime.policy import parse_policy
from shadowtime.report import PolicyRun, ReportInput
from shadowtime.report.page.html import render


def report(memory_name: str = "memory") -> ReportInput:
    jobs = workload(300, demand={memory_name: np.random.default_rng(2).integers(0, 40, 300)})
    cluster = Cluster.pool(64, **{memory_name: 100})
    runs = []
    for name in ("easy", "ibb"):
        made = simulate(jobs, cluster, parse_policy(name))
        runs.append(PolicyRun(name=name, schedule=made, metrics=measure(made, jobs, cluster)))
    return ReportInput(title="Two", workload=jobs, cluster=cluster, runs=tuple(runs))


def test_a_drawing_for_each_policy_and_the_numbers_of_the_group():
    page = render(report())
    found = page[page.index('<section id="resources">') :]
    found = found[: found.index("</section>")]
    assert '<a href="#resources">' in page
    drawings = re.findall(r"<figure class=\"shares\"[^>]*>.*?</figure>", found, re.DOTALL)
    assert len(drawings) == 2
    for one in drawings:
        lines = re.findall(r'points="([^"]*)"', one)
        assert len(lines) == 2 and all(len(line.split()) == 240 for line in lines)
        assert one.count('<text class="time"') >= 2, "the time axis has ticks"
        assert 'class="line r0 dash0"' in one and 'class="line p0"' not in one
    assert "stranded" in found and "imbalance" in found


def test_nothing_from_outside_gets_into_the_markup():
    page = render(report("<b>gpu"))
    assert "<b>gpu" not in page.replace("\\u003cb", "")


def test_one_resource_has_no_such_section():
    assert '<section id="resources">' not in render(report_input(50))
