"""Experiments on a site: its own scheduler replayed, and what changes would do."""
