"""Many simulations that can be stopped, resumed and spread over a cluster.

A plan (:mod:`.plan`) is logs x machines x policies x loads x copies. Each run has a key made of
everything its numbers depend on (:mod:`.keys`); results are rows in Parquet shards
(:mod:`.shards`), and a key that has a row is never run again.
"""

from shadowtime.study.sweep.plan import Case, Log, Plan, Variant
from shadowtime.study.sweep.run import Outcome, run_plan
from shadowtime.study.sweep.shards import Shards

__all__ = ["Case", "Log", "Outcome", "Plan", "Shards", "Variant", "run_plan"]
