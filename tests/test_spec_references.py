"""Every reference to the specification names a section that exists; its numbers are anchored."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from benchmarks.spec_references import (
    ANCHOR,
    ROOT,
    references,
    references_in,
    resolves,
    sections,
    unresolved,
)

from shadowtime.slurm.rules import CHANGES

if TYPE_CHECKING:
    from pathlib import Path

PAGES = sorted((ROOT / "docs" / "spec").glob("*.md"))
NUMBERED = re.compile(r"^(?:#{2,3} |\*\*)(\d+(?:\.\d+)*)(?= |\*\*)", re.MULTILINE)


def test_every_reference_names_a_section() -> None:
    found, known = list(references()), sections()
    assert len(found) > 150, "the references themselves are not found any more"
    wrong = [one for one in found if not resolves(one, known)]
    assert [f"{one.file}:{one.line}: {one.text}" for one in wrong] == []


@pytest.mark.parametrize(
    "text",
    [
        "# spec: algorithms 1.99",
        "# spec: algorithms 1.2, 1.99",
        "# spec: algorithms 1.2 to 1.99",
        "# spec: weather 1.2",
        "# spec: slurm",
        "# As always (spec:\n# slurm 99.1).",
        "# See spec 4.6.",
        "# See Spec 4.6.",
        "# See spec section 2.",
        "# As simplified in the specification (1.5).",
        "# The order that the specification fixes (3.2).",
        "# See SLURM_2 13.",
        "# See SLURM.md 7.",
        "# See SLURM_3 A 1.2.",
        "# See SLURM_2 section 13.",
        "# See FORMATS 2.5.",
        "# See ALGORITHMS 6.6.",
        "# As planned before (3.6).",
        '"""Nodes that are free (4.2, 4.3)."""',
        '"""A job that started keeps its nodes (3.8c)."""',
        '"""3.6: by the ends of running jobs."""',
    ],
)
def test_anything_else_is_found(tmp_path: Path, text: str) -> None:
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "one.py").write_text(text + "\n")
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "spec").symlink_to(ROOT / "docs" / "spec")
    assert {(one.file, one.line) for one in unresolved(tmp_path)} == {("src/one.py", 1)}


def test_what_is_no_reference_is_left_alone() -> None:
    text = '"""Half of it.\n\n>>> f(1.5)\n(1.5, 2.5)\n"""\nload = g(0.9)  # of 0.9 to 1.2\n'
    assert list(references_in("a.py", text)) == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_numbers_are_anchored_once_and_point_somewhere(page: Path) -> None:
    text = page.read_text()
    anchors = [number.replace("-", ".") for _, number in ANCHOR.findall(text)]
    assert anchors == NUMBERED.findall(text)
    assert len(set(anchors)) == len(anchors)
    assert {name for name, _ in ANCHOR.findall(text)} <= {page.stem}
    inner = set(re.findall(r"\((\d{1,2}\.\d{1,2})\)", text))
    known = {number for name, number in sections() if name == page.stem}
    assert inner <= known


def test_every_change_of_slurm_has_its_rule_and_release() -> None:
    """The table of names is complete, and the rule mentions the release since which it holds."""
    text = (ROOT / "docs" / "spec" / "slurm.md").read_text()
    named = dict(re.findall(r"\| `(\w+)` \| (\d+\.\d+) ", text))
    assert set(named) == {change.rule for change in CHANGES}
    for change in CHANGES:
        anchor = f"(slurm-{named[change.rule].replace('.', '-')})="
        rule = text.split(anchor)[1].split("\n(slurm-")[0]
        assert "{}.{:02d}.{}".format(*change.since) in rule, change.rule
