"""Slurm's own scheduler: its main pass and its backfill pass on a state, and checks on recordings.

The rules are those of slurmctld 22.05. A pass takes a state and a time and returns what Slurm
would log: starts, plans and victims.
"""
