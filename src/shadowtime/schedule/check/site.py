"""Every proof about a schedule on a site."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from shadowtime.schedule.check.attempts import attempts_consistent
from shadowtime.schedule.check.case import Case
from shadowtime.schedule.check.identity import agrees_with_trace, each_job_once, not_before_submit
from shadowtime.schedule.check.limits import limits_kept
from shadowtime.schedule.check.report import Proof, not_made
from shadowtime.schedule.check.site_case import SiteCase
from shadowtime.schedule.check.site_limits import within_limits
from shadowtime.schedule.check.site_nodes import (
    alone,
    as_asked,
    each_node,
    in_partitions,
    with_features,
)
from shadowtime.schedule.check.site_time import (
    after_others,
    eligible,
    in_reservations,
    no_outage,
    throttled,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from shadowtime.cluster.site import Site
    from shadowtime.workload.request import Requests

PROOFS: tuple[Callable[[SiteCase], Proof], ...] = (
    in_partitions,
    with_features,
    as_asked,
    each_node,
    alone,
    no_outage,
    in_reservations,
    eligible,
    after_others,
    throttled,
    within_limits,
)


def site_proofs(case: Case, site: Site, requests: Requests) -> list[Proof]:
    """The proofs that every schedule on a site is tried for."""
    proofs = [each_job_once(case), agrees_with_trace(case), not_before_submit(case)]
    trial = SiteCase(case, site, requests)
    if case.schedule.place is None:
        why = "the schedule does not say on which nodes jobs ran"
        proofs.append(not_made("site-capacity", why))
        proofs.append(eligible(trial))
        proofs.append(after_others(trial))
        proofs.append(throttled(trial))
        return proofs
    first = in_partitions(trial)
    proofs.append(first)
    if first.verdict != "violated":
        proofs += [prove(trial) for prove in PROOFS[1:]]
    proofs.append(limits_kept(_without_failed(trial)))
    waiting = (case.schedule.kills > 0) & ~trial.ran
    if waiting.any():
        proofs.append(not_made("attempts-consistent", "requeued jobs never ran again"))
    else:
        proofs.append(attempts_consistent(case))
    return proofs


def _without_failed(trial: SiteCase) -> Case:
    """The case without the runs that a failure of one of their nodes ended."""
    s = trial.case.schedule
    failures = {(one.node, trial.clock(one.begin)) for one in trial.site.outages if not one.drain}
    lost = np.zeros(len(s), bool)
    if failures:
        for row in np.flatnonzero(trial.ran).tolist():
            end = int(s.end[row])
            lost[row] = any((name, end) in failures for name, _ in trial.places[row])
    cut = lost & (s.end - s.start < np.minimum(trial.workload.run, trial.workload.limit))
    start = np.where(cut, -1, s.start)
    from dataclasses import replace

    match = replace(trial.case.match, schedule=s.replace(start=start))
    return Case(match, trial.case.cluster, trial.case.claims)
