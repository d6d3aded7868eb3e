"""Experiments on a site: a replay of its own scheduler, and the effect of changes."""
