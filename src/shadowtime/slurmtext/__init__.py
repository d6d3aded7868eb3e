"""Slurm's text: what its commands print and its files contain, read in one place.

Every reader of the other packages calls these functions. They know Slurm's notations and its
versions, but no cluster, workload or loop. A value that is not of its kind raises ClusterError or
ValueError with a sentence; the caller adds file and line.
"""
