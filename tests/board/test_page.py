"""The board in a browser: it follows events, searches, keeps its state in the address, is safe."""

from __future__ import annotations

import time
from dataclasses import replace
from importlib.resources import files

import pytest

from board.worlds import estimates, nodes, running, served, view, waiting
from report.test_axe import RULES
from shadowtime.board.keeper import Keeper
from shadowtime.board.page import snapshot

HOSTILE = (
    "<script>window.bad=1</script>", "</script><script>window.bad=1</script>",
    "<img src=x onerror=window.bad=1>", "\"onmouseover=\"window.bad=1", "javascript:window.bad=1",
    "<!--", "]]>", "{{7*7}}", "${window.bad=1}", "\u202egnp.exe", "a\x00b", "'; window.bad=1; '",
    "<svg/onload=window.bad=1>", "\\u003cscript\\u003ewindow.bad=1", "__proto__", "constructor",
    "</style><script>window.bad=1</script>", "\n\r\t", "&lt;b&gt;", "%3Cscript%3E",
)  # fmt: skip
"""Names that users might choose."""


def now() -> int:
    return int(time.time())


def jobs(count: int = 12):
    at = now()
    made = [running(k, f"n{k}", start=at - 300, submit=at - 900, cpus=2) for k in (1, 2, 3)]
    return [*made, *(waiting(k, submit=at - 600, cpus=2) for k in range(4, count + 1))]


def go(browser, url: str) -> None:
    """Open a page of a server, and wait until it is drawn."""
    browser.errors()
    browser._call("POST", f"{browser.session}/url", {"url": "about:blank"})
    browser._call("POST", f"{browser.session}/url", {"url": url})
    assert browser.wait("window.shadowtime && window.shadowtime.ready") is True


def until(browser, condition: str, seconds: float = 20.0):
    """Wait until an expression in the page is true; it is looked at in every frame."""
    return browser.wait(
        f"new Promise((done, fail) => {{ const end = performance.now() + {1000 * seconds};"
        f" const look = () => {{ const found = {condition}; if (found) done(found);"
        " else if (performance.now() > end) done(null); else requestAnimationFrame(look); };"
        " look(); })"
    )


def rows(browser) -> list[str]:
    return browser.run("return [...document.querySelectorAll('[data-row]')].map(r=>r.dataset.row)")


def test_the_page_changes_when_the_cluster_does(browser) -> None:
    with served(view(*jobs(), now=now())) as board:
        go(browser, board.url)
        assert until(browser, "document.querySelectorAll('[data-row]').length === 9")
        assert "not estimated yet" in browser.run(
            "return document.querySelector('#jobs').innerText"
        )
        board.collector.learn(estimates(*jobs(), at=now()))
        assert until(browser, "document.querySelector('#jobs').innerText.includes('in 30 min')")
        assert until(browser, "document.querySelector('#age').innerText.includes('Estimates of')")
        later = [replace(jobs()[0], state="ended", end=now()), *jobs()[1:], waiting(99)]
        board.poll(*later, now=now())
        assert until(browser, "document.querySelectorAll('[data-row]').length === 10")
        browser.click("[data-state='ended']")
        assert rows(browser) == ["1"]
        assert until(browser, "shadowtime.world.drawn.some((job) => job.state === 'ended')")


def test_a_search_and_a_job_are_in_the_address(browser) -> None:
    with served(view(*jobs(), waiting(50, user="zoe", name="needle"), now=now())) as board:
        board.collector.learn(estimates(*jobs(), waiting(50), at=now()))
        go(browser, board.url)
        browser.type("#job", "zoe")
        assert until(browser, "document.querySelectorAll('[data-row]').length === 1")
        browser.click("[data-row='50'] button")
        assert until(
            browser, "document.querySelector('#card').innerText.includes('hold everything')"
        )
        assert until(browser, "location.hash.includes('q=zoe') && location.hash.includes('job=50')")
        link = browser.run("return location.href")
        go(browser, link)
        assert rows(browser) == ["50"]
        assert "needle" in browser.run("return document.querySelector('#card').innerText")
        for word, found in (("needl", ["50"]), ("n2", ["2"]), ("physics 50", ["50"]), ("4", ["4"])):
            state = "running" if word == "n2" else "waiting"
            go(browser, f"{board.url}#q={word.replace(' ', '+')}&show={state}")
            assert rows(browser) == found


def test_a_view_is_shared(browser) -> None:
    with served(view(*jobs(), now=now())) as board:
        at = now()
        go(browser, f"{board.url}#from={at - 500}&to={at + 700}&colour=user&theme=dark")
        seen = browser.run(
            "const {view, origin} = shadowtime.world; return [view.from + origin, view.to + origin]"
        )
        assert seen == pytest.approx([at - 500, at + 700], abs=2)
        assert browser.run("return document.querySelector('#colour').value") == "user"
        assert (
            browser.run("return getComputedStyle(document.body).backgroundColor")
            == "rgb(18, 22, 27)"
        )
        board.poll(*jobs(20), now=now())
        assert until(browser, "document.querySelectorAll('[data-row]').length === 17")
        again = browser.run(
            "const {view, origin} = shadowtime.world; return [view.from + origin, view.to + origin]"
        )
        assert again == pytest.approx([at - 500, at + 700], abs=2), "an update moves no chosen view"


def test_the_scheduler_away_is_said_and_the_page_goes_on(browser) -> None:
    with served(view(*jobs(), now=now() - 100)) as board:
        go(browser, board.url)
        board.source.problem = "slurmctld does not answer"
        board.poll()
        words = "document.querySelector('#problem').innerText"
        assert until(browser, f"{words}.includes('slurmctld does not answer')")
        assert "1 min 4" in browser.run(f"return {words}"), "the age of the data is there"
        assert len(rows(browser)) == 9
        board.source.problem = ""
        board.poll(*jobs(), now=now())
        assert until(browser, "document.querySelector('#problem').hidden")


def test_old_data_are_not_counted_on(browser) -> None:
    """Where nobody looks at the scheduler no job is late, and no start comes nearer."""
    since = now() - 600
    with served(view(*jobs(), now=since)) as board:
        board.collector.learn(estimates(*jobs(), at=since, wait=60))
        board.source.problem = "slurmctld does not answer"
        board.poll()
        go(browser, board.url)
        table = "document.querySelector('[data-row=\"4\"]').innerText"
        words = browser.run(f"return {table}")
        assert "as known at" in words
        assert "later than" not in words and "any moment" not in words and " in " not in words
        shown = browser.run("const {view, origin} = shadowtime.world; return view.from + origin")
        assert shown < since, "the figure stands at what was known"
        board.source.problem = ""
        board.poll(*jobs(), now=now())
        assert until(browser, f"{table}.includes('later than expected')")


def test_a_snapshot_stays_as_of_its_time(browser, tmp_path) -> None:
    keeper = Keeper()
    keeper.poll(view(*jobs(), now=now() - 7200))
    keeper.learn(estimates(*jobs(), at=now() - 7200, wait=60))
    (tmp_path / "s.html").write_text(snapshot(keeper))
    browser.open(tmp_path / "s.html")
    browser.settle()
    words = browser.run("return document.querySelector('[data-row=\"4\"]').innerText")
    assert "as known at" in words and "later than expected" not in words


@pytest.mark.parametrize("path", ["", "embed", "scores", "snapshot"])
def test_hostile_names_run_nothing(browser, tmp_path, path) -> None:
    """100 names, also as users, accounts, reasons and nodes: text, nothing else."""
    made = []
    for k in range(100):
        text = f"{HOSTILE[k % len(HOSTILE)]}{k}"
        made.append(waiting(k + 1, name=text, user=text, account=text, reason=text, partition=text))
    made += [running(200 + k, text, name=text) for k, text in enumerate(HOSTILE)]
    bad = tuple(replace(nodes(1)[0], name=text) for text in HOSTILE)
    first = view(*made, nodes=bad, cluster=HOSTILE[1], system=HOSTILE[2], unknown=(HOSTILE[0],))
    scores = {"scores": [], "problem": HOSTILE[0], "few": 20}
    if path == "snapshot":
        keeper = Keeper()
        keeper.poll(first)
        keeper.learn(estimates(*made, scores=scores))
        (tmp_path / "s.html").write_text(snapshot(keeper))
        browser.open(tmp_path / "s.html")
    else:
        with served(first) as board:
            board.collector.learn(estimates(*made, scores=scores, missing=(HOSTILE[0],)))
            go(browser, board.url + path)
            if path != "scores":
                assert len(rows(browser)) == 50
                browser.click("#more")
                assert len(rows(browser)) == 100
                browser.run(
                    "document.querySelectorAll('[data-row] button').forEach(b => b.click())"
                )
                assert until(browser, "!document.querySelector('#card').hidden")
            for button in ("running", "ended") if path == "" else ():
                browser.click(f"[data-state='{button}']")
    assert browser.run("return window.bad === undefined")
    assert (
        browser.run(
            "return document.querySelectorAll('main script, main img, main svg, iframe').length"
        )
        == 0
    )
    assert browser.run("return document.scripts.length") <= 4


def test_hidden_names_are_not_columns(browser) -> None:
    with served(view(*jobs(), now=now()), hide=frozenset(["names", "users"])) as board:
        go(browser, f"{board.url}#q=eva")
        assert rows(browser) == []
        heads = browser.run("return document.querySelector('#jobs thead').innerText")
        assert "User" not in heads and "Name" not in heads and "Partition" in heads
        assert "Not shown" in browser.run("return document.querySelector('#notes').innerText")


SCORES = {
    "few": 20, "predictions": 90,
    "scores": [
        {"kind": kind, "name": name, "jobs": count, "instants": 4, "few": count < 20,
         "inside": 0.81, "pinball": 9.0,
         "ours": {"count": 30, "bias": -4.0, "median": 22.0, "ninety": 90.0},
         "both": {"count": 20, "bias": -4.0, "median": 21.0, "ninety": 90.0},
         "slurm": {"count": 20, "bias": -200.0, "median": 222.0, "ninety": 900.0}}
        for kind, name, count in (("ahead by", "under 1 min", 12), ("all", "all", 40))
    ],
}  # fmt: skip


def test_scores_are_told_with_their_doubts(browser) -> None:
    with served(view(*jobs(), now=now())) as board:
        board.collector.learn(estimates(*jobs(), at=now(), scores=SCORES))
        go(browser, f"{board.url}scores")
        assert until(
            browser, "document.querySelector('#scores').innerText.includes('only 12 jobs')"
        )
        text = browser.run("return document.querySelector('#scores').innerText")
        assert "81.0" in text and "3 min 42 s" in text and "21 s" in text


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("path", ["", "embed", "scores"])
def test_axe_has_no_complaint(browser, path, width) -> None:
    with served(view(*jobs(), now=now())) as board:
        board.collector.learn(estimates(*jobs(), at=now(), scores=SCORES))
        browser.emulate(width=width, height=800)
        go(browser, f"{board.url}{path}#job=5")
        assert browser.run("return document.documentElement.scrollWidth") <= width
        source = files("axe_core_python").joinpath("axe.min.js").read_text("utf-8")
        browser.run(f"{source}; window.axe = axe;")
        rules = RULES.replace("{ enabled: false }", "{ enabled: true }")
        passed, complaints = browser.wait(f"{rules}.catch((error) => [0, String(error.stack)])")
        assert complaints == [] and passed > 10


def test_the_keyboard_reaches_everything(browser) -> None:
    with served(view(*jobs(), now=now())) as board:
        board.collector.learn(estimates(*jobs(), at=now()))
        go(browser, board.url)
        browser.run("document.querySelector('canvas.rows').focus()")
        press(browser, "]")
        assert until(browser, "!document.querySelector('#card').hidden")
        press(browser, "\ue00c")  # escape
        assert until(browser, "document.querySelector('#card').hidden")
        press(browser, "/")
        assert browser.run("return document.activeElement.id") == "job"


def press(browser, key: str) -> None:
    actions = [{"type": "keyDown", "value": key}, {"type": "keyUp", "value": key}]
    browser.act({"type": "key", "id": "keys", "actions": actions})


def test_thousands_of_nodes_are_drawn_by_level_of_detail(browser) -> None:
    at = now()
    many = [
        running(k, f"n{k % 2000 + 1}", start=at - 60 * (k % 900) - 30, submit=at - 90000, cpus=8)
        for k in range(1, 6001)
    ]
    ended = [replace(job, state="ended", end=at - (k % 900)) for k, job in enumerate(many[3000:])]
    with served(view(*many[:3000], *ended, nodes=nodes(2000, 64), now=at)) as board:
        go(browser, board.url)
        assert until(browser, "shadowtime.world.drawn.length === 6000")
        browser.settle()
        assert browser.run("return shadowtime.world.panels[0].few()") is False, "as tiles"
        assert browser.run("return shadowtime.world.models[0].layout.rows") == 128000
