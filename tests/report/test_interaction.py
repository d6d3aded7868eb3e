"""What a reader does with the page: zoom, filter, share, download, by mouse and by keyboard."""

from __future__ import annotations

import base64
import csv
import io

import numpy as np
import pytest

from report.test_browser import at, canvas, mouse, size_of_view
from report.worlds import POLICIES, policy_run, report_input, workload
from shadowtime.metrics import measure
from shadowtime.report import PolicyRun
from shadowtime.report.inputs import ReportInput

NAMES = {
    "user": ("", "eva", "tom", "lin", "<max>"),
    "group": ("", "physics", "climate"),
    "partition": ("", "batch", "gpu"),
}
LONG = "conservative-with-a-long-name(reserve=4)"


def site(jobs: int = 200) -> ReportInput:
    """Jobs with users, accounts, partitions, memory and a calendar."""
    rng = np.random.default_rng(5)
    plain = workload(jobs)
    memory = plain.procs * 3 * 1024 * 1024
    named = plain.replace(
        user=rng.integers(1, 5, jobs),
        group=rng.integers(1, 3, jobs),
        partition=rng.integers(1, 3, jobs),
        names=NAMES,
        epoch=1_780_000_000,
        demand=np.stack([plain.procs, memory], axis=1),
        resources=("procs", "memory"),
    )
    return report_input(workload=named)


def six() -> ReportInput:
    """Six policies, one of them with a long name; the last one wins."""
    work = workload(120)
    names = ("fcfs", "easy", "easy-sjbf", "easy++(predictor=mean2)", LONG, "lxfw")
    kinds = (*POLICIES.values(), {}, {}, {"shortest_first": True})
    runs = tuple(
        policy_run(name, work, 64, **options) for name, options in zip(names, kinds, strict=True)
    )
    return report_input(workload=work, runs=runs)


def key(*pressed: str) -> dict:
    strokes = [{"type": kind, "value": k} for k in pressed for kind in ("keyDown", "keyUp")]
    return {"type": "key", "id": "keys", "actions": strokes}


def pick(browser, column: str, value: object) -> None:
    browser.run(
        f"const e = document.getElementById('filter-{column}'); e.value = '{value}';"
        "e.dispatchEvent(new Event('change'))"
    )
    browser.settle()


def in_view(browser) -> list[dict]:
    browser.settle()
    return browser.run("return shadowtime.world.scores")


def test_metrics_in_view_are_those_of_measure(opened):
    """The zoom range and the filters score the same jobs as the metrics' own functions."""
    report = site()
    browser = opened(report)
    work = report.workload
    submit = work.submit - work.submit[0]
    for low, high, user in ((0, int(submit[-1]), None), (2000, 9000, None), (2000, 9000, 2)):
        if user is not None:
            pick(browser, "user", user)
        browser.run(f"shadowtime.world.view.set({low}, {high})")
        found = in_view(browser)
        first, last = browser.run("const v = shadowtime.world.view; return [v.from, v.to]")
        mask = (submit >= first) & (submit <= last)
        if user is not None:
            mask &= work.user == user
        assert mask.any()
        for run, scores in zip(report.runs, found, strict=True):
            wanted = measure(run.schedule, work, report.cluster, only=mask)
            assert scores["jobs"] == int(mask.sum())
            for name, value in scores.items():
                assert value == pytest.approx(wanted[name], rel=1e-9), (name, low, high, user)
    scope = browser.run("return document.getElementById('scope').textContent")
    assert "user tom" in scope and "2026" in scope


CHARTS = (
    "return [...document.querySelectorAll('figure.map td')].map(td => td.className + td.textContent"
    " + td.title).concat([...document.querySelectorAll('.waits .value, .gaps .value')]"
    ".map(t => t.textContent))"
)
LINES = (
    "return [...document.querySelectorAll('.waits .line, .gaps .line, .cdf .line')]"
    ".map(l => l.getAttribute('points').split(/[ ,]/).map(Number))"
)


def test_charts_are_drawn_again_for_the_chosen_jobs(opened):
    """Drawn again for all jobs they do not change; for some jobs they count only those."""
    report = site()
    browser = opened(report)
    before, lines = browser.run(CHARTS), browser.run(LINES)
    browser.run("shadowtime.redrawCharts(shadowtime.world)")
    assert browser.run(CHARTS) == before
    for now, line in zip(browser.run(LINES), lines, strict=True):
        assert now == pytest.approx(line, abs=0.11)  # a tenth of a pixel, rounded either way
    pick(browser, "partition", 2)
    assert browser.run(CHARTS) != before and browser.run(LINES) != lines
    titles = browser.run(
        "return [...document.querySelectorAll('#heat figure[data-run=\"0\"] td[title]')]"
        ".map(td => td.title)"
    )
    counted = sum(int(title.split(" ")[0].replace(",", "")) for title in titles)
    assert counted == int((report.workload.partition == 2).sum())
    assert "partition gpu" in browser.run("return document.querySelector('#heat').innerText")
    browser.click("#clear")
    browser.settle()
    assert browser.run(CHARTS) == before


def test_a_link_restores_the_view(opened, tmp_path):
    """Policies, colours, zoom, filter and job come back from the address alone."""
    browser = opened(site())
    browser.run(
        "const e = document.getElementById('policy-b'); e.value = '1';"
        "e.dispatchEvent(new Event('change'))"
    )
    pick(browser, "user", 4)
    browser.run("shadowtime.world.view.set(1000, 5000)")
    browser.run("shadowtime.find(shadowtime.world, '17')")
    browser.settle()
    browser.click("#share")
    state = (
        "const w = shadowtime.world; return [document.getElementById('policy-b').value,"
        " [...w.scope.chosen], w.jobs.id[w.chosen], Math.round(w.view.from),"
        " Math.round(w.view.to), document.getElementById('card').hidden]"
    )
    wanted = browser.run(state)
    found = browser.run("return location.hash.slice(1)")
    assert "user=%3Cmax%3E" in found and "job=17" in found and "from=" in found
    browser.open(tmp_path / "report.html", fragment=found)
    browser.settle()
    assert browser.run(state) == wanted
    browser.open(tmp_path / "report.html", fragment="policy-a=nobody&user=ann&job=9999")
    assert "nobody, user ann, job 9999" in browser.run(
        "return document.getElementById('found').textContent"
    )


def test_a_zoomed_axis_has_a_date(opened):
    browser = opened(site())
    browser.run("shadowtime.world.view.set(3600, 7200)")
    browser.settle()
    assert "May 2026" in browser.run("return shadowtime.world.days[0].label")
    clock = browser.run("return shadowtime.world.ticks.map(t => t.label)")
    assert all(len(label) in (5, 8) and ":" in label for label in clock)


def test_find_takes_the_old_tip_away(opened):
    browser = opened(report_input(40, policies=("easy",)))
    browser.run("document.getElementById('strips').scrollIntoView({block: 'center'})")
    left, top = browser.run(
        "const b = document.querySelector('canvas.strip').getBoundingClientRect();"
        "return [b.left + 200, b.top + 20]"
    )
    browser.act(mouse(at(left, top)))
    hidden = "return document.getElementById('tip').hidden"
    assert browser.run(hidden) is False
    browser.run("shadowtime.find(shadowtime.world, '7')")
    assert browser.run(hidden) is True


def test_letters_zoom_and_move_and_brackets_walk_through_the_jobs(opened):
    browser = opened(site(60))
    canvas(browser)
    browser.run("document.querySelector('canvas.rows').focus()")
    full = size_of_view(browser)
    browser.act(key("w", "W"))
    browser.settle()
    near = size_of_view(browser)
    assert near < full
    begin = browser.run("return shadowtime.world.view.from")
    browser.act(key("d"))
    browser.settle()
    assert browser.run("return shadowtime.world.view.from") > begin
    browser.act(key("a"))
    browser.settle()
    assert browser.run("return shadowtime.world.view.from") == pytest.approx(begin)
    browser.act(key("s"))
    browser.settle()
    assert size_of_view(browser) > near
    browser.act(key("]"))
    one = browser.run("return shadowtime.world.chosen")
    browser.act(key("]"))
    assert browser.run("return shadowtime.world.chosen") != one
    browser.act(key("["))
    assert browser.run("return shadowtime.world.chosen") == one
    card = browser.run("return document.getElementById('card').innerText")
    assert "GB memory" in card and "account" in card and "partition" in card


def test_every_chart_gives_its_numbers_and_its_picture(opened):
    """CSV of a table, of lines, of a strip and of the jobs; a PNG of each kind."""
    report = site(80)
    browser = opened(report)
    buttons = browser.run(
        "return [...document.querySelectorAll('figure')].map(f =>"
        " f.querySelectorAll('[data-export]').length)"
    )
    assert buttons and set(buttons) == {2}
    browser.run("document.getElementById('strips').scrollIntoView()")
    browser.settle()
    texts = browser.run(
        "const w = shadowtime.world, one = q => document.querySelector(q);"
        "return {jobs: shadowtime.panelCsv(w, w.panels[0]), strip: shadowtime.stripCsv(w,"
        " w.strips[0]), cdf: shadowtime.linesCsv(w, one('figure.cdf')), waits:"
        " shadowtime.linesCsv(w, one('figure.waits')), map: shadowtime.tableCsv(one('.map table'))}"
    )
    found = {name: list(csv.reader(io.StringIO(text))) for name, text in texts.items()}
    assert all(len({len(row) for row in rows}) == 1 for rows in found.values())
    jobs = {int(row[0]): row for row in found["jobs"][1:]}
    schedule = report.runs[0].schedule
    assert [int(jobs[j][2]) for j in schedule.job_id.tolist()] == schedule.start.tolist()
    assert {row[5] for row in found["jobs"][1:]} == set(NAMES["user"][1:])
    assert found["strip"][0] == ["second", "time", *(run.name for run in report.runs)]
    assert found["waits"][0][2:] == [run.name for run in report.runs]
    sizes = browser.wait(
        "Promise.all([shadowtime.drawingPicture(document.querySelector('figure.cdf svg')),"
        " shadowtime.tablePicture(document.querySelector('.map table'))])"
        ".then(all => all.map(c => [c.width, c.toDataURL().length]))"
    )
    assert sizes[0][0] == 1120 and all(size > 3000 for _, size in sizes)


def test_a_click_saves_a_file(opened, tmp_path):
    browser = opened(site(40))
    browser.command("Browser.setDownloadBehavior", behavior="allow", downloadPath=str(tmp_path))
    saved = browser.wait(
        "new Promise(done => { const make = URL.createObjectURL; URL.createObjectURL = blob => {"
        " URL.createObjectURL = make; blob.text().then(done); return make(blob); };"
        " document.querySelector('figure.waits [data-export=csv]').click(); })"
    )
    assert saved.startswith("second,time,fcfs,easy,easy-sjbf\n")


@pytest.mark.parametrize("width", [390, 1280, 1400, 1920])
def test_no_column_of_six_policies_is_cut_off(opened, browser, width):
    browser.emulate(width=width, height=900)
    opened(six())
    right, wide = browser.run(
        "return [Math.max(...[...document.querySelectorAll('#result .scores')][0]"
        ".querySelectorAll('td').values().map(td => td.getBoundingClientRect().right)), innerWidth]"
    )
    assert right <= wide == width
    names = browser.run(
        "return [...document.querySelectorAll('#result .name')].filter(e => e.offsetWidth &&"
        " (e.scrollWidth > e.clientWidth + 1 || e.scrollHeight > e.clientHeight + 1))"
        ".map(e => e.textContent)"
    )
    assert names == []
    assert browser.run("return document.documentElement.scrollWidth") <= width


def test_thirteen_policies_have_thirteen_marks(opened):
    work = workload(30)
    one = policy_run("easy", work, 64)
    runs = tuple(PolicyRun(**{**vars(one), "name": f"policy-{i}"}) for i in range(13))
    browser = opened(report_input(workload=work, runs=runs))
    marks = browser.run(
        "return [...document.querySelectorAll('#policies .swatch')].map(e => {"
        " const s = getComputedStyle(e); return s.backgroundColor + s.borderTopWidth +"
        " s.borderTopColor; })"
    )
    assert len(set(marks)) == 13


def test_print_fills_its_pages(opened):
    """Without buttons and filters, and without a page for every few lines."""
    browser = opened(six())
    browser.emulate(width=1280, height=900, media="")
    pdf = base64.b64decode(browser.command("Page.printToPDF", printBackground=True)["data"])
    assert 4 <= pdf.count(b"/Type /Page\n") <= 9
    browser.emulate(width=700, height=900, media="print")
    shown = browser.run(
        "return ['.top', '.toolbar', '.exports', '#selection'].map(q =>"
        " document.querySelector(q).getClientRects().length)"
    )
    assert shown == [0, 0, 0, 0]
