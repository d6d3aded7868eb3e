"""Slurm's scheduler on nodes that share bandwidth: plans for all jobs at every pass.

spec: algorithms 6.
"""
