"""Columns arrive in the page unchanged."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from conftest import examples
from shadowtime.report.page.data import pack, unpack

values = st.lists(st.integers(-(1 << 50), 1 << 50), max_size=50)


@given(a=values, b=st.lists(st.integers(-200, 200), max_size=50))
@settings(max_examples=examples(60), deadline=None)
def test_what_goes_in_comes_out(a, b):
    packed = pack({"a": np.array(a, np.int64), "b": np.array(b, np.int64)}, deltas=("b",))
    back = unpack(packed)
    assert back["a"].tolist() == a and back["b"].tolist() == b


def test_small_numbers_take_little_room():
    packed = pack({"x": np.arange(10_000)}, deltas=("x",))
    assert packed["columns"] == [["x", 10_000, 1, 1]]
    assert len(packed["data"]) < 200
