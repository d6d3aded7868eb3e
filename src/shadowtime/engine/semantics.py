"""The version of what the engine and the metrics compute, apart from the version of the package."""

SEMANTICS = 5
"""Raise it with every change that alters a schedule or a metric of some policy on some log.

Stored results carry it (:mod:`shadowtime.study.sweep`), so that numbers of two semantics are never
confused. A test holds digests of schedules and metrics that belong to this number.
"""
