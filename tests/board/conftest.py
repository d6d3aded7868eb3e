"""A browser for the tests of the board, started once."""

from report.conftest import browser, chromium

__all__ = ["browser", "chromium"]
