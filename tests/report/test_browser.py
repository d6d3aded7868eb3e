"""The page in a real browser."""

from __future__ import annotations

import base64
import json

import numpy as np
import pytest

from report.browser import colours
from report.test_page import PLANT
from report.worlds import easy, policy_run, report_input, workload
from shadowtime.cluster import Cluster, Host
from shadowtime.metrics import measure
from shadowtime.report import Claim, PaperTable, PaperValue, PolicyRun, ReportInput
from shadowtime.report.levels import busy, queue
from shadowtime.report.numbers import amount
from shadowtime.report.rows import lay_out
from shadowtime.schedule import Attempts, Schedule


def mouse(*steps):
    return {
        "type": "pointer",
        "id": "mouse",
        "parameters": {"pointerType": "mouse"},
        "actions": list(steps),
    }


def at(x, y):
    return {"type": "pointerMove", "x": int(x), "y": int(y)}


PRESS = ({"type": "pointerDown", "button": 0}, {"type": "pointerUp", "button": 0})


def canvas(browser, panel=0):
    """Left, top, width and height of a panel in the window."""
    browser.run("document.getElementById('figure').scrollIntoView({block: 'center'})")
    return browser.run(
        f"const c = document.querySelectorAll('canvas.rows')[{panel}];"
        "const b = c.getBoundingClientRect(); return [b.left, b.top, b.width, b.height]"
    )


def test_numbers_in_the_tables_equal_the_json(opened):
    """Value by value, as a number and as text."""
    browser = opened(report_input(300))
    rows = browser.run(
        "return [...document.querySelectorAll('td[data-metric]')].map(td => "
        "[td.dataset.policy, td.dataset.metric, td.dataset.value,"
        " td.querySelector('b').textContent])"
    )
    summary = json.loads(browser.run("return document.getElementById('summary').textContent"))
    metrics = {p["name"]: p["metrics"] for p in summary["policies"]}
    shares = (
        "goodput",
        "utilisation",
        "loss_of_capacity",
        "wasted_load",
        "total_load",
        "offered_load",
    )
    assert len(rows) > 30
    for policy, metric, value, text in rows:
        assert float(value) == metrics[policy][metric]
        if metric.startswith(("wait", "bsld")):
            assert text == amount(float(value), "s" if metric.endswith("_s") else "")
        elif metric in shares:
            assert text == amount(float(value), "share")


def test_the_page_reads_the_schedule_exactly(opened):
    """Starts, ends, rows and reasons in the browser are those of the schedule."""
    report = report_input(300)
    browser = opened(report)
    for i, run in enumerate(report.runs):
        seen = browser.run(
            f"const m = shadowtime.world.models[{i}]; const o = shadowtime.world.figure.origin;"
            "return {start: Array.from(m.runs.start, t => t + o),"
            " end: Array.from(m.runs.end, t => t + o), count: m.boxes.count,"
            " rows: Array.from(m.boxes.rows).reduce((a, b) => a + b, 0),"
            " reason: Array.from(m.columns.reason)}"
        )
        rows = lay_out(run.schedule, report.cluster)
        assert seen["start"] == run.schedule.start.tolist()
        assert seen["end"] == run.schedule.end.tolist()
        assert seen["reason"] == run.schedule.reason.tolist()
        assert (seen["count"], seen["rows"]) == (len(rows.row), int(rows.width.sum()))


def test_lines_over_time_are_the_means_of_the_schedule(opened):
    report = report_input(300)
    browser = opened(report)
    browser.run("document.getElementById('strips').scrollIntoView()")
    browser.settle()
    seen = browser.run(
        "const w = shadowtime.world;"
        "return {from: w.view.from, to: w.view.to, origin: w.figure.origin,"
        " lines: w.strips.slice(0, 2).map(s => s.lines.map(l => Array.from(l)))}"
    )
    count = len(seen["lines"][0][0])
    edges = seen["origin"] + np.linspace(seen["from"], seen["to"], count + 1)
    for i, run in enumerate(report.runs):
        waiting, used = queue(run.schedule).means(edges), busy(run.schedule).means(edges)
        assert seen["lines"][0][i] == pytest.approx(waiting.tolist(), abs=1e-6)
        assert seen["lines"][1][i] == pytest.approx((100 * used / 64).tolist(), abs=1e-6)


def test_a_job_is_found_by_its_id(opened):
    report = report_input(300)
    browser = opened(report)
    row = int(np.argmax(report.runs[0].schedule.wait))
    job = int(report.workload.job_id[row])
    browser.type("#job", str(job))
    browser.click("#search button")
    browser.settle()
    assert f"Job {job} " in browser.run("return document.getElementById('found').textContent")
    card = browser.run("return document.getElementById('card').innerText")
    assert all(run.name in card for run in report.runs)
    view, submit, end = browser.run(
        "const w = shadowtime.world, j = w.chosen, m = w.models[0];"
        "return [[w.view.from, w.view.to], w.jobs.submit[j], m.runs.end[m.runs.last[j]]]"
    )
    assert view[0] < submit < end < view[1]
    assert view[1] - view[0] < 4 * (end - submit) + 600


def test_a_job_that_is_not_there_is_reported(opened):
    browser = opened(report_input(30))
    browser.type("#job", "999999")
    browser.click("#search button")
    assert browser.run("return document.getElementById('found').textContent") == "no job 999999"


def test_hovering_shows_the_job_and_why_it_started(opened):
    report = report_input(40, policies=("easy",))
    browser = opened(report)
    left, top, width, height = canvas(browser)
    x, y, job = browser.run(
        "const w = shadowtime.world, m = w.models[0], b = m.boxes; let k = 0;"
        "const area = i => (b.end[i] - b.start[i]) * b.rows[i];"
        "for (let i = 0; i < b.count; i += 1) if (area(i) > area(k)) k = i;"
        "const t = (b.start[k] + b.end[k]) / 2, r = b.row[k] + b.rows[k] / 2;"
        "return [(t - w.view.from) / (w.view.to - w.view.from), 1 - r / m.layout.rows,"
        " w.jobs.id[m.runs.job[b.run[k]]]]"
    )
    browser.act(mouse(at(left + x * width, top + y * height)))
    tip = browser.run("const t = document.getElementById('tip'); return [t.hidden, t.innerText]")
    assert tip[0] is False
    assert f"Job {job} " in tip[1] and "waited" in tip[1]
    assert "tarted" in tip[1] or "ackfilled" in tip[1]
    browser.act(mouse(at(left + x * width, top + y * height), *PRESS))
    assert f"Job {job} " in browser.run("return document.getElementById('card').innerText")


def size_of_view(browser) -> float:
    return browser.run("const v = shadowtime.world.view; return v.to - v.from")


def test_wheel_keys_and_buttons_zoom_and_move(opened):
    browser = opened(report_input(300))
    left, top, width, height = canvas(browser)
    centre = at(left + width / 2, top + height - 3)
    full = size_of_view(browser)
    browser.act(mouse(centre, *PRESS))
    wheel = {"type": "scroll", "x": int(left + width / 2), "y": int(top + height / 2), "deltaX": 0}
    browser.act({"type": "wheel", "id": "wheel", "actions": [{**wheel, "deltaY": -240}]})
    browser.settle()
    zoomed = size_of_view(browser)
    assert zoomed < full
    keys = [{"type": kind, "value": key} for key in "++" for kind in ("keyDown", "keyUp")]
    browser.act({"type": "key", "id": "keys", "actions": keys})
    browser.settle()
    assert size_of_view(browser) < zoomed
    before = browser.run("return shadowtime.world.view.from")
    browser.act(
        mouse(
            at(left + 300, top + 90),
            PRESS[0],
            at(left + 180, top + 90),
            at(left + 160, top + 90),
            PRESS[1],
        )
    )
    browser.settle()
    assert browser.run("return shadowtime.world.view.from") > before
    browser.click("[data-zoom=all]")
    browser.settle()
    assert size_of_view(browser) == pytest.approx(full)


@pytest.mark.parametrize("mode", ["reason", "size", "user", "slowdown"])
def test_every_colour_has_a_legend(opened, mode):
    browser = opened(report_input(120))
    choose(browser, "colour", mode)
    legend = browser.run(
        "return [...document.querySelectorAll('#legend li')].map(e => e.innerText)"
    )
    assert 1 < len(legend) < 10
    assert colours(browser.thumbnail()) > 20


def choose(browser, name, value):
    browser.run(
        f"const e = document.getElementById('{name}'); e.value = '{value}';"
        "e.dispatchEvent(new Event('change'))"
    )
    browser.settle()


def test_two_policies_share_one_time_axis_or_one_stands_alone(opened):
    browser = opened(report_input(60))
    shown = "return [...document.querySelectorAll('[data-panel]')].map(e => !e.hidden)"
    assert browser.run(shown) == [True, True]
    choose(browser, "policy-b", "-1")
    assert browser.run(shown) == [True, False]


def test_pictures_are_not_blank_in_light_dark_narrow_and_print(opened, browser):
    opened(report_input(300))
    for options in (
        {"width": 1280, "height": 900},
        {"width": 1280, "height": 900, "dark": True},
        {"width": 400, "height": 900},
        {"width": 1280, "height": 900, "media": "print"},
    ):
        browser.emulate(**options)
        for part in ("result", "schedule", "distributions", "inputs"):
            browser.run(f"document.getElementById('{part}').scrollIntoView()")
            browser.settle()
            assert colours(browser.thumbnail()) > 20, (options, part)
        if options["width"] == 400:
            assert browser.run("return document.documentElement.scrollWidth") <= 400
    browser.emulate(width=1280, height=900, media="")
    pdf = base64.b64decode(browser.command("Page.printToPDF", printBackground=True)["data"])
    assert pdf.startswith(b"%PDF") and len(pdf) > 20_000


def test_the_switch_turns_the_page_dark_and_back(opened):
    browser = opened(report_input(20))
    background = "return getComputedStyle(document.body).backgroundColor"
    light = browser.run(background)
    browser.click("#theme")
    assert browser.run(background) != light
    browser.click("#theme")
    assert browser.run(background) == light


def test_nothing_is_fetched(opened):
    browser = opened(report_input(20))
    assert browser.run("return performance.getEntriesByType('resource').length") == 0


def nothing_finished() -> ReportInput:
    report = report_input(12, policies=("easy",))
    none = np.full(12, -1)
    waiting = report.runs[0].schedule.replace(start=none, end=none)
    runs = tuple(
        PolicyRun(
            name=name, schedule=waiting, metrics=measure(waiting, report.workload, report.cluster)
        )
        for name in ("a", "b")
    )
    return report.replace(runs=runs)


def long_names() -> ReportInput:
    report = report_input(30, policies=("easy", "fcfs"), title="A title " * 60)
    runs = tuple(
        PolicyRun(**{**vars(run), "name": f"{run.name}-" + "very-long-name" * 30})
        for run in report.runs
    )
    return report.replace(runs=runs, command="shadowtime " + "x" * 900)


def no_jobs() -> ReportInput:
    return report_input(0, policies=("easy", "fcfs"))


@pytest.mark.parametrize(
    "made",
    [
        lambda: report_input(10),
        lambda: report_input(1, policies=("easy",)),
        lambda: report_input(50, policies=("easy",)),
        nothing_finished,
        no_jobs,
        long_names,
    ],
    ids=["ten jobs", "one job", "one policy", "nothing finished", "no jobs", "long names"],
)
def test_odd_reports_open_and_fit_the_window(opened, made):
    browser = opened(made())
    assert colours(browser.thumbnail()) > 8
    assert browser.run("return document.documentElement.scrollWidth") <= 1280
    assert browser.run("return document.querySelector('.verdict').innerText.length") > 5


def test_a_planted_script_is_only_text(opened):
    work = workload(40, name=PLANT, header=(f"; {PLANT}",), cleaning={PLANT: 3})
    hosts = Cluster(shape="hosts", hosts=(Host(PLANT.replace(" ", ""), (64,)),))
    run = policy_run("easy", work, 64)
    placed = run.schedule.replace(place=(hosts.hosts[0].name,) * len(work))
    runs = (
        PolicyRun(**{**vars(run), "name": PLANT, "schedule": placed, "parameters": {PLANT: PLANT}}),
    )
    browser = opened(report_input(workload=work, title=PLANT, cluster=hosts, runs=runs))
    browser.type("#job", "1")
    browser.click("#search button")
    browser.settle()
    assert browser.run("return typeof window.planted") == "undefined"
    assert PLANT in browser.run("return document.querySelector('h1').textContent")
    assert PLANT in browser.run("return document.getElementById('card').textContent")


def preempting() -> ReportInput:
    report = report_input(30, policies=("easy",))
    schedule = report.runs[0].schedule
    waited = np.flatnonzero(schedule.wait > 60)[:3]
    ids = schedule.job_id[waited]
    attempts = Attempts(
        job_id=np.concatenate([ids, ids]),
        start=np.concatenate([schedule.submit[waited], schedule.start[waited]]),
        end=np.concatenate([schedule.submit[waited] + 30, schedule.end[waited]]),
        killed=np.repeat([1, 0], len(ids)).astype(np.int8),
    )
    kills = np.zeros(30, np.int64)
    kills[waited] = 1
    changed = schedule.replace(attempts=attempts, kills=kills)
    return report.replace(runs=(PolicyRun(name="pv", schedule=changed),))


def test_lost_work_is_drawn_and_counted(opened):
    browser = opened(preempting())
    assert "lost work" in browser.run("return document.getElementById('legend').innerText")
    assert "Lost processor-hours" in browser.run(
        "return document.getElementById('preemption').innerText"
    )


def on_nodes() -> ReportInput:
    """Two nodes, bandwidth and penalties: what the contention papers need."""
    jobs = workload(40, procs=4, extra={"bandwidth": np.linspace(50, 900, 40)})
    schedule = easy(jobs, 4)
    cluster = Cluster(shape="nodes", hosts=(Host("n1", (4,)), Host("n2", (4,))))
    place = tuple("n1" if i % 2 else "n2" for i in range(40))
    alternating = Schedule(**{**vars(schedule), "place": place, "penalised": np.arange(40) * 10})
    runs = (PolicyRun(name="first-fit", schedule=alternating),)
    return ReportInput(title="Nodes", workload=jobs, cluster=cluster, runs=runs)


def test_hosts_bandwidth_and_penalty_have_their_pictures(opened):
    browser = opened(on_nodes())
    bands = browser.run("return shadowtime.world.models[0].layout.bands.map(b => b[0])")
    assert bands == ["n1", "n2"]
    choose(browser, "colour", "penalty")
    assert "none" in browser.run("return document.getElementById('legend').innerText")
    browser.run("document.getElementById('bandwidth').scrollIntoView()")
    browser.settle()
    top = browser.run(
        "const s = shadowtime.world.strips.find(s => s.canvas.dataset.series === 'bandwidth');"
        "return Math.max(...s.lines[0])"
    )
    assert top > 0


def test_paper_mode(opened):
    values = (PaperValue(label="blocked", ours=6423.0, paper=6403.0, unit="jobs"),)
    paper = (
        PaperTable(title="Table 4", values=values, where="section 5"),
        Claim(text="PV-EASY wins", holds=True, paper="10 %", ours="12 %"),
        Claim(text="nobody loses", holds=False),
        Claim(text="not looked at", holds=None),
    )
    browser = opened(report_input(30, paper=paper))
    section = browser.run("return document.getElementById('paper').innerText")
    for words in ("1 of 2 judged claims hold", "does not hold", "not judged", "6,423", "6,403"):
        assert words in section
