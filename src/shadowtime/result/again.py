"""The runs of a result folder made again with something changed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from shadowtime.errors import PolicyError, UsageError
from shadowtime.policy import parse_policy
from shadowtime.result.recipe import policy_of
from shadowtime.result.rerun import changes_since
from shadowtime.study.counterfactual.otherwise import absence, otherwise
from shadowtime.types import Reason

if TYPE_CHECKING:
    from collections.abc import Sequence

    from shadowtime.report import PolicyRun
    from shadowtime.result.read import Folder
    from shadowtime.study.compare import Engine
    from shadowtime.study.counterfactual.otherwise import Absence, Otherwise
    from shadowtime.study.counterfactual.variation import Variation


def is_recorded(run: PolicyRun) -> bool:
    """Is it a log's own schedule, which no policy of ours made?"""
    return bool(np.isin(run.schedule.reason, (Reason.RECORDED, Reason.UNSTARTED)).all())


def policy_again(folder: Folder, run: PolicyRun, *, run_code: bool = False) -> Any:
    """The policy of a folder's run, to simulate it again.

    Rules
    -----
    By the folder's recipe; a folder without one (a replay) by the policy's name. A recorded
    schedule has no policy and is rejected.
    """
    if is_recorded(run):
        others = [one.name for one in folder.result.runs if not is_recorded(one)]
        how = f": choose -p {others[0]}" if others else ": simulate the log under a policy first"
        raise UsageError(
            f"{folder.root}: {run.name} is a recorded schedule, and what would have been different "
            f"needs a policy{how}"
        )
    entry = next(one for one in folder.content["policies"] if one["name"] == run.name)
    if "recipe" in entry:
        return policy_of(entry["recipe"], folder.root, run_code=run_code, name=run.name)
    named = str(run.parameters.get("policy") or run.name)
    try:
        return parse_policy(named)
    except PolicyError:
        return policy_of({}, folder.root, run_code=run_code, name=run.name)  # says why not


def otherwise_in(
    folder: Folder,
    run: PolicyRun,
    policy: Any,
    job: int,
    variation: Variation,
    *,
    engine: Engine,
) -> Otherwise:
    """What a folder's run would have been with a variation.

    The schedule of the folder is the run as it was, if it was made by this version and with a
    recipe; else that run is made again too and must give the folder's starts.
    """
    jobs, machine = folder.result.workload, run.cluster or folder.result.cluster
    _require_same(folder, run, policy, engine)
    return otherwise(jobs, machine, policy, run.schedule, job, variation, engine=engine)


def absences_in(
    folder: Folder, run: PolicyRun, policy: Any, jobs: Sequence[int], *, engine: Engine
) -> tuple[Absence, ...]:
    """What a folder's run would have been without each of these jobs."""
    workload, machine = folder.result.workload, run.cluster or folder.result.cluster
    _require_same(folder, run, policy, engine)
    return tuple(
        absence(workload, machine, policy, run.schedule, job, engine=engine) for job in jobs
    )


def _require_same(folder: Folder, run: PolicyRun, policy: Any, engine: Engine) -> None:
    """The policy must give the folder's starts; that is known of a folder of this version."""
    jobs, machine = folder.result.workload, run.cluster or folder.result.cluster
    known = any("recipe" in one for one in folder.content["policies"] if one["name"] == run.name)
    if known and not changes_since(folder.root, folder.content):
        return
    differ = int((engine(jobs, machine, policy).start != run.schedule.start).sum())
    if differ:
        raise UsageError(
            f"{folder.root}: {run.name} made again starts {differ:,} of {len(jobs):,} jobs at "
            "other times than in this folder (another version, or one of several runs): "
            "write the folder again with shadowtime compare or simulate -o"
        )
