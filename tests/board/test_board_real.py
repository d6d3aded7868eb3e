"""The board of real Slurms that schedule by themselves, in a real browser."""

from __future__ import annotations

import contextlib
import json
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from board.test_page import HOSTILE, go, rows, until
from conftest import SLURMS, require_slurm
from live.test_slurm_real import lasting_until
from shadowtime.testing.slurm import SlurmCluster, slurm_cluster, wait_for
from shadowtime.testing.slurm_recording import SETTINGS

LONG = 240.0
"""Seconds: estimates are made uncompiled, on a machine that is busy with other tests."""


@pytest.fixture(scope="module", params=SLURMS)
def cluster(request: pytest.FixtureRequest) -> Iterator[SlurmCluster]:
    """16 nodes with their own scheduler, of every version."""
    root = require_slurm(request.param, accounting=False)
    folder = Path(tempfile.mkdtemp(prefix="shadowtime-slurm-"))
    try:
        with slurm_cluster(
            folder, nodes=16, cpus=4, gres=0, settings=SETTINGS, root=root
        ) as cluster:
            yield cluster
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextlib.contextmanager
def board_of(cluster: SlurmCluster, *options: str) -> Iterator[str]:
    """A board as its users start it; its address."""
    command = (sys.executable, "-m", "shadowtime", "board", "slurm", "--port", "0", *options)
    env = {**cluster.env, "STATE_DIRECTORY": str(cluster.folder)}
    with subprocess.Popen(command, env=env, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stderr is not None
            line = process.stderr.readline()
            assert "http://" in line, line
            yield next(word for word in line.split() if word.startswith("http://"))
        finally:
            process.terminate()
            process.communicate(timeout=60)
    assert process.returncode == 0


def document(url: str, name: str) -> dict:
    with urllib.request.urlopen(f"{url}api/v1/{name}", timeout=30) as answer:
        return json.load(answer)


def polled(url: str) -> dict:
    """The state, once there is one."""
    found: list[dict] = []

    def there() -> bool:
        with contextlib.suppress(OSError):
            found.append(document(url, "state"))
        return bool(found) and found[-1]["polled"] > 0

    wait_for(there, "the first poll", 120)
    return found[-1]


def test_the_page_follows_a_real_slurm(cluster: SlurmCluster, browser) -> None:
    """Submitted, estimated, started and ended jobs appear; a restart of slurmctld is survived."""
    cluster.clear()
    go_on = cluster.folder / "go"
    go_on.unlink(missing_ok=True)
    with board_of(cluster, "--every", "1") as url:
        polled(url)
        go(browser, url)
        first = cluster.sbatch(
            "-N", "16", "--exclusive", "-t", "10", "-J", "hold", script=lasting_until(go_on)
        )
        next_one = cluster.sbatch("-N", "2", "-t", "5", "-J", "needle", script="sleep 1")
        held = cluster.sbatch("--hold", "-n", "1", "-J", "held")
        assert until(browser, f"shadowtime.board.jobs.get('{first}')?.state === 'running'", 60)
        assert until(browser, "document.querySelector('#jobs').innerText.includes('needle')", 60)
        box = f"shadowtime.board.jobs.get('{first}').rows"
        assert browser.run(f"return {box}.reduce((sum, [, count]) => sum + count, 0)") == 64
        # an estimate comes by itself, with a range; a held job has a reason instead
        expected = f"shadowtime.board.jobs.get('{next_one}')?.expected"
        assert until(browser, f"{expected} > 0", LONG)
        job = browser.run(f"return shadowtime.board.jobs.get('{next_one}')")
        assert job["earliest"] <= job["expected"] <= job["latest"] and job["rows"]
        assert "held" in browser.run(f"return shadowtime.board.jobs.get('{held}').unknown")
        browser.click(f"[data-row='{next_one}'] button")
        words = "document.querySelector('#card').innerText"
        assert until(browser, f"{words}.includes('It waits because')", 60)
        # slurmctld is away, and comes back
        age = browser.run("return shadowtime.board.head.polled")
        cluster.kill("slurmctld")
        problem = "document.querySelector('#problem')"
        assert until(browser, f"!{problem}.hidden && {problem}.innerText.includes('ago')", 120)
        assert browser.run("return shadowtime.board.head.polled") - age < 120
        assert rows(browser), "what was known stays"
        cluster.start_controller()
        assert until(browser, f"{problem}.hidden", 180)
        # the first one ends, the next one starts by Slurm's own decision
        go_on.touch()
        assert until(browser, f"shadowtime.board.past.get('{first}')?.end > 0", 120)
        waits = f"shadowtime.board.jobs.get('{next_one}')?.state === 'waiting'"
        assert until(browser, f"!({waits})", 120)
        browser.click("[data-state='ended']")
        assert until(browser, "document.querySelector('#jobs').innerText.includes('hold')", 60)
        cluster.run("scancel", held)
        assert until(browser, f"!shadowtime.board.jobs.has('{held}')", 60)
    browser._call("POST", f"{browser.session}/url", {"url": "about:blank"})
    browser.errors()  # of streams that ended with the server


def test_hostile_names_of_real_jobs_run_nothing(cluster: SlurmCluster, browser) -> None:
    cluster.clear()
    names = {}
    for k in range(100):
        text = f"{HOSTILE[k % len(HOSTILE)]}{k}".replace("\x00", "")
        names[cluster.sbatch("--hold", "-n", "1", f"--job-name={text}")] = text
    with board_of(cluster, "--no-estimates") as url:
        state = polled(url)
        seen = {job["id"]: job["name"] for job in state["jobs"]}
        assert seen.keys() == names.keys()
        plain = {job: text for job, text in names.items() if "\n" not in text}
        assert {job: seen[job] for job in plain} == plain
        go(browser, url)
        browser.click("#more")
        assert len(rows(browser)) == 100
        browser.run("document.querySelectorAll('[data-row] button').forEach(b => b.click())")
        assert browser.run("return window.bad === undefined")
        assert browser.run("return document.querySelectorAll('main script, main img').length") == 0
        browser._call("POST", f"{browser.session}/url", {"url": "about:blank"})
    browser.errors()
    cluster.clear()


def test_a_snapshot_and_private_data(cluster: SlurmCluster, browser, tmp_path: Path) -> None:
    """Root may see what PrivateData keeps from others: hidden by default, and it is said."""
    cluster.clear()
    cluster.sbatch("--hold", "-n", "1", "-J", "SECRETNAME")
    conf = cluster.conf.read_text()
    cluster.conf.write_text(f"{conf}\nPrivateData=jobs\n")
    cluster.run("scontrol", "reconfigure")
    try:
        shown = ("scontrol", "show", "config")
        wait_for(lambda: "PrivateData             = jobs" in cluster.run(*shown), "PrivateData")
        for options, there in (((), False), (("--hide", "nothing"), True)):
            path = tmp_path / "board.html"
            command = (sys.executable, "-m", "shadowtime", "board", "slurm", "--no-estimates")
            subprocess.run(
                (*command, *options, "--snapshot", str(path)), env=cluster.env, check=True
            )
            assert ("SECRETNAME" in path.read_text()) is there
            browser.open(path)
            notes = browser.run("return document.querySelector('#notes').innerText")
            assert ("PrivateData keeps jobs private" in notes) is not there
            assert len(rows(browser)) == 1
    finally:
        cluster.conf.write_text(conf)
        cluster.run("scontrol", "reconfigure")
        cluster.clear()


def test_an_ordinary_user_is_enough(cluster: SlurmCluster) -> None:
    """The commands of the board change nothing and need no rights."""
    before = time.time()
    with board_of(cluster, "--no-estimates", "--every", "0.5") as url:
        state = polled(url)
        assert len(state["nodes"]) == 16 and state["polled"] >= int(before)
        assert state["system"].startswith("Slurm ")


@pytest.mark.parametrize("version", SLURMS)
def test_the_past_is_read_from_accounting_and_a_policy_runs_beside(version: str, browser) -> None:
    """A job that slurmctld has forgotten is there; EASY in shadow mode is compared with Slurm."""
    root = require_slurm(version)
    folder = Path(tempfile.mkdtemp(prefix="shadowtime-slurm-"))
    settings = (*SETTINGS, "MinJobAge=2")
    try:
        with slurm_cluster(
            folder, nodes=4, cpus=4, gres=0, settings=settings, root=root, accounting=True
        ) as cluster:
            old = cluster.sbatch("-N", "2", "-t", "5", "-J", "forgotten", script="sleep 1")
            wait_for(lambda: old not in cluster.run("squeue", "-h", "-a", "-t", "all", "-o", "%i"),
                     "the end of the first job")  # fmt: skip
            state = ("-nX", "-j", old, "-o", "State")
            wait_for(lambda: "COMPLETED" in cluster.run("sacct", *state), "its record")
            with board_of(cluster, "--every", "1", "--policy", "easy") as url:
                polled(url)
                go(browser, url)
                assert until(
                    browser, f"shadowtime.board.past.get('{old}')?.name === 'forgotten'", LONG
                )
                assert browser.run(f"return shadowtime.board.past.get('{old}').rows.length") > 0
                # the comparison has begun: it has every job from now on
                end = folder / "end"
                job = cluster.sbatch("-N", "4", "-t", "9", script=lasting_until(end))
                found: list[dict] = []

                def compared() -> bool:
                    found.append(document(url, "scores").get("shadow") or {})
                    return any(one["jobs"] for one in found[-1].get("groups", ()))

                wait_for(compared, f"a comparison of job {job}", LONG)
                assert found[-1]["policy"] == "easy" and "problem" not in found[-1]
                end.touch()
                browser._call("POST", f"{browser.session}/url", {"url": "about:blank"})
            browser.errors()
    finally:
        shutil.rmtree(folder, ignore_errors=True)
