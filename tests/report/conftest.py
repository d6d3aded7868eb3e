"""A browser for all tests of the report, started once."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from conftest import program
from report.browser import Browser


@pytest.fixture(scope="session")
def chromium(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    driver = program("chromedriver", component="chromium")
    with Browser(driver, program("chromium"), tmp_path_factory.mktemp("profile")) as browser:
        yield browser


@pytest.fixture
def browser(chromium: Browser) -> Iterator[Browser]:
    """The shared browser in a plain window; a test that leaves errors behind fails."""
    chromium.emulate(width=1280, height=900)
    yield chromium
    assert chromium.errors() == []


@pytest.fixture
def opened(browser: Browser, tmp_path: Path):
    """Writes a report, opens it and waits until it is drawn."""
    from shadowtime.report import write_html

    def show(report):
        browser.open(write_html(report, tmp_path / "report.html"))
        browser.settle()
        return browser

    return show
