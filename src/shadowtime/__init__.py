"""Shadowtime: replay a cluster's job log under any backfilling policy, prove it, run it live."""

__version__ = "0.1.0"
