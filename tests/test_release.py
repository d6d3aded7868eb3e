"""A release has one version: of the package, the citation and the newest entry of the changelog."""

from __future__ import annotations

import re

from conftest import ROOT
from shadowtime import __version__


def test_the_newest_release_is_the_version_of_the_package() -> None:
    releases = re.findall(r"^## \[(\d+\.\d+\.\d+)\] - \d{4}-\d\d-\d\d$", changelog(), re.MULTILINE)
    assert releases[0] == __version__
    assert releases == sorted(releases, key=lambda name: tuple(map(int, name.split("."))))[::-1]


def test_the_citation_names_the_version_and_its_date() -> None:
    citation = dict(
        re.findall(r"^([\w-]+): (.+)$", (ROOT / "CITATION.cff").read_text(), re.MULTILINE)
    )
    assert citation["version"] == __version__
    assert f"## [{__version__}] - {citation['date-released']}" in changelog()


def test_repairs_stand_under_fixed() -> None:
    """An entry that begins with the word would say it twice, or stand in the wrong part."""
    assert not re.search(r"^- Fixed", changelog(), re.MULTILINE)


def changelog() -> str:
    return (ROOT / "CHANGELOG.md").read_text()
