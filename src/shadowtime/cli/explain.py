"""shadowtime explain: why a job, or all jobs of a group, did not start earlier."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import RenderableType
from rich.text import Text

from shadowtime.api.load import CLEAN, Cleaning
from shadowtime.cli.common import console, outputs, progress, running, tables
from shadowtime.cli.replay import policy_of
from shadowtime.cluster import Cluster
from shadowtime.errors import UsageError, near
from shadowtime.metrics import Window
from shadowtime.metrics.where import Where
from shadowtime.policy import parse_policy
from shadowtime.report import Explanation, PolicyRun, ReportInput, numbers
from shadowtime.report import explain as why
from shadowtime.report.obstacle_words import MEANING, share_line, share_rows
from shadowtime.result.read import Folder, is_result_folder, read_folder
from shadowtime.result.rerun import otherwise_in, policy_again
from shadowtime.study.counterfactual.otherwise import Otherwise, otherwise
from shadowtime.study.counterfactual.variation import Variation
from shadowtime.study.wait_shares import wait_shares
from shadowtime.trace.site_folder import is_site_folder
from shadowtime.types import UNKNOWN, FileOrFolder, Reason
from shadowtime.workload import Workload, site_requests

ONE_OF_SEVERAL = (
    "This is one of several equally likely runs: no log records when Slurm's passes ran, and at "
    "other offsets single jobs start at other times."
)


@dataclass(frozen=True, eq=False, kw_only=True)
class Found:
    """The run that is explained, and the folder it comes from, if it does."""

    source: str
    result: ReportInput
    run: PolicyRun
    folder: Folder | None = None

    @property
    def cluster(self) -> Cluster:
        return self.run.cluster or self.result.cluster


def explain(
    folder: FileOrFolder,
    job: str | None = None,
    *,
    policy: str | None = None,
    without: tuple[str, ...] = (),
    if_: tuple[str, ...] = (),
    user: str | None = None,
    where: str | None = None,
    run_code: bool = False,
    cluster: str | None = None,
    cleaning: Cleaning = CLEAN,
    json: bool = False,
) -> None:
    """Explain why JOB started when it did: what was ahead, which promise blocked it, when it was
    promised a start, and when it started under the other policies.

    DIR is a result folder (written with -o by simulate, compare, replay or demo), a site's folder
    or a log, which is then simulated. On a site it prints what blocked the job at each time: a
    limit, a reservation, nodes out of service, a dependency, the jobs on its nodes or those ahead
    of it; under slurm also its priority by factor. JOB is a number, or 123_4 for a task of an
    array.

    With --without or --if the policy is run again with that change, and the answer says when the
    job would have started, who else would, and through which jobs the change reaches it.

    With --user or --where the waits of all these jobs are divided among their causes: limits,
    reservations, fragmentation, wide jobs, promises to others, priorities. The shares add up.

    \b
    shadowtime explain results 1042
    shadowtime explain results 1042 --policy conservative
    shadowtime explain site/ 123_4
    shadowtime explain log.swf.gz 17 --policy easy
    shadowtime explain results 1042 --without 997
    shadowtime explain results 1042 --without user=eva
    shadowtime explain results 1042 --if procs=32 --if request=1h
    shadowtime explain results --user eva
    shadowtime explain results --where partition=gpu,procs>=64

    Parameters
    ----------
    folder : DIR
    policy : P
        The policy to explain: its name in a result folder, else as for simulate. [default: the
        folder's first one; on a site slurm]
    without : JOB|KEY=VALUE
        Run it again without this job, or without the jobs that fulfil these conditions (user=eva,
        procs>=64, as for --where), and tell what would have been different. Repeatable.
    if_ : FIELD=VALUE
        Run it again with the job changed: procs=32, request=1h, run=10m, submit=-2h (earlier) or
        submit=+30m. Repeatable.
    user : NAME
        Instead of JOB: what the waits of all jobs of this user are due to.
    where : COND
        Instead of JOB: what the waits of these jobs are due to: partition=gpu,procs>=64.
    run_code
        With --without or --if: run the code in DIR/code with your permissions; read it first.
    """
    variation = Variation.of(without=without, if_=if_)
    group = ",".join(filter(None, [user and f"user={user}", where]))
    if (job is None) == (not group):
        raise UsageError("give a JOB, or --user or --where for the waits of several jobs")
    if group and variation:
        raise UsageError("--without and --if are about one job: give a JOB instead of a group")
    if cluster is None and (is_result_folder(folder) or not _is_log(folder)):
        with progress.while_reading(folder):
            found_in = read_folder(folder)
        run = _chosen(found_in.result, policy, folder)
        found = Found(source=folder, result=found_in.result, run=run, folder=found_in)
    else:
        result = _simulated(folder, job, cluster, policy, cleaning)
        found = Found(source=folder, result=result, run=result.runs[0])
    if job is None:
        _explain_group(found, group, json)
    else:
        wanted = site_requests.job_number(job, found.result.workload, folder)
        other = _otherwise(found, wanted, variation, run_code) if variation else None
        _explain_job(found, wanted, other, json)


def _explain_job(given: Found, job: int, other: Otherwise | None, as_json: bool) -> None:
    result, run = given.result, given.run
    with progress.working("finding what blocked it"):
        found = why(result.workload, run.schedule, job, cluster=given.cluster, otherwise=other)
    if as_json:
        outputs.print_json(_as_object(run.name, found, result.workload))
    else:
        _show(result, run.name, found)


def _explain_group(given: Found, group: str, as_json: bool) -> None:
    """What the waits of the counted jobs of a group are due to."""
    result, run = given.result, given.run
    only = result.window.mask(result.workload.submit) & Where.parse(group).mask(result.workload)
    with progress.working("finding what blocked them"):
        found = wait_shares(result.workload, given.cluster, run.schedule, only=only)
    if as_json:
        outputs.print_json({"policy": run.name, "where": group, **found.as_dict()})
        return
    names = site_requests.array_ids(result.workload)
    table = tables.numbers_table("cause", "share", "time", "jobs")
    table.add_column("longest")
    rows = share_rows(found, lambda one: names.get(one, str(one)))
    for cause, *cells, longest in rows:
        table.add_row(cause, *cells, longest)
    lines: list[Any] = [Text(share_line(found, group))]
    if found.shares:
        lines += [Text(), table, Text()]
        lines += [Text(f"{one.cause}: {MEANING[one.cause]}", "dim") for one in found.shares]
    console.show(Text.assemble((run.name, "bold cyan"), f" on {result.workload.name}"), *lines)


def _otherwise(given: Found, job: int, variation: Variation, run_code: bool) -> Otherwise:
    """What the run would have been with a variation."""
    jobs, run, machine = given.result.workload, given.run, given.cluster
    policy = run.policy
    if given.folder is not None:
        policy = policy_again(given.folder, run, run_code=run_code)
    engine = running.prepare([policy], machine, jobs=len(jobs))
    with progress.while_simulating():
        if given.folder is not None:
            return otherwise_in(given.folder, run, policy, job, variation, engine=engine)
        return otherwise(jobs, machine, policy, run.schedule, job, variation, engine=engine)


def _is_log(path: str) -> bool:
    """A site's folder or a file: something to simulate."""
    return is_site_folder(path) or Path(path).is_file()


def _simulated(
    log: str, job: str | None, cluster: str | None, policy: str | None, cleaning: Cleaning
) -> ReportInput:
    """One run over a log; a job that does not exist is reported before the simulation."""
    given = parse_policy(policy) if policy else None
    workload, machine = running.load(log, cluster, cleaning)
    chosen = given or policy_of(machine)
    if job is not None:
        site_requests.job_number(job, workload, log)
    running.print_policy_notes([chosen], machine, workload)
    [run] = running.run_policies(workload, machine, [chosen], Window.all())
    return run.as_report()


def _chosen(result: ReportInput, policy: str | None, folder: str) -> Any:
    for run in result.runs:
        if policy in (None, run.name):
            return run
    names = [run.name for run in result.runs]
    raise UsageError(f"{folder} has no policy {policy}{near(policy or '', names)}")


def _as_object(policy: str, found: Explanation, workload: Workload) -> dict[str, Any]:
    """Every field by its name; the reason as schedules spell it."""
    facts = {**vars(found), "reason": None if found.reason is None else found.reason.label}
    facts["promises"] = [vars(promise) for promise in found.promises]
    facts["in_the_way"] = [vars(one) for one in found.in_the_way]
    facts["otherwise"] = None if found.otherwise is None else found.otherwise.as_dict()
    facts["standings"] = [vars(one) for one in found.standings]
    return {"policy": policy, "array_id": site_requests.array_ids(workload).get(found.job), **facts}


def _show(result: ReportInput, policy: str, found: Explanation) -> None:
    head = Text.assemble((policy, "bold cyan"), f" on {result.workload.name}")
    lines = [Text(line) for line in found.lines]
    if policy.partition("(")[0] == "slurm":
        lines.append(Text(ONE_OF_SEVERAL, "dim"))
    console.show(head, *lines, *_elsewhere(result, policy, found.job))


def _elsewhere(result: ReportInput, policy: str, job: int) -> list[RenderableType]:
    """When the same job started under the folder's other policies."""
    if len(result.runs) < 2:
        return []
    row = int(np.flatnonzero(result.workload.job_id == job)[0])
    table = tables.plain_table("policy", "waited", "why")
    for run in result.runs:
        start = int(run.schedule.start[row])
        ran = start != UNKNOWN
        cells = (
            run.name,
            numbers.span(int(run.schedule.wait[row])) if ran else numbers.DASH,
            Reason(int(run.schedule.reason[row])).label
            if ran or run.schedule.unstarted[row]
            else "no start",
        )
        table.add_row(*(Text(cell, "bold" if run.name == policy else "") for cell in cells))
    return [Text(), table]
