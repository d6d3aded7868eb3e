"""HTCondor behind the loop's port."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from shadowtime.live.condor import gate
from shadowtime.live.condor import jobs as read
from shadowtime.live.condor.conditions import Conditions, disk_of, limits_of
from shadowtime.live.condor.slots import SLOT_ATTRIBUTES, Slots, resource_names, slots_of
from shadowtime.live.ineligible import Case, Ineligible
from shadowtime.live.placing import room
from shadowtime.live.port import (
    Decision,
    Ended,
    Outcome,
    PortError,
    RunningJob,
    Snapshot,
    Start,
    Stop,
    WaitingJob,
)
from shadowtime.policy.snapshot import natural
from shadowtime.trace.condor_history import TIME_LIMITS

if TYPE_CHECKING:
    from shadowtime.live.clock import Clock
    from shadowtime.live.condor.client import Ad, Client

ENDED = 200
"""Number of finished jobs that are kept for estimates that learn."""
LIMITS_EVERY = 60.0
"""Seconds between two reads of the negotiator's configuration."""


@dataclass(kw_only=True)
class CondorPort:
    """One or several schedds and the pool they run jobs on.

    Rules
    -----
    Jobs with ``ShadowtimeManaged = True`` that wait on hold from their submission, or on one of our
    own holds, may be started; all other holds stay as they are. Jobs without that attribute only
    count while they run. A job that was released to a slot counts as running until it does; if the
    slot is gone or nothing happens, it waits again and is released to another if there is one. A
    job whose Requirements refuse every slot, or that fits on none, is left out and reported once. A
    job waits, too, until its concurrency limits are free. ``ineligible`` gives the reason for each
    of them. Disk is a resource like memory where the jobs at hand might exhaust it before the
    processors of a slot; elsewhere it decides nothing, and a policy that weighs resources against
    each other does not see it.
    """

    client: Client
    clock: Clock
    reading: read.Reading = field(default_factory=read.Reading)
    tell: Callable[[str], None] = lambda line: None
    name: str = "HTCondor"

    def __post_init__(self) -> None:
        self._further: tuple[str, ...] = ()
        self._accepts: dict[tuple[str, str, tuple[str, ...]], tuple[str, ...]] = {}
        self._told: set[str] = set()
        self._ran: dict[str, RunningJob] = {}
        self._ended: list[Ended] = []
        self._original: dict[str, str] = {}
        self._avoid: dict[str, set[str]] = {}
        """Slots to which a job was released without starting."""
        self.ineligible: dict[str, Ineligible] = {}
        """Waiting jobs that cannot be started now, and why."""
        self._limits: dict[str, float] = {}
        self._limits_at = -math.inf
        self._conditions = Conditions(limits={}, disk={})
        self._disk_asked: dict[str, int] = {}

    def snapshot(self) -> Snapshot:
        """The queue and the slots now: two queries, and more only if something is new."""
        slot_ads = self._slot_ads()
        attributes = (*read.JOB_ATTRIBUTES, *(f"Request{name}" for name in self._further))
        ads = self.client.queue(read.CONSTRAINT, attributes)
        slots = slots_of(slot_ads, schedds=self.client.schedds())
        if not any(host.name != "nothing" for host in slots.cluster.hosts):
            raise PortError("the collector lists no slot that accepts jobs")
        slots = _counting_disk(slots, slot_ads, ads)
        now = int(self.clock.now())
        self.ineligible = {}
        waiting: list[tuple[WaitingJob, Ad]] = []
        holders: list[tuple[RunningJob | None, Ad]] = []
        for ad in ads:
            status = ad.get("jobstatus")
            if status in (read.RUNNING, read.SENDING, read.SUSPENDED):
                holders.append((read.running_of(ad, slots, self.reading, now), ad))
            elif not read.managed(ad):
                continue
            elif read.gated(ad):
                waiting.append((read.waiting_of(ad, slots, self.reading), ad))
            elif status == read.IDLE:
                if read.about_to_start(ad, slots, now, self.reading):
                    holders.append((read.running_of(ad, slots, self.reading, now), ad))
                elif ad.get(gate.PLACE.lower()):
                    waiting.append((read.waiting_of(ad, slots, self.reading), ad))
                    slow = str(ad[gate.PLACE.lower()]).split(",")
                    self._avoid.setdefault(read.job_id(ad), set()).update(slow)
                else:
                    self._leave(read.job_id(ad), Case.RELEASED_BY_OTHERS)
        waiting.sort(key=lambda one: (one[0].submit, natural(one[0].id)))
        self._conditions = self._free_now(slots, slot_ads, holders, [ad for _, ad in waiting])
        running = [job for job, _ in holders if job is not None] + self._foreigners(slots, now)
        self._note_ends({read.job_id(ad) for ad in ads}, running)
        return Snapshot(
            now=now,
            cluster=slots.cluster,
            waiting=tuple(self._startable(waiting, slots)),
            running=tuple(sorted(running, key=lambda job: (job.start, natural(job.id)))),
            ended=tuple(self._ended),
        )

    def apply(self, decisions: Sequence[Decision]) -> list[Outcome]:
        """Stop by hold; start by pinning Requirements to slots and releasing."""
        why: dict[str, str] = {}
        freed = [decision.job for decision in decisions if isinstance(decision, Stop)]
        if freed:
            running = f"(JobStatus == 1 || JobStatus == 2) && {gate.MANAGED} =?= True"
            self.client.hold(freed, running, f"{gate.REASON}: stopped by the policy")
        starts = [decision for decision in decisions if isinstance(decision, Start)]
        unstarted = [start.job for start in starts if start.job in self._avoid]
        if unstarted:  # withdraw it from the slot that does not answer before it is sent elsewhere
            idle = f"JobStatus == 1 && {gate.MANAGED} =?= True"
            self.client.hold(unstarted, idle, f"{gate.REASON}: released, but not started")
        for start in starts:
            at = [host for host, _ in start.place]
            short = self._conditions.give_disk(self._disk_asked.get(start.job, 0), at)
            refused = short or self._pin(start)
            if refused:
                why[start.job] = refused
        pinned = [start.job for start in starts if start.job not in why]
        if pinned:
            self.client.release(pinned, gate.GATED)
        ids = [decision.job for decision in decisions]
        after = {read.job_id(ad): ad for ad in self.client.jobs(ids, read.JOB_ATTRIBUTES)}
        return [self._outcome(decision, after.get(decision.job), why) for decision in decisions]

    def _pin(self, start: Start) -> str:
        slots = [host for host, _ in start.place]
        own = self._original.get(start.job)
        if own is None:
            return "it is not at the gate"
        edits = {
            gate.ORIGINAL: own,
            gate.PLACE: '"' + ",".join(slots) + '"',
            "Requirements": gate.pin(slots, own),
        }
        if start.limit > 0:
            edits["AllowedExecuteDuration"] = str(start.limit)
        for attribute, expression in edits.items():
            refused = self.client.edit(start.job, attribute, expression)
            if refused:
                return refused
        return ""

    def _outcome(self, decision: Decision, ad: Ad | None, why: dict[str, str]) -> Outcome:
        if decision.job in why:
            return Outcome(decision, False, why[decision.job])
        if ad is None:
            return Outcome(decision, isinstance(decision, Start), "it has left the queue")
        held = ad.get("jobstatus") == read.HELD
        if isinstance(decision, Stop):
            return Outcome(decision, held, "" if held else "it is still running")
        reason = str(ad.get("holdreason", "another user's hold"))
        return Outcome(decision, not held, f"it is on hold: {reason}" if held else "")

    def _slot_ads(self) -> list[Ad]:
        names = [*SLOT_ATTRIBUTES]
        for name in self._further:
            names += [name, f"TotalSlot{name}"]
        ads = self.client.slots(names)
        further = tuple(resource_names(ads))
        if further != self._further:  # the pool counts something new: ask for it too
            self._further = further
            return self._slot_ads()
        return ads

    def _free_now(
        self,
        slots: Slots,
        slot_ads: Sequence[Ad],
        holders: Sequence[tuple[RunningJob | None, Ad]],
        waiting: Sequence[Ad],
    ) -> Conditions:
        """What is left of limits and disk; a static slot's disk belongs to the slot."""
        names = sorted({name for ad in waiting for name in limits_of(ad)})
        disk = {name: kb for name, kb in slots.disk.items() if name not in slots.static}
        free = Conditions(limits=self._ask_limits(names), disk=disk)
        for job, ad in holders:
            free.take(ad, [host for host, _ in job.place] if job is not None else ())
        for ad in slot_ads:
            if str(ad.get("name", "")) in slots.taken:
                free.take_claim(ad, slots.taken[str(ad["name"])][0])
        return free

    def _ask_limits(self, names: Sequence[str]) -> dict[str, float]:
        """The pool's limits of these names, read again every minute while jobs use them."""
        now = self.clock.now()
        known = all(name in self._limits for name in names)
        if names and not (known and 0 <= now - self._limits_at < LIMITS_EVERY):
            try:
                self._limits = self.client.limits(names)
                self._limits_at = now
            except PortError as error:
                self._tell_once(f"concurrency limits are left to HTCondor: {error}")
        return {name: self._limits[name] for name in names if name in self._limits}

    def _startable(
        self, waiting: Sequence[tuple[WaitingJob, Ad]], slots: Slots
    ) -> list[WaitingJob]:
        """The jobs that fit on some slots that they accept."""
        everything = tuple(host.name for host in slots.cluster.hosts)
        keys = {}
        for job, ad in waiting:
            own = str(ad.get(gate.ORIGINAL.lower()) or ad.get("requirements") or "true")
            self._original[job.id] = own
            keys[job.id] = (job.id, f"{own} {job.need}", everything)
        news = [job for job, key in keys.items() if key not in self._accepts]
        for at in range(0, len(news), 500):
            some = news[at : at + 500]
            found = self.client.matching(some, slots.whole)
            for one in some:
                accepted = set(found.get(one, ()))
                self._accepts[keys[one]] = tuple(n for n in everything if n in accepted)
        self._accepts = {key: self._accepts[key] for key in keys.values()}
        self._original = {job: self._original[job] for job in keys}
        self._avoid = {job: self._avoid[job] for job in keys if job in self._avoid}
        self._disk_asked = {job.id: disk_of(ad) for job, ad in waiting}
        left = []
        for job, ad in waiting:
            good = self._accepts[keys[job.id]]
            if job.alone and ad.get("jobuniverse") == read.PARALLEL:
                good = tuple(name for name in good if name in slots.static)
            elif ad.get("jobuniverse") == read.PARALLEL:
                self._leave(job.id, Case.PARALLEL)
                continue
            elif slots.static and not job.alone:
                good = tuple(name for name in good if name not in slots.static)
            if not self._fits(job, good, slots):
                self._leave(job.id, Case.FITS_NO_SLOTS)
                continue
            if why := self._conditions.keep(ad):
                self.ineligible[job.id] = why
                continue
            better = tuple(name for name in good if name not in self._avoid.get(job.id, ()))
            if self._fits(job, better, slots):
                good = better
            left.append(job if good == everything else replace(job, only=good))
        return left

    def _fits(self, job: WaitingJob, good: Sequence[str], slots: Slots) -> bool:
        share = tuple(-(-amount // job.nodes) for amount in job.need)
        roomy = [h for h in slots.cluster.hosts if h.name in good and room(h.capacity, share)]
        return len(roomy) >= job.nodes

    def _foreigners(self, slots: Slots, now: int) -> list[RunningJob]:
        return [
            RunningJob(
                id=f"slot {slot}",
                submit=0,
                need=amounts,
                request=self.reading.default_request,
                start=now,
                place=((host, amounts[0]),),
                ours=False,
                held=((host, amounts),),
            )
            for slot, (host, amounts) in slots.taken.items()
        ]

    def _note_ends(self, present: set[str], running: Sequence[RunningJob]) -> None:
        """Look up our finished jobs in the history."""
        gone = [job for job in self._ran if job not in present]
        self._ran = {job.id: job for job in running if job.ours}
        if not gone:
            return
        wanted = (
            "ClusterId",
            "ProcId",
            "JobCurrentStartDate",
            "CompletionDate",
            "JobStatus",
            "Owner",
        )
        try:
            ads = self.client.ended(gone, (*wanted, *(n for n, _ in TIME_LIMITS)))
        except PortError:
            return  # estimates learn slightly less
        for ad in ads:
            start, end = ad.get("jobcurrentstartdate"), ad.get("completiondate")
            if ad.get("jobstatus") == read.COMPLETED and start and end:
                self._ended.append(
                    Ended(
                        id=read.job_id(ad),
                        start=int(start),
                        end=int(end),
                        request=read.request_of(ad, self.reading),
                        user=str(ad.get("owner", "")),
                    )
                )
        del self._ended[:-ENDED]

    def _leave(self, job: str, case: Case) -> None:
        """Do not start a job, and report it once."""
        self.ineligible[job] = Ineligible(case)
        self._tell_once(f"job {job} is skipped: {self.ineligible[job]}")

    def _tell_once(self, line: str) -> None:
        if line not in self._told:
            self._told.add(line)
            self.tell(line)


def _counting_disk(slots: Slots, slot_ads: Sequence[Ad], ads: Sequence[Ad]) -> Slots:
    """The slots, with disk as one more resource where jobs might run out of it."""
    claims = {str(ad.get("name", "")): disk_of({"requestdisk": ad.get("disk")}) for ad in slot_ads}
    taken = {slot: claims.get(slot, 0) for slot in slots.taken}
    if not slots.disk_binds([*(disk_of(ad) for ad in ads), *taken.values()]):
        return slots
    return slots.with_disk(taken)
