"""Compiled code is kept under what it was compiled with."""

from __future__ import annotations

import numba.core.config
import pytest

from shadowtime.kernel.numba_cache import flags_of_numba


def test_other_flags_are_another_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    """Numba's own key ignores them: code made for tests must not be found by a simulation."""
    found = set()
    for checked in (0, 1):
        for level in (1, 2, 3):
            for vectorised in (0, 1):
                monkeypatch.setattr(numba.core.config, "BOUNDSCHECK", checked)
                monkeypatch.setattr(numba.core.config, "OPT", level)
                monkeypatch.setattr(numba.core.config, "LOOP_VECTORIZE", vectorised)
                found.add(flags_of_numba())
    assert len(found) == 12


def test_nothing_is_added_for_the_usual_flags(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(numba.core.config, "BOUNDSCHECK", None)
    monkeypatch.setattr(numba.core.config, "OPT", 3)
    monkeypatch.setattr(numba.core.config, "LOOP_VECTORIZE", 1)
    assert flags_of_numba() == ""
