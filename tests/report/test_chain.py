"""The card of a job: what it waited for, from job to job, and what would be without it."""

from __future__ import annotations

import pytest

from report.worlds import easy, policy_run, report_input
from shadowtime.cluster import Cluster
from shadowtime.report import ReportInput, explain
from shadowtime.study.counterfactual.otherwise import absence
from shadowtime.workload import Workload

# Four processors. Job 1 takes three until 100. Job 2 needs four and is promised 100. Job 3 is
# backfilled at 20. Job 4 would delay job 2 and waits behind it until 130.
JOBS = Workload.build(
    submit=[0, 10, 20, 30], run=[100, 30, 50, 200], request=[100, 60, 50, 200],
    procs=[3, 4, 1, 1],
)  # fmt: skip


@pytest.fixture
def report() -> ReportInput:
    run = policy_run("easy", JOBS, 4)
    gone = absence(
        JOBS, Cluster.pool(4), None, run.schedule, 2, engine=lambda jobs, *_: easy(jobs, 4)
    )
    return report_input(workload=JOBS, procs=4, runs=(run,), absences={"easy": (gone,)})


def choose(browser, job: int) -> str:
    browser.run(f"shadowtime.find(shadowtime.world, '{job}')")
    browser.settle()
    return text(browser)


def text(browser) -> str:
    return " ".join(browser.run("return document.getElementById('card').innerText").split())


def click(browser, job: int) -> str:
    row = JOBS.job_id.tolist().index(job)
    browser.run(f"document.querySelector('#card [data-job=\"{row}\"]').click()")
    browser.settle()
    return text(browser)


def test_the_chain_of_a_wait_click_by_click(opened, report):
    """From job 4 to the job that held its processor, to the one before it, and back."""
    browser = opened(report)
    shown = choose(browser, 4)
    assert "Just before it started job 2 held 4 processors until day 0, 00:02:10, which" in shown
    assert browser.run("return document.querySelector('.trail')") is None
    shown = click(browser, 2)
    assert "job 1 held 3 processors until day 0, 00:01:40, which made room" in shown
    assert shown.startswith("job 4 → job 2")
    shown = click(browser, 1)
    assert shown.startswith("job 4 → job 2 → job 1") and "Just before" not in shown
    assert click(browser, 4).startswith("Job 4") and "→" not in text(browser)
    assert choose(browser, 3).startswith("Job 3")


def test_it_names_the_jobs_that_explain_names(opened, report):
    browser = opened(report)
    schedule = report.runs[0].schedule
    for job in (2, 4):
        choose(browser, job)
        ended = explain(JOBS, schedule, job).ended_at_start
        named = browser.run(
            "return [...document.querySelectorAll('.chain li')].filter(li =>"
            " li.textContent.includes('made room')).map(li => li.firstChild.textContent)"
        )
        assert named == [f"job {one}" for one in ended]


def test_without_this_job(opened, report):
    """Where the engine was asked, its answer; elsewhere how to ask."""
    browser = opened(report)
    shown = choose(browser, 2)
    assert "Without this job: 1 other job would start earlier, by 1 min in total." in shown
    assert "job 4 1 min earlier" in shown and "--without" not in shown
    assert "shadowtime report DIR --without 3" in choose(browser, 3)


def test_a_promise_in_its_way(opened, report):
    """Job 3, started later by hand: job 2 waits then with its promise."""
    late = report.runs[0].schedule
    assert late.promised is not None
    moved = late.replace(
        start=late.start + (JOBS.job_id == 3) * 30, end=late.end + (JOBS.job_id == 3) * 30
    )
    run = policy_run("easy", JOBS, 4)
    changed = report.replace(runs=(type(run)(name="easy", schedule=moved, metrics=run.metrics),))
    browser = opened(changed.replace(absences={}))
    assert "job 2 had been promised day 0, 00:01:40" in choose(browser, 3)
