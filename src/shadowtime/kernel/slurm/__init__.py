"""Slurm's backfill pass on arrays, nodes as bits: the rules are those of slurm/backfill.py."""
