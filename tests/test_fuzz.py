"""Any bytes in any input file give a value or one of our errors."""

from __future__ import annotations

import importlib
import importlib.util

import pytest

from conftest import thorough
from fuzzing import Format, fuzz, must_be_clean

MODULES = ("fuzz_formats", "fuzz_site_formats", "fuzz_live_formats")
"""Each has FORMATS; ``scripts/check fuzz`` runs the same ones for a million records."""

SECONDS = 5.0
"""What the suite spends on a format at most: those that write files stop there."""


def every_format() -> list[Format]:
    there = [name for name in MODULES if importlib.util.find_spec(name)]
    return [one for name in there for one in importlib.import_module(name).FORMATS]


@pytest.mark.filterwarnings("ignore:.*cut off")
@pytest.mark.parametrize("one", every_format(), ids=lambda one: one.name)
def test_broken_input_is_answered(one: Format) -> None:
    """No exception but ours; and the breaker leaves something that can be read."""
    records = one.records if thorough() else one.records // 5  # with fewer, none may be readable
    tally = fuzz(one, records=records, seconds=SECONDS)
    must_be_clean(tally)
    assert tally.accepted > 0
