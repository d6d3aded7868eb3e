"""An HTCondor pool polled for the board: the queue of its schedds, and its slots."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shadowtime.board.view import Job, Node, View
from shadowtime.live.clock import Clock, SystemClock
from shadowtime.live.condor import jobs as j
from shadowtime.live.condor.backend import client_of, schedd_names, title_of
from shadowtime.live.condor.gate import parent
from shadowtime.live.condor.slots import SLOT_ATTRIBUTES, slots_of

if TYPE_CHECKING:
    from shadowtime.live.condor.client import Ad, Client

MORE = ("JobPrio", "AcctGroup", "JobBatchName", "Cmd")
UNKNOWN = (
    "HTCondor has no accounting that tells the past day: the past is what the board has seen",
    "starts are not estimated: HTCondor's negotiator is not simulated",
    "the position is the order of submission: priorities of users are the negotiator's",
)


class CondorSource:
    """Polls a collector and schedds; read-only."""

    def __init__(
        self, *, pool: str = "", schedd: str = "", client: Client | None = None,
        clock: Clock | None = None,
    ) -> None:  # fmt: skip
        self.names = schedd_names(schedd)
        self.pool = pool
        self.client = client or client_of(pool, self.names, tell=lambda line: None)
        self.clock = clock or SystemClock()
        self._running: dict[str, Job] = {}

    def poll(self) -> View:
        """The jobs of the schedds, those of others that hold slots, and the slots."""
        now = int(self.clock.now())
        ads = self.client.queue("true", (*j.JOB_ATTRIBUTES, *MORE))
        slots = slots_of(
            self.client.slots(SLOT_ATTRIBUTES), schedds=frozenset(self.client.schedds())
        )
        jobs = [job for ad in ads if (job := job_of(ad)) is not None]
        jobs += [
            Job(id=slot, state="running", reason="another schedd's", cpus=max(1, amounts[0]),
                hosts=(host,))
            for slot, (host, amounts) in slots.taken.items()
        ]  # fmt: skip
        listed = {job.id for job in jobs}
        # A job leaves the queue when it ends: that is when it is seen to have ended.
        for job in self._running.values():
            if job.id not in listed:
                values = {**vars(job), "state": "ended", "end": now, "reason": "left the queue"}
                jobs.append(Job(**values))
        self._running = {job.id: job for job in jobs if job.state == "running"}
        nodes = [
            Node(name=host.name, cpus=max(1, host.capacity[0]), state="usable", usable=True)
            for host in slots.hosts
        ]
        return View(
            cluster=self.pool or title_of(self.names),
            system="HTCondor",
            now=now,
            jobs=tuple(jobs),
            nodes=tuple(nodes),
            unknown=UNKNOWN,
        )

    def why(self, job: str, site: object) -> str:
        """HTCondor tells why by condor_q -better-analyze only, which asks every machine."""
        return ""


def job_of(ad: Ad) -> Job | None:
    """A job of a schedd; None for one that is being removed."""
    status = j.whole(ad, "jobstatus", 0)
    if status not in (j.IDLE, j.RUNNING, j.HELD, j.SENDING, j.SUSPENDED):
        return None
    running = status in (j.RUNNING, j.SENDING, j.SUSPENDED)
    reason = str(ad.get("holdreason", "held")) if status == j.HELD else ""
    hosts = str(ad.get("remotehosts", ad.get("remotehost", ""))).split(",") if running else []
    slots = j.hosts_wanted(ad)
    name = str(ad.get("jobbatchname", "") or str(ad.get("cmd", "")).rpartition("/")[2])
    submit = j.whole(ad, "qdate", -1)
    return Job(
        id=j.job_id(ad),
        state="running" if running else "waiting",
        name=name,
        user=str(ad.get("owner", "")),
        account=str(ad.get("acctgroup", "")),
        reason="" if running else reason,
        cpus=max(1, j.whole(ad, "requestcpus", 1)) * slots,
        nodes=slots,
        submit=submit,
        start=j.whole(ad, "jobcurrentstartdate", -1) if running else -1,
        limit=j.request_of(ad, j.Reading(default_request=-1, overhead=0)),
        priority=float(j.whole(ad, "jobprio", 0)),
        hosts=tuple(dict.fromkeys(parent(host) for host in hosts if host)),
    )
