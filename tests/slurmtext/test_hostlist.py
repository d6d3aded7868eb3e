"""Slurm's host lists."""

from __future__ import annotations

import pytest

from shadowtime.errors import ClusterError
from shadowtime.slurmtext.hostlist import expand


@pytest.mark.parametrize(
    ("text", "hosts"),
    [
        ("n1", ["n1"]),
        ("n1,n2", ["n1", "n2"]),
        ("n[001-003,7],gpu2", ["n001", "n002", "n003", "n7", "gpu2"]),
        ("n[09-11]", ["n09", "n10", "n11"]),
        ("n[9-11]", ["n9", "n10", "n11"]),
        ("r[1-2]n[0,2]x", ["r1n0x", "r1n2x", "r2n0x", "r2n2x"]),
        ("a-b.c[5]", ["a-b.c5"]),
        (" n1 , n2 ", ["n1", "n2"]),
        ("None assigned", []),
        ("", []),
        ("(null)", []),
    ],
)
def test_lists(text: str, hosts: list[str]) -> None:
    assert expand(text) == hosts


@pytest.mark.parametrize(
    "text",
    ["n[1-", "n1]", "n[[1]]", "n[]", "n[a-b]", "n[3-1]", "n[1-2-3]", "n1,,n2", ",", "n[1,]",
     "n[0-999999999]", "n[0-9999]n[0-9999]"],
)  # fmt: skip
def test_bad_lists(text: str) -> None:
    with pytest.raises(ClusterError, match="host list"):
        expand(text)
