"""Conformance checks that every policy gets for free, a user's own included."""

from shadowtime.testing.conformance import CHECKS, check_policy
from shadowtime.testing.host_worlds import small_host_worlds
from shadowtime.testing.node_worlds import small_node_worlds
from shadowtime.testing.worlds import small_worlds

__all__ = ["CHECKS", "check_policy", "small_host_worlds", "small_node_worlds", "small_worlds"]
