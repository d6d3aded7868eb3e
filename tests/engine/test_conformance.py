"""Every policy of the catalogue passes the shipped conformance checks."""

from __future__ import annotations

import pytest

from shadowtime.policy import catalogue
from shadowtime.testing import CHECKS


@pytest.mark.parametrize("check", CHECKS.values(), ids=CHECKS)
@pytest.mark.parametrize("policy", catalogue(), ids=lambda policy: policy.name)
def test_policy_conforms(policy, check):
    """Registered policies get these for free."""
    check(lambda: policy)
