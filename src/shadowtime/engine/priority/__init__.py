"""Slurm's multifactor priority: weights, fair-share, factors. Sites and the policy slurm use it."""
