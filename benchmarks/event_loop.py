"""The engine's event loop alone: tables built beforehand, no schedule made of the result."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from shadowtime.engine.estimates import known_at_submission
from shadowtime.engine.plan import loop_of
from shadowtime.kernel.registers import VOLATILE
from shadowtime.kernel.state import build

if TYPE_CHECKING:
    from shadowtime.cluster import Cluster
    from shadowtime.policy import Policy
    from shadowtime.workload import Workload


def event_loop(workload: Workload, cluster: Cluster, policy: Policy) -> partial[int]:
    """Fresh tables for one run, bound to the loop that runs them: call it once."""
    known = known_at_submission(policy.estimate, workload)
    state, world = build(workload, cluster, estimate=known.estimate, learner=known.learner)
    state.reg[VOLATILE] = not known.safe
    run, arguments = loop_of(policy, cluster, len(workload))
    return partial(run, state, world, *arguments)
