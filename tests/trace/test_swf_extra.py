"""Extended SWF: columns behind the 18th that the header names."""

from __future__ import annotations

import numpy as np
import pytest

from shadowtime.errors import InputError
from shadowtime.trace.swf import parse_swf, to_swf
from shadowtime.workload import Workload
from shadowtime.workload.clean import clean

LINE = "1 0 5 9 4 -1 -1 4 60 -1 1 1 1 1 1 1 -1 -1"


def log(*lines: str, fields: str = "bandwidth network") -> bytes:
    return "\n".join([f"; ExtraFields: {fields}", *lines, ""]).encode()


def test_named_columns_are_read():
    """In the header's order; -1 is unknown; nothing counts as ignored."""
    raw = parse_swf(log(f"{LINE} 2000 -1", f"{LINE.replace('1 0', '2 3', 1)} 500 7"), name="x")
    assert {name: column.tolist() for name, column in raw.extra.items()} == {
        "bandwidth": [2000, 500],
        "network": [-1, 7],
    }
    assert raw.counts["extra_columns_ignored"] == 0
    assert clean(raw).extra["bandwidth"].tolist() == [2000, 500]


def test_a_column_may_hold_fractions():
    """One number with a point makes it a column of fractions, which survives writing."""
    second = LINE.replace("1 0", "2 3", 1)
    raw = parse_swf(log(f"{LINE} 7 2.5", f"{second} 8 -1", fields="a risk"), name="x")
    assert raw.extra["a"].dtype.kind == "i" and raw.extra["risk"].tolist() == [2.5, -1.0]
    again = parse_swf(to_swf(clean(raw)).encode(), name="x")
    assert again.extra["risk"].tolist() == [2.5, -1.0] and again.extra["a"].tolist() == [7, 8]


def test_without_a_name_they_are_ignored_and_counted():
    """As before: the header does not name them."""
    raw = parse_swf(f"; MaxProcs: 8\n{LINE} 2000\n".encode(), name="x")
    assert not raw.extra and raw.counts["extra_columns_ignored"] == 1


def test_written_and_read_again():
    """A workload's bandwidth survives; so does any column that its header names."""
    jobs = Workload.build(
        submit=[0, 4], run=[9, 9], procs=[2, 1],
        extra={"bandwidth": np.array([2000, -1]), "disk": np.array([1, 2])},
    )  # fmt: skip
    text = to_swf(jobs)
    assert "; ExtraFields: bandwidth\n" in text and "disk" not in text
    again = clean(parse_swf(text.encode(), name="x"))
    assert again.extra["bandwidth"].tolist() == [2000, -1]
    named = to_swf(jobs.replace(header=("; ExtraFields: disk",)))
    assert "; ExtraFields: disk bandwidth\n" in named and named.count("ExtraFields") == 1
    raw = parse_swf(named.encode(), name="x")
    assert to_swf(raw).splitlines()[-2:] == named.splitlines()[-2:]


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (LINE, "expected 20 columns, found 18"),
        (f"{LINE} 5", "expected 20 columns, found 19"),
        (f"{LINE} five 5", "bandwidth must be a number, not 'five'"),
        (f"{LINE} 5 -7", "network is -7"),
    ],
)
def test_bad_columns_are_refused_with_their_place(line: str, words: str):
    """They are an error with their place, or dropped and counted on request."""
    with pytest.raises(InputError, match=f"x.swf, line 3: {words}"):
        parse_swf(log(f"{LINE} 1 1", line), name="x", path="x.swf")
    raw = parse_swf(log(f"{LINE} 1 1", line), name="x", bad_lines="drop")
    assert len(raw) == 1 and raw.counts["bad_lines_dropped"] == 1


@pytest.mark.parametrize("fields", ["submit", "a a", "2x"])
def test_bad_names_are_refused(fields: str):
    """One of SWF's own names, a name given twice, and an invalid name."""
    with pytest.raises(InputError, match="ExtraFields names"):
        parse_swf(log(f"{LINE} 1 1", fields=fields), name="x")
