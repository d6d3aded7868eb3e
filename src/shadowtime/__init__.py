"""Shadowtime: replay a cluster's job log under any backfilling policy, prove it, run it live.

    import shadowtime as st

    jobs = st.read("log.swf.gz")
    run = st.simulate(jobs, "pool:256", "easy(reserve=4)")
    found = st.compare(jobs, "pool:256", ["easy", "conservative"], shake=20)

Names are loaded when they are first used, so that the import costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.3.0"

if TYPE_CHECKING:
    from shadowtime.api.environment import environment, session
    from shadowtime.api.inputs import demo, read, read_site
    from shadowtime.api.paper import paper
    from shadowtime.api.results import Results, compare, load
    from shadowtime.api.run import Run, simulate
    from shadowtime.api.site import replay, whatif
    from shadowtime.api.slots import (
        backfill_key,
        backfill_test,
        begin,
        easy,
        estimate,
        order,
        place,
        plan,
        reserve,
        resize,
        select,
        speed,
        victim,
    )
    from shadowtime.api.sweep import Sweep, sweep
    from shadowtime.api.tune import tune
    from shadowtime.cluster import Cluster
    from shadowtime.cluster.site import Site
    from shadowtime.kernel.changing import seconds_at
    from shadowtime.kernel.choice import earliest, occupy, release
    from shadowtime.metrics.added import metric
    from shadowtime.policy import Policy
    from shadowtime.policy import make_policy as policy
    from shadowtime.policy.snapshot import (
        Promise,
        RunningJob,
        Snapshot,
        Start,
        Stop,
        Wait,
        WaitingJob,
        Wake,
    )
    from shadowtime.schedule import Schedule
    from shadowtime.workload import Workload

_HOME = {
    "Cluster": "shadowtime.cluster",
    "Policy": "shadowtime.policy",
    "Promise": "shadowtime.policy.snapshot",
    "Results": "shadowtime.api.results",
    "Run": "shadowtime.api.run",
    "RunningJob": "shadowtime.policy.snapshot",
    "Schedule": "shadowtime.schedule",
    "Site": "shadowtime.cluster.site",
    "Snapshot": "shadowtime.policy.snapshot",
    "Start": "shadowtime.policy.snapshot",
    "Stop": "shadowtime.policy.snapshot",
    "Sweep": "shadowtime.api.sweep",
    "Wait": "shadowtime.policy.snapshot",
    "WaitingJob": "shadowtime.policy.snapshot",
    "Wake": "shadowtime.policy.snapshot",
    "Workload": "shadowtime.workload",
    "backfill_key": "shadowtime.api.slots",
    "backfill_test": "shadowtime.api.slots",
    "begin": "shadowtime.api.slots",
    "compare": "shadowtime.api.results",
    "demo": "shadowtime.api.inputs",
    "earliest": "shadowtime.kernel.choice",
    "easy": "shadowtime.api.slots",
    "environment": "shadowtime.api.environment",
    "estimate": "shadowtime.api.slots",
    "load": "shadowtime.api.results",
    "metric": "shadowtime.metrics.added",
    "occupy": "shadowtime.kernel.choice",
    "order": "shadowtime.api.slots",
    "paper": "shadowtime.api.paper",
    "place": "shadowtime.api.slots",
    "plan": "shadowtime.api.slots",
    "read": "shadowtime.api.inputs",
    "read_site": "shadowtime.api.inputs",
    "release": "shadowtime.kernel.choice",
    "replay": "shadowtime.api.site",
    "reserve": "shadowtime.api.slots",
    "resize": "shadowtime.api.slots",
    "seconds_at": "shadowtime.kernel.changing",
    "select": "shadowtime.api.slots",
    "session": "shadowtime.api.environment",
    "simulate": "shadowtime.api.run",
    "speed": "shadowtime.api.slots",
    "sweep": "shadowtime.api.sweep",
    "tune": "shadowtime.api.tune",
    "victim": "shadowtime.api.slots",
    "whatif": "shadowtime.api.site",
}
"""The module of each public name."""

__all__ = [
    "Cluster",
    "Policy",
    "Promise",
    "Results",
    "Run",
    "RunningJob",
    "Schedule",
    "Site",
    "Snapshot",
    "Start",
    "Stop",
    "Sweep",
    "Wait",
    "WaitingJob",
    "Wake",
    "Workload",
    "backfill_key",
    "backfill_test",
    "begin",
    "compare",
    "demo",
    "earliest",
    "easy",
    "environment",
    "estimate",
    "load",
    "metric",
    "occupy",
    "order",
    "paper",
    "place",
    "plan",
    "policy",
    "read",
    "read_site",
    "release",
    "replay",
    "reserve",
    "resize",
    "seconds_at",
    "select",
    "session",
    "simulate",
    "speed",
    "sweep",
    "tune",
    "victim",
    "whatif",
]


def __getattr__(name: str) -> Any:
    if name == "policy":  # the package, which can be called
        return import_module("shadowtime.policy")
    if name in _HOME:
        return getattr(import_module(_HOME[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}{_near(name)}")


def _near(name: str) -> str:
    from difflib import get_close_matches

    found = get_close_matches(name, __all__, n=2, cutoff=0.6)
    return f"; did you mean {' or '.join(found)}?" if found else ""


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
