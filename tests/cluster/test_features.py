"""Feature expressions: what each node must have, and what all nodes of a job together."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shadowtime.cluster.features import MOST_CHOICES, choices, matches, modelled, satisfies
from shadowtime.cluster.shape import Shapes, left_out
from shadowtime.cluster.site import Node, Site
from shadowtime.engine import simulate
from shadowtime.errors import InputError
from shadowtime.policy import parse_policy
from shadowtime.schedule.check import check
from shadowtime.workload import Workload
from shadowtime.workload.request import Request, Requests


def racks() -> Site:
    kinds = ("r", "r", "s", "s", "s", "rs")
    return Site(
        nodes=tuple(
            Node(name=f"n{i}", amounts=(4,), features=frozenset(kind))
            for i, kind in enumerate(kinds)
        )
    )


def counts_of(text: str) -> list[list[int]]:
    return [[k for _, k in one.counts] for one in choices(text)]


@pytest.mark.parametrize(
    ("text", "counts"),
    [
        ("", [[]]),
        ("a&b|c", [[]]),
        ("a|(b&c)", [[]]),
        ("graphics*4", [[4]]),
        ("[rack1*2&rack2*4]", [[2, 4]]),
        ("rack1*2&rack2*4", [[2, 4]]),
        ("[(rack1|rack2)*1&(rack3)*2]", [[1, 2]]),
        ("[(knl&snc4&flat)*4&haswell*1]", [[4, 1]]),
        ("[a|b|c]", [[], [], []]),
        ("gpu&[a|b]", [[], []]),
        ("[a*2|b*4]", [[2], [4]]),
        ("a|(b&c*2)", [[], [2]]),
    ],
)
def test_counts_and_choices(text: str, counts: list[list[int]]) -> None:
    assert counts_of(text) == counts
    assert modelled(text)


@pytest.mark.parametrize(
    "text",
    [
        "!(a*2)",
        "([a|b])*2",
        "[a*1&b*1&c*1&d*1&e*1]",
        "a*0",
        "&".join(["[a|b]"] * 5),
    ],
)
def test_what_is_not_modelled_is_read_without_its_counts(text: str) -> None:
    assert not modelled(text)
    assert counts_of(text) == [[]]
    assert left_out(Request(features=text))
    assert len(choices(text)) <= MOST_CHOICES


@pytest.mark.parametrize(
    "text", ["a&", "(a", "a)", "[a)", "*2", "a**2", "a*", "a*b", "a b&", "!" * 200 + "a", "[]"]
)
def test_bad_expressions(text: str) -> None:
    with pytest.raises(InputError, match="is not a feature expression: write it like"):
        choices(text)


@given(st.text("ab&|!()[]*12 ,", max_size=14))
def test_any_text_is_read_or_rejected(text: str) -> None:
    try:
        made = choices(text)
    except InputError:
        return
    assert matches(text, {"a"}) == any(satisfies(one.each, {"a"}) for one in made)


def test_counted_nodes_are_given() -> None:
    site = racks()
    jobs = Workload.build(
        submit=[0, 0, 0],
        run=[9, 9, 9],
        procs=[16, 4, 8],
        requests=Requests.of_jobs(
            [
                Request(nodes=4, max_nodes=4, tasks=16, features="[r*2&s*2]"),
                Request(tasks=4, features="[r|s]"),
                Request(nodes=2, max_nodes=2, tasks=8, features="s*2"),
            ]
        ),
    )
    made = simulate(jobs, site, parse_policy("easy(place=first-fit)"))
    assert made.counters["not_modelled"] == 0
    places = [dict(made.place.tasks_of(row)) for row in range(3)]
    assert places == [dict.fromkeys(range(4), 4), {5: 4}, {2: 4, 3: 4}]
    assert made.start.tolist() == [0, 0, 9]
    assert check(made, jobs, site).ok


@pytest.mark.parametrize(
    ("place", "why"),
    [
        ("n0:4 n2:4 n3:4 n4:4", "job 1 asks for nodes with [r*2&s*2], and 1 of those it ran on"),
        ("n0:4 n1:4 n5:4 n2:4", None),
        ("n0:4 n1:4", "job 1 ran on 2 nodes, and asks for 4 to 4"),
    ],
)
def test_nodes_without_the_counted_features_are_caught(place: str, why: str | None) -> None:
    jobs = Workload.build(
        submit=[0],
        run=[9],
        procs=[16],
        requests=Requests.of_jobs([Request(nodes=4, max_nodes=4, tasks=16, features="[r*2&s*2]")]),
    )
    made = simulate(jobs, racks(), parse_policy("easy")).replace(place=(place,))
    proofs = [one.detail for one in check(made, jobs, racks()).proofs if one.verdict == "violated"]
    assert proofs == [] if why is None else any(why in detail for detail in proofs)


def test_wanted_nodes_and_counts_need_more_nodes_together() -> None:
    made = Shapes(racks())
    shape = made.of(Request(tasks=8, wanted=("n2",), features="r*2"), made.partitions[0])
    assert shape is not None and shape.least == 3
    counted = made.of(Request(max_nodes=2, features="[r*2&s*1]"), made.partitions[0])
    assert counted is not None and (counted.least, counted.most) == (3, 3)
    single = made.of(Request(max_nodes=1, features="r*1"), made.partitions[0])
    assert single is not None and single.nodes == (0, 1, 5) and not single.counts
