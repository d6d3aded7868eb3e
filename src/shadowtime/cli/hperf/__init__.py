"""Measured demand by tag: records of finished jobs, and the averages that policies use."""

COMMANDS = {
    "Store": ("store.record", "store.show", "store.import_", "store.export", "store.forget"),
    "Measure": ("measure.collectors", "measure.calibrate"),
    "Slurm": ("slurm.install", "slurm.publish", "slurm.epilog"),
}
