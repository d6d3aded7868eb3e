"""A job's record in slurmctld, from what it was submitted with (sbatch, scontrol, sacct)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from shadowtime.slurm.job import Job
from shadowtime.slurm.submissions import asked_on_site
from shadowtime.slurmtext.sbatch import Submitted
from shadowtime.workload.request import Request

if TYPE_CHECKING:
    from shadowtime.slurm.recording.folder import Recording
    from shadowtime.slurm.state import SlurmState


NO_LIMIT = 365 * 86400
"""Seconds that stand for a limit nothing in the recording shows."""


def record_of(recording: Recording, state: SlurmState, number: int) -> Job:
    """A new record of a submitted job."""
    rows = recording.runs.get(number, [])
    row = rows[0].columns if rows else {}
    asked = recording.submitted.get(number) or from_sacct(row)
    request = asked.request
    request = replace(
        request,
        account=request.account or row.get("account", ""),
        qos=request.qos or row.get("qos", ""),
    )
    user = asked.user or row.get("user", "")
    partitions, ask = asked_on_site(request, recording.site, state, user)
    limit = asked.limit
    if limit is None:
        minutes = row.get("timelimitraw", "")
        limit = int(minutes) * 60 if minutes.isdigit() else NO_LIMIT
    submit = rows[0].seconds("submit") if rows else None
    return Job(
        id=number,
        ask=ask,
        limit=limit,
        user=user,
        account=request.account,
        qos=request.qos,
        partitions=partitions,
        submit=submit or 0,
        eligible=submit or 0,
        name=asked.name or row.get("jobname", ""),
        reservation=request.reservation,
        least_time=asked.least_time,
        licences=request.amounts,
        tasks=list(asked.array),
        array=number if asked.array else 0,
        throttle=asked.throttle,
        requeues=asked.requeue,
    )


def from_sacct(row: Mapping[str, str]) -> Submitted:
    """A guess from sacct alone: whole nodes where all their cpus were given unasked.

    Examples
    --------
    >>> guess = from_sacct({"nnodes": "2", "reqcpus": "2", "ncpus": "32"})
    >>> guess.request.exclusive, guess.request.nodes
    (True, 2)
    """
    nodes = int(row.get("nnodes") or 1)
    asked = int(row.get("reqcpus") or 1)
    got = int(row.get("ncpus") or asked)
    exclusive = got > asked and got % max(nodes, 1) == 0
    request = Request(
        nodes=nodes if exclusive else 1,
        max_nodes=nodes if exclusive else None,
        tasks=asked,
        exclusive=exclusive,
        partitions=tuple(filter(None, row.get("partition", "").split(","))),
        features=row.get("constraints", ""),
    )
    return Submitted(request=request)
