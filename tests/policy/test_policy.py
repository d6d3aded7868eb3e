"""A policy is a value: what is worked out from its parts is no part of it."""

from __future__ import annotations

import pickle

import pytest

from shadowtime.errors import PolicyError
from shadowtime.policy import parse_policy


@pytest.mark.parametrize("text", ["easy", "lxfw", "easy(order=sjf, reserve=4)"])
def test_a_policy_that_was_asked_is_pickled_as_one_that_was_not(text: str):
    """Keys of stored runs are made of such bytes."""
    asked, fresh = parse_policy(text), parse_policy(text)
    asked.refuse_nonsense("pool")
    assert not asked.written
    assert pickle.dumps(asked) == pickle.dumps(fresh)
    again = pickle.loads(pickle.dumps(asked))
    assert again == fresh
    assert again.defined_on == asked.defined_on


def test_a_policy_is_refused_on_the_shapes_on_which_it_is_not_defined():
    """The answer is remembered, and it is remembered by shape."""
    policy = parse_policy("easy(reserve=4)")
    for _ in range(2):
        policy.refuse_nonsense("pool")
        with pytest.raises(PolicyError, match="reserve=4 is not defined on nodes"):
            policy.refuse_nonsense("nodes")
    assert "pool" in policy.defined_on
    assert "nodes" not in policy.defined_on


def test_a_backfill_rule_keeps_its_former_name() -> None:
    """Files and commands that say ``anybody`` mean ``any``."""
    former, now = (parse_policy(f"easy(backfill={word})") for word in ("anybody", "any"))
    assert former.parts == now.parts


@pytest.mark.parametrize(
    ("text", "written"),
    [("multifactor", "order=multifactor"), ("last-two(a=1)", "estimate=last-two")],
)
def test_a_part_is_no_policy(text: str, written: str):
    """Its name is answered with the slot it belongs to."""
    with pytest.raises(PolicyError, match=rf"not a policy: write, for example, easy\({written}\)"):
        parse_policy(text)
