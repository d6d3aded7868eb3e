"""Static figures."""

from __future__ import annotations

import builtins

import pytest

from conftest import require, thorough
from report.worlds import report_input
from shadowtime.errors import MissingExtra
from shadowtime.report import write_figures


@pytest.fixture
def matplotlib():
    try:
        import matplotlib as found
    except ImportError:
        found = None
    require("matplotlib", found, "matplotlib is not installed")
    return found


def test_every_figure_in_both_formats_and_the_same_bytes_again(matplotlib, tmp_path):
    paths = write_figures(report_input(40), tmp_path / "figures")
    names = {path.name for path in paths}
    assert names == {
        f"{stem}.{kind}"
        for stem in ("metrics", "over-time", "distributions", "heat", "classes", "gantt")
        for kind in ("svg", "pdf")
    }
    for path in paths:
        data = path.read_bytes()
        assert data.startswith(b"%PDF") if path.suffix == ".pdf" else b"<svg" in data
        assert len(data) > 2_000
    formats = ("svg", "pdf") if thorough() else ("svg",)  # in a quick run half of them
    again = write_figures(report_input(40), tmp_path / "again", formats=formats)
    first = [path for path in paths if path.suffix[1:] in formats]
    assert [path.read_bytes() for path in again] == [path.read_bytes() for path in first]


def test_nothing_to_draw_draws_nothing(matplotlib, tmp_path):
    assert write_figures(report_input(0), tmp_path, formats=("svg",)) == []


def test_without_matplotlib_the_command_is_named(monkeypatch, tmp_path):
    found = builtins.__import__

    def missing(name, *rest):
        if name.partition(".")[0] == "matplotlib":
            raise ImportError(name)
        return found(name, *rest)

    monkeypatch.setattr(builtins, "__import__", missing)
    with pytest.raises(MissingExtra, match=r"pip install 'shadowtime\[figures\]'"):
        write_figures(report_input(10), tmp_path)
