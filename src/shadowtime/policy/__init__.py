"""Policies: values made of parts, the catalogue, and how they are written."""

from shadowtime.policy.catalogue import catalogue
from shadowtime.policy.parse import parse_policy
from shadowtime.policy.policy import Policy

__all__ = ["Policy", "catalogue", "parse_policy"]
