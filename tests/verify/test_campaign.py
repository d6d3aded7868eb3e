"""check -p accepts every schedule of the engine and finds every mutant that is none."""

from __future__ import annotations

from functools import cache

import pytest

from conftest import thorough
from verify.campaign import World, campaign, policies, random_worlds

CASES = [(shape, text) for shape in ("pool", "hosts", "site") for text in policies(shape)]


@cache
def some_worlds(shape: str) -> list[World]:
    return random_worlds(shape, 40 if thorough() else 6)


@pytest.mark.parametrize(("shape", "text"), CASES)
def test_every_mutant_is_found(shape: str, text: str) -> None:
    """Starts, ends, places, reasons, promises, blocks, attempts and swapped jobs."""
    found = campaign(text, some_worlds(shape), each=2)
    assert found.missed == []
    assert found.schedules == found.accepted > 0
    assert found.mutants == found.found > 20
