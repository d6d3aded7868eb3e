"""The rules that changed between Slurm's versions: chosen by the version, listed in the docs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from shadowtime.cli import run
from shadowtime.cluster.site import Node, Site
from shadowtime.errors import PolicyError
from shadowtime.policy import parse_policy
from shadowtime.slurm.parameters import Parameters
from shadowtime.slurm.policy import SlurmPolicy
from shadowtime.slurm.rules import CHANGES, NEWEST, Rules
from shadowtime.study.site.keys import PARAMETERS
from shadowtime.workload import Workload

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "slurm.md"
SITE = Site(nodes=(Node(name="a", amounts=(4,)), Node(name="b", amounts=(4,))))


def test_every_release_has_the_rules_up_to_it() -> None:
    """The table is in order; each release has its own changes and all before."""
    assert list(CHANGES) == sorted(CHANGES, key=lambda one: one.since)
    for at, change in enumerate(CHANGES):
        year, month, minor = change.since
        rules = Rules.of(f"{year}.{month:02d}.{minor}")
        assert all(getattr(rules, one.rule) for one in CHANGES[: at + 1]), change
        later = [one for one in CHANGES if one.since > change.since]
        assert not any(getattr(rules, one.rule) for one in later), change


def test_the_page_lists_every_rule_with_its_source() -> None:
    """Release, file and function, and how it was verified."""
    text = PAGE.read_text()
    for change in CHANGES:
        since = "{}.{:02d}.{}".format(*change.since)
        row = f"| {since} | `{change.rule}` | {change.what} | {change.where} | {change.verified} |"
        assert row in text, row


def test_the_version_comes_from_the_site_and_is_overridden() -> None:
    """SLURM_VERSION of scontrol show config; slurm(version=...); else 22.05."""
    found = SlurmPolicy().parameters_on({"SLURM_VERSION": "24.11.5"}).rules
    assert found.bounded_will_run and not found.first_single_node
    assert SlurmPolicy().parameters_on({}).rules == Rules()
    chosen = parse_policy("slurm(version=26.05)")
    assert isinstance(chosen, SlurmPolicy)
    assert chosen.parameters_on({"SLURM_VERSION": "22.05.8"}).rules.first_single_node
    assert chosen.parameters == {"version": "26.05"}
    assert Parameters.of_config({"slurm_version": "23.02.7"}).rules.whole_tasks
    with pytest.raises(PolicyError, match=r"version must be like 24\.11"):
        parse_policy("slurm(version=new)")


def test_the_rules_are_no_setting(capsys: pytest.CaptureFixture[str]) -> None:
    """The page of the policy names the version; a what-if does not offer the rules."""
    assert run(["policies", "slurm", "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert shown["parameters"]["version"] == "22.05.8"
    assert "rules" not in shown["parameters"]
    assert "rules" not in PARAMETERS
    with pytest.raises(PolicyError, match="no parameter 'rules'"):
        parse_policy("slurm(rules=1)")


def test_a_newer_version_is_modelled_as_the_newest_and_says_so() -> None:
    """An unknown release has the rules of the last known one, with a note."""
    newest = "{}.{:02d}".format(*NEWEST)
    assert Rules.of("31.05.2") == Rules.of(newest)
    notes = SlurmPolicy().notes_on(SITE.replace(config={"SLURM_VERSION": "31.05.2"}))
    assert any("31.05.2" in note and newest in note for note in notes), notes
    assert not SlurmPolicy().notes_on(SITE.replace(config={"SLURM_VERSION": f"{newest}.9"}))


@pytest.mark.parametrize(("version", "node"), [("22.05", "b"), ("24.11", "b"), ("26.05", "a")])
def test_one_node_is_the_fullest_or_since_26_05_the_first(version: str, node: str) -> None:
    """Of two nodes, the second partly used: best fit, or the first that fits."""
    jobs = Workload.build(submit=[0, 0, 2], run=[90, 50, 40], procs=[2, 3, 1])
    policy = parse_policy(f"slurm(version={version})")
    assert isinstance(policy, SlurmPolicy)
    place = policy.simulate(jobs, SITE).place
    assert place is not None
    assert place[2].startswith(node), place
