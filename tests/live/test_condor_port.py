"""The HTCondor port without a pool: how slots and jobs are read, and how answers are handled."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from shadowtime.engine.live_pass import Memory
from shadowtime.live.condor.gate import parent, pin
from shadowtime.live.condor.jobs import Reading
from shadowtime.live.condor.port import CondorPort
from shadowtime.live.condor.slots import slots_of
from shadowtime.live.deciding import decide_with_hosts
from shadowtime.live.loop import Step
from shadowtime.live.metrics import queue_by_reason
from shadowtime.live.operation import ineligible_jobs
from shadowtime.live.port import PortError, Start, Stop
from shadowtime.policy import parse_policy

HERE = "here.site"


def pslot(node: str, cpus: int = 8, memory: int = 8192, **more: Any) -> dict[str, Any]:
    whole = {"totalslotcpus": cpus, "totalslotmemory": memory, "cpus": cpus, "memory": memory}
    return {"name": f"slot1@{node}", "slottype": "Partitionable", "state": "Unclaimed",
            "machineresources": "Cpus Memory Disk Swap GPUs", **whole, **more}  # fmt: skip


def held(cluster: int, **more: Any) -> dict[str, Any]:
    return {"clusterid": cluster, "procid": 0, "jobstatus": 5, "jobuniverse": 5, "qdate": cluster,
            "requestcpus": 1, "requestmemory": 100, "holdreasoncode": 15, "owner": "ann",
            "requirements": "true", "shadowtimemanaged": True, "maxruntime": 60} | more  # fmt: skip


class Fake:
    """A pool with given answers that records the commands it gets."""

    def __init__(self, slots: list[dict[str, Any]], jobs: list[dict[str, Any]]) -> None:
        self.slot_ads, self.job_ads = slots, jobs
        self.past: list[dict[str, Any]] = []
        self.asked: list[tuple[str, ...]] = []
        self.accepts: dict[str, list[str]] = {}
        self.refuses: dict[str, str] = {}
        self.silent = ""
        self.most: dict[str, float] | None = {}

    def schedds(self) -> tuple[str, ...]:
        return (HERE,)

    def queue(self, constraint: str, attributes: Sequence[str]) -> list[dict[str, Any]]:
        if self.silent:
            raise PortError(self.silent)
        return [dict(ad) for ad in self.job_ads]

    def jobs(self, jobs: Sequence[str], attributes: Sequence[str]) -> list[dict[str, Any]]:
        return [dict(ad) for ad in self.job_ads]

    def slots(self, attributes: Sequence[str]) -> list[dict[str, Any]]:
        return [dict(ad) for ad in self.slot_ads]

    def limits(self, names: Sequence[str]) -> dict[str, float]:
        self.asked.append(("limits", *names))
        if self.most is None:
            raise PortError("the negotiator does not answer")
        return {name: self.most.get(name, 2308032.0) for name in names}

    def ended(self, jobs: Sequence[str], attributes: Sequence[str]) -> list[dict[str, Any]]:
        if not self.past:
            raise PortError("the history is away")
        return self.past

    def matching(self, jobs: Sequence[str], whole: Sequence[Any]) -> dict[str, list[str]]:
        everything = [ad["name"] for ad in whole]
        return {job: self.accepts.get(job, everything) for job in jobs}

    def edit(self, job: str, attribute: str, expression: str) -> str:
        self.asked.append(("edit", job, attribute, expression))
        return self.refuses.get(job, "")

    def release(self, jobs: Sequence[str], condition: str) -> int:
        self.asked.append(("release", condition, *jobs))
        for ad in self.job_ads:
            if f"{ad['clusterid']}.0" in jobs and ad["holdreasoncode"] == 15:
                ad["jobstatus"] = 1
        return 1

    def hold(self, jobs: Sequence[str], condition: str, reason: str) -> int:
        self.asked.append(("hold", reason, *jobs))
        return 1


class Noon:
    def now(self) -> float:
        return 1000.5

    def sleep(self, seconds: float) -> None:
        raise AssertionError


def port(slots: list[dict[str, Any]], *jobs: dict[str, Any]) -> tuple[CondorPort, Fake, list[str]]:
    fake, lines = Fake(slots, list(jobs)), []
    made = CondorPort(client=fake, clock=Noon(), tell=lines.append, reading=Reading(overhead=0))
    return made, fake, lines


def test_slots_are_hosts_with_all_they_count() -> None:
    """Processors, memory in KB, GPUs if there are any, and a site's custom resources."""
    ads = [pslot("b", gpus=2, totalslotgpus=2), pslot("a", gpus=0, totalslotgpus=0)]
    ads[0]["machineresources"] += " Bandwidth"
    ads[0]["totalslotbandwidth"] = 100
    slots = slots_of(ads, schedds=[HERE])
    assert slots.cluster.resources == ("procs", "memory", "gpus", "bandwidth")
    assert [(host.name, host.capacity) for host in slots.cluster.hosts] == [
        ("slot1@a", (8, 8192 * 1024, 0, 0)),
        ("slot1@b", (8, 8192 * 1024, 2, 100)),
    ]
    assert not slots.static


def test_a_partitionable_slot_counts_whole_whatever_was_split_off() -> None:
    """Our own jobs are counted from the schedd, those of other schedds from the collector."""
    dynamic = {"slottype": "Dynamic", "state": "Claimed", "cpus": 3, "memory": 1024}
    ads = [
        pslot("a", cpus=8) | {"cpus": 2, "memory": 6144},
        dynamic | {"name": "slot1_1@a", "globaljobid": f"{HERE}#7.0#99"},
        dynamic | {"name": "slot1_2@a", "globaljobid": "elsewhere#7.0#99"},
    ]
    slots = slots_of(ads, schedds=[HERE])
    assert slots.cluster.hosts[0].capacity == (8, 8192 * 1024)
    assert slots.taken == {"slot1_2@a": ("slot1@a", (3, 1024 * 1024))}
    state = port(ads)[0].snapshot()
    assert [(job.id, job.ours, job.need[0]) for job in state.running] == [
        ("slot slot1_2@a", False, 3)
    ]


@pytest.mark.parametrize(
    "away", [{"draining": True}, {"offline": True}, {"state": "Owner"}, {"start": False}]
)
def test_slots_that_take_no_jobs_are_left_out(away: dict[str, Any]) -> None:
    """Draining, offline, used by their owner, or with START = false."""
    slots = slots_of([pslot("a"), pslot("b", **away)], schedds=[HERE])
    assert [host.name for host in slots.cluster.hosts] == ["slot1@a"]
    with pytest.raises(PortError, match="no slot that accepts jobs"):
        port([pslot("b", **away)])[0].snapshot()


def test_garbage_in_ads_is_no_crash() -> None:
    """Slots without a name, amounts that are text."""
    ads = [pslot("a"), {"slottype": "Static"}, pslot("b") | {"totalslotcpus": "many", "cpus": None}]
    assert [host.name for host in slots_of(ads, schedds=[HERE]).cluster.hosts] == ["slot1@a"]


def test_only_managed_jobs_at_the_gate_wait() -> None:
    """Only managed jobs at our own gate; the rest is not touched."""
    made, _, lines = port(
        [pslot("a")],
        held(1),
        held(2, shadowtimemanaged=False),
        held(3, holdreasoncode=1, holdreason="by its owner"),
        held(4, holdreasoncode=1, holdreason="shadowtime: stopped by the policy"),
        held(5, jobstatus=1),
        held(6, jobuniverse=11, maxhosts=2),
        held(7, requestcpus=9),
    )
    state = made.snapshot()
    assert [job.id for job in state.waiting] == ["1.0", "4.0"]
    made.snapshot()
    assert sorted(lines) == [
        "job 5.0 is skipped: it was released by another user",
        "job 6.0 is skipped: it is a parallel job, which needs static slots",
        "job 7.0 is skipped: it fits on no slots that it accepts",
    ]


def test_memory_is_counted_as_the_startd_will_give_it() -> None:
    """In steps of 128 MB; time limits from wherever they are, else the default."""
    plain = held(1, requestmemory=100)
    bare = held(2, requestmemory=129)
    del bare["maxruntime"]
    first, second = port([pslot("a")], plain, bare)[0].snapshot().waiting
    assert (first.need, first.request) == ((1, 128 * 1024), 60)
    assert (second.need, second.request) == ((1, 256 * 1024), 3600)


def test_a_released_job_holds_its_slot_until_it_runs_or_time_is_up() -> None:
    """Released recently it counts as running. Long ago, or to a slot that is gone, it waits and
    is sent elsewhere if possible."""
    released = held(1, jobstatus=1, shadowtimeplace="slot1@a")
    made, fake, _ = port([pslot("a"), pslot("b")], released | {"enteredcurrentstatus": 990})
    assert [job.place for job in made.snapshot().running] == [(("slot1@a", 1),)]
    fake.job_ads = [released | {"enteredcurrentstatus": 900}]
    assert [job.only for job in made.snapshot().waiting] == [("slot1@b",)]
    fake.job_ads = [released | {"enteredcurrentstatus": 990, "shadowtimeplace": "slot1@gone"}]
    assert [job.id for job in made.snapshot().waiting] == ["1.0"]


def test_running_jobs_lie_where_they_lie() -> None:
    """They count on the parent of their slot; on unknown slots they do not count."""
    runs = held(1, jobstatus=2, remotehost="slot1_3@a", jobcurrentstartdate=900)
    made, fake, _ = port([pslot("a")], runs, held(2, jobstatus=2, remotehost="slot1@gone"))
    (job,) = made.snapshot().running
    assert (job.place, job.start, job.ours) == ((("slot1@a", 1),), 900, True)
    fake.job_ads = []
    fake.past = [{"clusterid": 1, "procid": 0, "jobstatus": 4, "jobcurrentstartdate": 900,
                  "completiondate": 950, "owner": "ann", "maxruntime": 60}]  # fmt: skip
    (end,) = made.snapshot().ended
    assert (end.id, end.start, end.end, end.request) == ("1.0", 900, 950, 60)


def test_a_start_is_three_edits_and_a_release_that_the_schedd_checks() -> None:
    """The job's own Requirements are kept, and only our own holds are released."""
    made, fake, _ = port([pslot("a")], held(1, requirements="Arch == 1"))
    made.snapshot()
    outcome = made.apply([Start(job="1.0", place=(("slot1@a", 1),))])[0]
    assert outcome.done
    edits = {one[2]: one[3] for one in fake.asked if one[0] == "edit"}
    assert edits == {
        "ShadowtimeRequirements": "Arch == 1",
        "ShadowtimePlace": '"slot1@a"',
        "Requirements": pin(["slot1@a"], "Arch == 1"),
    }
    release = fake.asked[-1][1]
    assert "JobStatus == 5" in release
    assert "HoldReasonCode == 15" in release


def test_what_the_schedd_refuses_is_an_outcome() -> None:
    """No permission, gone, held by another: reported, not raised."""
    made, fake, _ = port([pslot("a")], held(1), held(2, holdreasoncode=1), held(3))
    made.snapshot()
    fake.refuses["1.0"] = "the schedd does not let us change it"
    first, second, third = made.apply(
        [
            Start(job="1.0", place=(("slot1@a", 1),)),
            Start(job="2.0", place=(("slot1@a", 1),)),
            Stop(job="3.0"),
        ]
    )
    assert (first.done, first.why) == (False, "the schedd does not let us change it")
    assert (second.done, second.why) == (False, "it is not at the gate")
    assert third.done
    assert fake.asked[0] == ("hold", "shadowtime: stopped by the policy", "3.0")


def test_a_history_that_does_not_answer_costs_nothing_but_lessons() -> None:
    """Estimates learn from fewer jobs; the loop continues."""
    made, fake, _ = port([pslot("a")], held(1, jobstatus=2, remotehost="slot1_1@a"))
    made.snapshot()
    fake.job_ads = []
    assert made.snapshot().ended == ()


def test_concurrency_limits_are_kept_and_status_gives_the_reason() -> None:
    """In the order of submission; what runs counts, here and under other schedds."""
    claim = {"name": "slot1_9@a", "slottype": "Dynamic", "state": "Claimed", "cpus": 1,
             "memory": 128, "globaljobid": "elsewhere#7.0#1",
             "concurrencylimits": "Matlab:2"}  # fmt: skip
    runs = held(1, jobstatus=2, remotehost="slot1_1@a", concurrencylimits="licence")
    made, fake, lines = port(
        [pslot("a"), claim], runs, held(2, concurrencylimits="LICENCE"),
        held(3, concurrencylimits="licence"), held(4, concurrencylimits="licence:3"),
        held(5, concurrencylimits="other, matlab"), held(6),
    )  # fmt: skip
    fake.most = {"licence": 2.0, "matlab": 2.0}
    assert [job.id for job in made.snapshot().waiting] == ["2.0", "6.0"]
    assert {job: str(why) for job, why in made.ineligible.items()} == {
        "3.0": "it waits for the concurrency limit licence (2 at a time)",
        "4.0": "it exceeds the concurrency limit licence by itself (3 of 2)",
        "5.0": "it waits for the concurrency limit matlab (2 at a time)",
    }
    made.snapshot()
    assert fake.asked == [("limits", "licence", "matlab", "other")], "once a minute is enough"
    fake.job_ads = [held(3, concurrencylimits="licence")]
    assert [job.id for job in made.snapshot().waiting] == ["3.0"]
    assert (made.ineligible, lines) == ({}, [])


def test_a_negotiator_that_does_not_tell_its_limits_is_reported_once() -> None:
    """HTCondor itself enforces them then."""
    made, fake, lines = port([pslot("a")], held(1, concurrencylimits="licence"))
    fake.most = None
    for _ in range(2):
        assert [job.id for job in made.snapshot().waiting] == ["1.0"]
    assert lines == ["concurrency limits are left to HTCondor: the negotiator does not answer"]


def test_disk_is_not_given_out_twice() -> None:
    """Neither beside a running job, nor to two starts of one pass."""
    slots = [pslot("a", totalslotdisk=9_000.0, disk=100), pslot("b", totalslotdisk=5_000)]
    runs = held(1, jobstatus=2, remotehost="slot1_1@a", diskprovisioned=2_048, requestdisk=9_999)
    made, _, _ = port(
        slots, runs, held(2, requestdisk=8_000), held(3, requestdisk=4_096),
        held(4, requestdisk=4_096), held(5, requestdisk=10),
    )  # fmt: skip
    state = made.snapshot()
    assert state.cluster.resources == ("procs", "memory", "disk")
    assert [(job.id, job.need[2]) for job in state.waiting] == [
        ("2.0", 8_192), ("3.0", 4_096), ("4.0", 4_096), ("5.0", 1_024)
    ]  # fmt: skip
    assert state.running[0].held == (("slot1@a", (1, 131_072, 2_048)),)
    decided = decide_with_hosts(parse_policy("easy"), state, Memory()).decisions
    assert [(one.job, one.place) for one in decided] == [
        ("3.0", (("slot1@a", 1),)), ("4.0", (("slot1@b", 1),)), ("5.0", (("slot1@a", 1),))
    ]  # fmt: skip
    assert made.ineligible == {}
    assert slots_of(slots, schedds=[HERE]).whole[0]["Disk"] == 9_000, "as if the slot were empty"
    outcomes = made.apply([Start(job=f"{job}.0", place=(("slot1@a", 1),)) for job in (3, 4, 5)])
    assert [outcome.done for outcome in outcomes] == [True, False, True]
    assert outcomes[1].why == "the disk it requests is not free on slot1@a"


def test_disk_that_nobody_can_exhaust_is_not_counted() -> None:
    """A policy that balances resources must not be misled by one that is always plentiful."""
    made, _, _ = port([pslot("a", totalslotdisk=9_000)], *(held(k, requestdisk=9) for k in (1, 2)))
    assert made.snapshot().cluster.resources == ("procs", "memory")
    made, _, lines = port([pslot("a", totalslotdisk=9_000)], held(1, requestdisk=9_999))
    assert made.snapshot().waiting == ()  # more than the slot has when it is empty
    assert lines == ["job 1.0 is skipped: it fits on no slots that it accepts"]


def test_what_other_schedds_hold_of_the_disk_is_not_free() -> None:
    """A claim counts with the disk of its slot; a static slot's disk goes with it."""
    claim = {"name": "slot1_1@a", "slottype": "Dynamic", "state": "Claimed", "cpus": 1,
             "memory": 128, "disk": 6_000, "globaljobid": "there.site#1.0#1"}  # fmt: skip
    made, _, _ = port(
        [pslot("a", totalslotdisk=9_000), claim, pslot("b")], held(1, requestdisk=4_000)
    )
    state = made.snapshot()
    assert [run.held[0][1][2] for run in state.running] == [6_144]
    decided = decide_with_hosts(parse_policy("easy"), state, Memory()).decisions
    assert [(one.job, one.place) for one in decided] == [("1.0", (("slot1@b", 1),))]


def test_status_and_metrics_give_the_reasons_of_the_port() -> None:
    """Under labels that name no job."""
    made, fake, _ = port(
        [pslot("a")], held(1, concurrencylimits="x"), held(2, requestcpus=9), held(3, jobstatus=1)
    )
    fake.most = {"x": 0.0}
    step = Step(state=made.snapshot())
    assert str(ineligible_jobs(made)["2.0"]) == "it fits on no slots that it accepts"
    counts = queue_by_reason(step, ineligible_jobs(made))
    assert counts == {"room": 0, "cannot_run": 1, "fits_nowhere": 1, "past_the_gate": 1}


def test_names_of_slots_in_an_expression() -> None:
    """Dots are dots, and slots that are split off match too."""
    import re

    pattern = re.search(r'"(.*)"', pin(["slot1@n1.site", "slot2@n1.site"], "true"))
    assert pattern is not None
    for name, good in (("slot1@n1.site", True), ("slot1_7@n1.site", True), ("slot2@n1.site", True),
                       ("slot1@n1xsite", False), ("slot11@n1.site", False)):  # fmt: skip
        assert (re.fullmatch(pattern[1], name) is not None) is good
    assert parent("slot1_7@n1.site") == "slot1@n1.site"
