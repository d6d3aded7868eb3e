"""Recordings of a real Slurm: its log, sacct and what else a folder holds, checked pass by pass."""
