"""What the live loop and HPerf read: recordings, state files, Slurm's and HTCondor's answers."""

from __future__ import annotations

import atexit
import json
import random
import shutil
import tempfile
from dataclasses import asdict
from functools import cache
from pathlib import Path
from typing import Any

from fuzzing import (
    Format,
    broken_json,
    broken_json_text,
    broken_text,
    documents,
    lines_of,
    texts,
)
from live.fakes import NODES, FakeClock, FakeSlurm, node_line, queue_line, running_line
from shadowtime.cluster import Cluster, Host
from shadowtime.engine.live_pass import Memory, Note, decide
from shadowtime.hperf import Process, Record, Thread
from shadowtime.hperf.collect.perf import parse_perf
from shadowtime.hperf.epilog import read_pending, record_of
from shadowtime.hperf.files import read_records
from shadowtime.live.condor.conditions import Conditions, disk_of
from shadowtime.live.condor.jobs import Reading, running_of, waiting_of
from shadowtime.live.condor.slots import slots_of
from shadowtime.live.heartbeat import read_beat
from shadowtime.live.port import Ended, RunningJob, Snapshot, WaitingJob
from shadowtime.live.record import Recorder, read_passes
from shadowtime.live.slurm import drive
from shadowtime.live.store import InMemory, LoopState, StateFile
from shadowtime.policy import parse_policy

FOLDER = Path(tempfile.mkdtemp(prefix="shadowtime-fuzz-live-"))
atexit.register(shutil.rmtree, FOLDER, ignore_errors=True)
EASY = parse_policy("easy")


def written(name: str, text: str) -> Path:
    path = FOLDER / name
    path.write_text(text, encoding="utf-8", errors="surrogatepass")
    return path


@cache
def a_pass() -> Any:
    """A pass as the loop records it; made when first asked for, as deciding compiles the pass."""
    cluster = Cluster(
        shape="nodes",
        resources=("procs", "memory"),
        hosts=(Host("n1", (4, 100)), Host("n2", (4, 100))),
    )
    state = Snapshot(
        now=50,
        cluster=cluster,
        waiting=(
            WaitingJob(id="3", submit=20, need=(8, 10), request=60, user="ann", nodes=2),
            WaitingJob(id="4", submit=30, need=(1, 10), request=5, only=("n2",), tag="cg"),
        ),
        running=(
            RunningJob(id="1", submit=0, need=(4, 10), request=90, start=1, place=(("n1", 4),)),
        ),
        ended=(Ended(id="2", start=1, end=9, request=20, user="ann"),),
    )
    memory = Memory(now=40, jobs={"1": Note(since=0), "3": Note(since=20)}, head="3", shadow=91)
    path = FOLDER / "whole.jsonl"
    path.unlink(missing_ok=True)
    made = decide(EASY, state, memory)
    Recorder(path, policy="easy", shape="pool")(state, memory, made, made.decisions)
    return json.loads(path.read_text())


def broken_pass(rng: random.Random) -> tuple[str, int]:
    return broken_json_text(a_pass(), rng), 1


def replayed(text: str) -> int:
    """What `live check` does: read a pass and decide it again."""
    count = 0
    for found in read_passes(written("passes.jsonl", text.replace("\n", " "))):
        found.decide_again(parse_policy(found.policy))
        count += 1
    return count


def remembered(text: str) -> LoopState:
    """A loop that begins with this state and polls once."""
    kept = StateFile(written("state.json", text)).load()
    fake = FakeSlurm(queue_line("7") + running_line("8", "n1", 4), NODES)
    port = drive.make_port(drive.Where(), run=fake, clock=FakeClock())
    loop = drive.make_loop(port, EASY, InMemory(kept), act=True)
    loop.step()
    return loop.kept


STATE = {
    "version": 1,
    "policy": "easy",
    "memory": Memory(now=9, jobs={"7": Note(since=3, due=9)}, head="7", shadow=99).to_json(),
    "intents": {
        "7": {"kind": "start", "place": [["n1", 4]], "at": 5},
        "8": {"kind": "stop", "at": 1},
    },
    "counters": {"started": 3},
}


def squeue_line(rng: random.Random) -> str:
    job = str(rng.randrange(30))
    if rng.random() < 0.3:
        return running_line(job, rng.choice(["n1", "n[1-2]", "n4"]), 4).rstrip("\n")
    if rng.random() < 0.3:
        given = {"StartTime": 900, "EndTime": rng.randrange(900, 999), "NumCPUs": 4}
        return queue_line(job, State="COMPLETED", NodeList="n1", **given).rstrip("\n")
    given = {"NumCPUs": rng.randint(1, 40), "SubmitTime": rng.randrange(999)}
    if rng.random() < 0.2:
        given |= {"EligibleTime": 999, "ReqNodes": "n[1-2]", "Reason": "Resources"}
    return queue_line(rng.choice([job, f"{job}_3"]), **given).rstrip("\n")


def sinfo_line(rng: random.Random) -> str:
    state = rng.choice(["idle", "mixed", "allocated", "drained", "idle+drain"])
    return node_line(f"n{rng.randint(1, 6)}", state, rng.choice(["batch*", "other"])).rstrip("\n")


DETAILS = (
    "JobId=7 JobName=x ReqNodeList=(null) ExcNodeList=n3 NodeList= NumNodes=2-2 X=1 "
    "  Nodes=n1 CPU_IDs=0-3,7 Mem=0 GRES=membw(CNT:9) X= OverSubscribe=OK Comment=bw=9 StdErr=x\n"
    "JobId=8 ArrayJobId=8 ArrayTaskId=1-3 ArrayTaskThrottle=2 JobName=y ReqNodeList=(null) "
    "ExcNodeList=(null) NodeList= NumNodes=1 NumCPUs=4 OverSubscribe=OK Comment= StdErr=x\n"
)
RESERVATIONS = (
    "ReservationName=r StartTime=5 EndTime=9999 Duration=4 Nodes=n[1-2] X=1\n"
    "ReservationName=s StartTime=2000 EndTime=9999 Duration=4 Nodes=n3 X=1\n"
)


class Answers(FakeSlurm):
    """A Slurm with given answers, also about jobs and reservations."""

    details, windows = "", ""

    def __call__(self, argv: Any, *, text: str = "") -> Any:
        from shadowtime.live.runner import Done

        if "reservation" in argv:
            return Done(0, self.windows, "")
        if "--details" in argv:
            return Done(0, self.details, "")
        return super().__call__(argv, text=text)


def looked(queue: str = "", nodes: str = NODES, details: str = "", windows: str = "") -> Any:
    """One step of an acting loop on given output of Slurm."""
    fake = Answers(queue or queue_line("7") + queue_line("8_1"), nodes)
    fake.details, fake.windows = details, windows
    port = drive.make_port(drive.Where(), run=fake, clock=FakeClock())
    loop = drive.make_loop(port, EASY, InMemory(), act=True)
    return loop.step()


RECORD = Record(
    tag="cg",
    bandwidth=9.5,
    elapsed=3.0,
    width=2,
    key="c/1",
    finished=5,
    processes=(
        Process(rank=0, node="n1", elapsed=3.0, threads=(Thread(counters={"LLC_TCM": 9}),)),
    ),
)
PERF = "1000,,LLC-load-misses,1,100.00,,\n2000000000,ns,duration_time,1,100.00,,\n"


def csv_row(rng: random.Random) -> str:
    return f"cg,{rng.randrange(9999)},{rng.random()},4,c/{rng.randrange(99)},{rng.randrange(99)},x"


def epilog_environment(rng: random.Random) -> tuple[dict[str, str], int]:
    comment = broken_text("tag=cg.D.16,bw=3000", rng).replace("\0", "")
    return {"SLURM_JOB_ID": str(rng.randrange(9)), "SLURM_JOB_COMMENT": comment}, 1


SLOT = {
    "name": "slot1@h", "slottype": "Partitionable", "state": "Unclaimed", "cpus": 8,
    "memory": 8192, "machineresources": "Cpus Memory Disk GPUs", "totalslotcpus": 8,
    "totalslotmemory": 8192, "totalslotgpus": 2, "gpus": 2, "globaljobid": "s#1.0#5",
    "disk": 900.5, "totalslotdisk": 1000, "concurrencylimits": "a:2,b",
}  # fmt: skip
AD = {
    "clusterid": 1, "procid": 0, "jobstatus": 5, "jobuniverse": 5, "qdate": 9, "owner": "ann",
    "requestcpus": 2, "requestmemory": 100, "maxhosts": 1, "remotehost": "slot1_1@h",
    "jobcurrentstartdate": 12, "enteredcurrentstatus": 12, "allowedexecuteduration": 60,
    "requestgpus": 1, "requestdisk": 10, "diskprovisioned": 1024, "concurrencylimits": "a,b.c:2",
}  # fmt: skip


def condor_ads(rng: random.Random) -> tuple[Any, int]:
    """What users and machines advertise: any attribute may hold anything."""
    given = broken_json([[SLOT, SLOT | {"name": "slot1@i", "slottype": "Static"}], AD], rng)
    return given, 1


def condor_read(given: Any) -> Any:
    if not isinstance(given, list) or len(given) != 2 or not isinstance(given[0], list):
        return given  # the bindings give lists of ads
    slots, ad = given
    if not isinstance(ad, dict) or not {"clusterid", "procid"} <= ad.keys():
        return given
    found = slots_of([one for one in slots if isinstance(one, dict)], schedds=["s"])
    if found.disk_binds([disk_of(ad)]):
        found = found.with_disk(dict.fromkeys(found.taken, disk_of(ad)))
    reading = Reading()
    jobs = [waiting_of(ad, found, reading)]
    running = running_of(ad, found, reading, now=50)
    free = Conditions(limits={"a": 3.0}, disk=found.disk)
    free.take(ad, list(found.disk))
    for one in slots:
        if isinstance(one, dict):
            free.take_claim(one, "slot1@h")
    why = free.keep(ad)
    assert why is None or "{" not in str(why)  # a sentence with all its details
    assert isinstance(free.give_disk(disk_of(ad), ["slot1@h"]), str)
    if ad.get("jobstatus") == 5:
        decide(EASY, Snapshot(now=50, cluster=found.cluster, waiting=tuple(jobs)), Memory())
    return jobs, running


FORMATS = [
    Format("live: recording", broken_pass, replayed),
    Format("live: state file", documents(STATE), remembered),
    Format(
        "live: heartbeat",
        documents({"looked": 5.5, "waiting_for": "jobs", "pid": 7}),
        lambda text: read_beat(written("beat", text)),
    ),
    Format("live: squeue", lines_of(squeue_line, lines=3), lambda text: looked(f"{text}\n")),
    Format("live: sinfo", lines_of(sinfo_line, lines=3), lambda text: looked(nodes=f"{text}\n")),
    Format("live: scontrol show job", texts(DETAILS), lambda text: looked(details=text)),
    Format(
        "live: scontrol show reservation",
        texts(RESERVATIONS),
        lambda text: looked(windows=text),
    ),
    Format("live: condor ads", condor_ads, condor_read),
    Format(
        "hperf: records.jsonl",
        documents(asdict(RECORD)),
        lambda text: read_records(written("r.jsonl", text)),
    ),
    Format(
        "hperf: records.csv",
        lines_of(csv_row, header=("tag,bandwidth,elapsed,width,key,finished,source",), lines=4),
        lambda text: read_records(written("r.csv", text)),
    ),
    Format("hperf: perf stat", texts(PERF), lambda text: parse_perf(text).record("cg")),
    Format(
        "hperf: pending.jsonl",
        documents(asdict(RECORD)),
        lambda text: read_pending(written("pending.jsonl", text)),
    ),
    Format("hperf: epilog", epilog_environment, lambda env: record_of(env, FOLDER, now=9) or env),
]
