"""Every policy of the catalogue passes the shipped conformance checks."""

from __future__ import annotations

import pytest

from conftest import share
from shadowtime.policy import catalogue, parse_policy
from shadowtime.testing import CHECKS

ON_NODES = [
    "easy-sjbf(place=first-fit)",
    "easy-sjbf(place=less-consume)",
    "conservative(place=first-fit)",
    "conservative(place=less-consume)",
    "conservative(place=less-consume(threshold=1.15))",
    "conservative(place=less-consume(limit=pf), compress=no)",
]
"""Policies that plan on nodes are checked there too."""


PAIRS = [(policy.name, check) for policy in catalogue() for check in CHECKS]


@pytest.mark.parametrize(("policy", "check"), share(PAIRS, 0))
def test_policy_conforms(policy, check):
    """Every registered policy is checked; in a quick run by every third check."""
    CHECKS[check](lambda: parse_policy(policy))


@pytest.mark.parametrize("check", CHECKS.values(), ids=CHECKS)
@pytest.mark.parametrize("policy", ON_NODES)
def test_policy_conforms_on_nodes(policy, check):
    """Every place part, under EASY and under conservative backfilling."""
    check(lambda: parse_policy(policy))
