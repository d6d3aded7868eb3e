"""A port to Slurm: reads with squeue and sinfo, acts with scontrol."""
