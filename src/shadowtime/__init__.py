"""Shadowtime: replay a cluster's job log under any backfilling policy, prove it, run it live.

    import shadowtime as st

    jobs = st.read("log.swf.gz")
    run = st.simulate(jobs, "pool:256", "easy(reserve=4)")
    found = st.compare(jobs, "pool:256", ["easy", "conservative"], shake=20)

Names are loaded when they are first used, so that the import costs nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from shadowtime.later import later

__version__ = "0.3.0"

if TYPE_CHECKING:
    from shadowtime.api.environment import environment as environment
    from shadowtime.api.environment import session as session
    from shadowtime.api.inputs import demo as demo
    from shadowtime.api.inputs import read as read
    from shadowtime.api.inputs import read_site as read_site
    from shadowtime.api.paper import paper as paper
    from shadowtime.api.results import Results as Results
    from shadowtime.api.results import compare as compare
    from shadowtime.api.results import load as load
    from shadowtime.api.run import Run as Run
    from shadowtime.api.run import simulate as simulate
    from shadowtime.api.site import replay as replay
    from shadowtime.api.site import whatif as whatif
    from shadowtime.api.slots import backfill_key as backfill_key
    from shadowtime.api.slots import backfill_test as backfill_test
    from shadowtime.api.slots import begin as begin
    from shadowtime.api.slots import easy as easy
    from shadowtime.api.slots import estimate as estimate
    from shadowtime.api.slots import order as order
    from shadowtime.api.slots import place as place
    from shadowtime.api.slots import plan as plan
    from shadowtime.api.slots import reserve as reserve
    from shadowtime.api.slots import resize as resize
    from shadowtime.api.slots import select as select
    from shadowtime.api.slots import speed as speed
    from shadowtime.api.slots import victim as victim
    from shadowtime.api.sweep import Sweep as Sweep
    from shadowtime.api.sweep import sweep as sweep
    from shadowtime.api.tune import tune as tune
    from shadowtime.cluster import Cluster as Cluster
    from shadowtime.cluster.site import Site as Site
    from shadowtime.kernel.changing import seconds_at as seconds_at
    from shadowtime.kernel.choice import earliest as earliest
    from shadowtime.kernel.choice import occupy as occupy
    from shadowtime.kernel.choice import release as release
    from shadowtime.metrics.added import metric as metric
    from shadowtime.policy import Policy as Policy
    from shadowtime.policy import make_policy
    from shadowtime.policy.snapshot import Promise as Promise
    from shadowtime.policy.snapshot import RunningJob as RunningJob
    from shadowtime.policy.snapshot import Snapshot as Snapshot
    from shadowtime.policy.snapshot import Start as Start
    from shadowtime.policy.snapshot import Stop as Stop
    from shadowtime.policy.snapshot import Wait as Wait
    from shadowtime.policy.snapshot import WaitingJob as WaitingJob
    from shadowtime.policy.snapshot import Wake as Wake
    from shadowtime.schedule import Schedule as Schedule
    from shadowtime.workload import Workload as Workload

    policy = make_policy  # the package, which can be called
else:
    __getattr__, __all__, __dir__ = later(__name__, "policy")
