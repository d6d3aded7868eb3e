"""When a job will start, from Python: on a live Slurm, or at a moment of a site's log."""

from __future__ import annotations

import getpass
import os
from typing import Any

from shadowtime.api.inputs import inputs_of, read_site
from shadowtime.errors import UsageError
from shadowtime.eta import asking, ranges
from shadowtime.eta.present import LogAt, Present
from shadowtime.eta.starts import DRAWS, How, draw_starts
from shadowtime.policy import make_policy

LIVE = "slurm"


def estimate_start(
    where: Any,
    job: Any = None,
    *,
    request: str | None = None,
    at: int | None = None,
    policy: Any = "slurm",
    draws: int = DRAWS,
    submissions: bool = True,
    seed: int = 1,
) -> ranges.Estimate | asking.Answer:
    """The median and a range of 80 % of the wait from now, as ``shadowtime eta`` prints them.

    Rules
    -----
    ``where`` is ``"slurm"`` for the cluster of this machine, a site's folder, or a pair (site,
    jobs). In a log the moment is ``at``, in seconds since its first submission, by default the
    submission of the job; nothing later is used. With ``request``, options of sbatch, the answer
    has alternatives that start earlier.

    Examples
    --------
    >>> import shadowtime as st
    >>> from shadowtime.cluster.site import Node
    >>> jobs = st.Workload.build(submit=[0, 5], run=[60, 9], procs=[4, 4], request=[90, 20],
    ...     recorded_start=[0, 60])
    >>> site = st.Site(nodes=(Node(name="a", amounts=(4,)),))
    >>> found = st.estimate((site, jobs), 2, draws=9)
    >>> found.job, found.earliest <= found.expected <= found.latest <= 95
    ('2', True)
    """
    if (job is None) == (request is None):
        raise UsageError("name a job, or describe one: st.estimate(site, request='-N 4 -t 60')")
    how = How(policy=make_policy(policy), draws=draws, submissions=submissions, seed=seed)
    user = getpass.getuser()
    present, usual = _live(user) if where == LIVE else (_in_log(where, job, at), "")
    if request is not None:
        machine: Any = present.machine
        asked = asking.parse_request(request, machine, user=user, now=present.now, account=usual)
        return asking.ask_start(present, asked, how)
    found = {one.job: one for one in ranges.estimates_of(draw_starts(present, how))}
    if str(job) not in found:
        raise UsageError(f"job {job} does not wait at that moment: no start is estimated")
    return found[str(job)]


def _live(user: str) -> tuple[Present, str]:
    """Slurm's present, and the account of the user's jobs."""
    from shadowtime.live.slurm import drive, forecast
    from shadowtime.live.slurm.site_look import default_account

    port = drive.make_port(drive.Where())
    seen = forecast.look(port.answers)
    usual = default_account(port.answers.text, seen.site, user)
    return forecast.present_of(seen, forecast.predictable(seen)[0]), usual


def _in_log(where: Any, job: Any, at: int | None) -> Present:
    if isinstance(where, str | os.PathLike):
        where = read_site(where)
    machine, jobs = where
    jobs, machine = inputs_of(jobs, machine)
    if at is None:
        rows = [row for row, known in enumerate(jobs.job_id.tolist()) if str(known) == str(job)]
        if not rows:
            raise UsageError(f"{jobs.name} has no job {job}")
        at = int(jobs.submit[rows[0]])
    return LogAt(jobs, machine).present(at)
