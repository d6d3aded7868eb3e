"""Return the queue to HTCondor: release every job at the gate with its user's own request."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from shadowtime.live.condor import gate, jobs

if TYPE_CHECKING:
    from shadowtime.live.condor.client import Ad, Client


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What to edit of each job, which ones to release, and those that stay held, with the reason.

    Examples
    --------
    >>> plan_release([{"clusterid": 7, "procid": 0, "jobstatus": 5, "holdreasoncode": 15,
    ...                "shadowtimemanaged": True}]).commands()
    ['condor_qedit 7.0 ShadowtimeManaged false', 'condor_release 7.0']
    """

    edits: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    release: tuple[str, ...] = ()
    stay: Mapping[str, str] = field(default_factory=dict)

    def commands(self) -> list[str]:
        """The same in HTCondor's own commands."""
        from shlex import quote

        lines = [
            f"condor_qedit {job} {name} {quote(value)}"
            for job, edits in self.edits.items()
            for name, value in edits.items()
        ]
        return lines + [f"condor_release {job}" for job in self.release]


def plan_release(ads: Sequence[Ad]) -> Plan:
    """How to return a queue.

    Rules
    -----
    Every managed job that does not run gets its own Requirements back and is no longer managed, so
    that a restarted loop does not touch it. Jobs at the gate, and those that the loop has stopped,
    are released. A job that its user or an administrator holds stays held.
    """
    edits: dict[str, dict[str, str]] = {}
    release, stay = [], {}
    for ad in ads:
        if not jobs.managed(ad) or ad.get("jobstatus") not in (jobs.IDLE, jobs.HELD):
            continue
        job = jobs.job_id(ad)
        own = ad.get(gate.ORIGINAL.lower())
        edits[job] = {"Requirements": str(own)} if own else {}
        if ad.get(gate.PLACE.lower()):
            edits[job][gate.PLACE] = '""'
        edits[job][gate.MANAGED] = "false"
        if jobs.gated(ad):
            release.append(job)
        elif ad.get("jobstatus") == jobs.HELD:
            stay[job] = str(ad.get("holdreason") or "it is held")
    return Plan(edits=edits, release=tuple(release), stay=stay)


def queue_of(client: Client) -> list[Ad]:
    """The jobs of a plan."""
    return client.queue(jobs.CONSTRAINT, jobs.JOB_ATTRIBUTES)


def give_back(client: Client, plan: Plan) -> dict[str, str]:
    """Carry out a plan; returns the jobs that could not be returned, and why."""
    failed: dict[str, str] = {}
    for job, edits in plan.edits.items():
        for name, value in edits.items():
            if why := client.edit(job, name, value):
                failed[job] = why
                break
    ready = [job for job in plan.release if job not in failed]
    if ready:
        client.release(ready, gate.GATED)
    after = {jobs.job_id(ad): ad for ad in client.jobs(ready, jobs.JOB_ATTRIBUTES)} if ready else {}
    for job in ready:
        if job in after and after[job].get("jobstatus") == jobs.HELD:
            failed[job] = f"it is still held ({after[job].get('holdreason', 'no reason given')})"
    return failed
