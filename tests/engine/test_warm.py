"""Passes compiled ahead of a run, in separate processes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from shadowtime.cluster import Cluster
from shadowtime.cluster.site import Node, Site
from shadowtime.engine import warm
from shadowtime.policy import catalogue, parse_policy

POOL = Cluster.pool(4)


def test_every_policy_of_the_catalogue_has_a_pass_we_can_compile() -> None:
    """Each pass has an example policy that uses it."""
    for policy in catalogue():
        name = warm.pass_of(policy, POOL)
        assert name in warm.COST and name in warm.EXAMPLE
        assert warm.pass_of(parse_policy(warm.EXAMPLE[name]), POOL) == name


def test_a_site_has_passes_of_its_own() -> None:
    """A policy that is not compiled on sites is not waited for."""
    site = Site(nodes=(Node(name="n", amounts=(4,)),))
    for name in ("site-general", "site-conservative"):
        assert warm.pass_of(parse_policy(warm.EXAMPLE[name]), site) == name
        assert isinstance(warm.is_compiled(name), bool)
    assert warm.pass_of(parse_policy("pv-easy"), site) == ""


def test_an_empty_cache_is_cold_and_a_used_one_is_not(tmp_path: Path) -> None:
    """What cold() reports is what a run compiles: asked of an empty cache, and after a run.

    The run uses the suite's cache, which began empty and holds what such a run compiled.
    """
    code = (
        "from shadowtime.engine import warm\n"
        "from shadowtime.cluster import Cluster\n"
        "from shadowtime.policy import parse_policy\n"
        "easy = [parse_policy('easy'), parse_policy('easy-sjbf')]\n"
        "RUN\n"
        "print(warm.cold(easy, Cluster.pool(4)))\n"
    )
    environment = os.environ | {"SHADOWTIME_PREBUILT": "no"}
    empty = {"SHADOWTIME_CACHE": str(tmp_path)}
    for run, cache, cold in (("", empty, "['easy']"), ("warm.compile_pass('easy')", {}, "[]")):
        done = subprocess.run(
            [sys.executable, "-c", code.replace("RUN", run)],
            capture_output=True,
            text=True,
            env=environment | cache,
        )
        assert done.stdout.strip() == cold, done.stderr


def test_missing_passes_are_shared_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """One process each, the longest first, and each is reported as it is done."""
    begun: list[str] = []
    finished: list[str] = []
    announced: list[str] = []

    def quick(name: str) -> subprocess.Popen[bytes]:
        begun.append(name)
        return subprocess.Popen([sys.executable, "-c", "pass"])

    monkeypatch.setattr(warm, "_compile_elsewhere", quick)
    monkeypatch.setattr(warm, "cold", lambda policies, cluster: ["general", "conservative", "easy"])
    found = warm.warm([], POOL, cores=1, announce=announced.extend, finished=finished.append)
    assert found == begun == finished == announced == ["general", "conservative", "easy"]


def test_nothing_is_started_for_a_single_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is compiled where it is needed: a process would not be quicker."""
    monkeypatch.setattr(warm, "cold", lambda policies, cluster: ["easy"])
    monkeypatch.setattr(warm, "_compile_elsewhere", lambda name: pytest.fail("a process"))
    assert warm.warm([], POOL) == ["easy"]


def test_a_worker_that_fails_is_no_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """Compiling ahead is only an optimisation."""
    broken = [sys.executable, "-c", "raise SystemExit(3)"]
    monkeypatch.setattr(warm, "_compile_elsewhere", lambda name: subprocess.Popen(broken))
    monkeypatch.setattr(warm, "cold", lambda policies, cluster: ["general", "easy"])
    assert warm.warm([], POOL) == ["general", "easy"]
