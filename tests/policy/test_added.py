"""Policies that other packages add through an entry point."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import pytest

import shadowtime as st
from shadowtime.cli import run
from shadowtime.errors import PolicyError, ShadowtimeError
from shadowtime.policy import parse_policy

CODE = """
import shadowtime as st

@st.order
def narrow(now, job, weight=1.0):
    "the narrowest first."
    return -weight * job.procs

class Patient:
    "starts no job."

    def decide(self, view):
        return []

deep = st.easy(order=narrow, reserve=4)
patient = Patient()
"""


def install(folder: Path, monkeypatch: pytest.MonkeyPatch, entries: str) -> None:
    """A package that adds policies, as pip would leave it."""
    (folder / "toy_policies.py").write_text(CODE)
    about = folder / "toy_policies-1.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: toy-policies\nVersion: 1\n")
    (about / "entry_points.txt").write_text(f"[shadowtime.policies]\n{entries}\n")
    monkeypatch.syspath_prepend(folder)
    monkeypatch.delitem(sys.modules, "toy_policies", raising=False)


def test_a_package_adds_policies(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A part, a policy and an object; parameters as for those of the catalogue."""
    with pytest.raises(PolicyError, match="unknown policy 'slim'"):
        parse_policy("slim")
    install(
        tmp_path,
        monkeypatch,
        "slim = toy_policies:narrow\nslim-deep = toy_policies:deep\nidle = toy_policies:patient",
    )
    assert str(parse_policy("slim").order) == "narrow"
    assert str(parse_policy("slim-deep(weight=2, reserve=3)").order) == "narrow(weight=2)"
    assert parse_policy("slim-deep(weight=2)").name == "slim-deep(weight=2)"
    assert st.policy("slim", reserve=2).parameters["reserve"] == "2"
    assert hasattr(parse_policy("idle"), "decide")
    with pytest.raises(PolicyError, match="idle is implemented by its own code"):
        parse_policy("idle(x=1)")
    with pytest.raises(PolicyError, match=r"Did you mean .*slim"):
        parse_policy("slimm")
    assert run(["demo", "--step", "--auto", "--policy", "idle"]) == 2
    assert "Patient never starts job A" in capsys.readouterr().err, "it is asked, step by step"
    assert run(["policies"]) == 0
    listed = "".join(capsys.readouterr())
    assert "slim-deep" in listed
    assert re.search(r"^idle +starts no job$", listed, re.MULTILINE), "with its docstring"
    assert run(["policies", "--json"]) == 0
    by_name = {one["name"]: one for one in json.loads(capsys.readouterr().out)["policies"]}
    assert by_name["slim"]["slots"]["order"] == "narrow" and by_name["idle"]["slots"] == {}


def test_a_name_of_the_catalogue_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And so is what cannot be loaded, with the package that brings it."""
    install(tmp_path, monkeypatch, "easy = toy_policies:narrow")
    with pytest.raises(PolicyError, match="adds the policy easy, which is a name of the catalogue"):
        parse_policy("slim")
    about = tmp_path / "toy_policies-1.dist-info" / "entry_points.txt"
    about.write_text("[shadowtime.policies]\nslim = toy_policies:missing\n")
    with pytest.raises(ShadowtimeError, match=r"slim, which toy-policies adds .* cannot be loaded"):
        parse_policy("slim")
