"""The formats of files: logs, machines, policies, schedules and result folders."""

from __future__ import annotations

import gzip
import json
import random
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from fuzzing import (
    Format,
    answer,
    broken_bytes,
    broken_json,
    broken_json_text,
    broken_text,
    lines_of,
    texts,
)
from shadowtime.cluster import Cluster
from shadowtime.cluster.slurm_site import SlurmTexts, site_from_slurm
from shadowtime.cluster.spec import parse_cluster
from shadowtime.cluster.toml import parse_cluster_toml
from shadowtime.metrics import Window
from shadowtime.policy import parse_policy
from shadowtime.report import PolicyRun, ReportInput
from shadowtime.result.read import read_folder
from shadowtime.result.write import as_object, write_folder
from shadowtime.schedule import Schedule
from shadowtime.schedule.csv import parse_attempts, parse_schedule
from shadowtime.slurmtext.hostlist import expand
from shadowtime.slurmtext.sacct_rows import LAYOUTS, RECOMMENDED
from shadowtime.trace import parse_sacct, parse_swf, read
from shadowtime.trace.condor_event_log import parse_event_log
from shadowtime.trace.condor_history import parse_condor_history
from shadowtime.trace.slurm_csv import parse_slurm_csv
from shadowtime.trace.wfformat import read_wfformat
from shadowtime.workload import Workload
from shadowtime.workload.clean import clean
from shadowtime.workload.demand import Demands
from shadowtime.workload.follows import relations_of


def swf_line(rng: random.Random, *, extra: int = 0) -> str:
    fields = [rng.randrange(10**6), rng.randrange(10**7), rng.choice([-1, rng.randrange(10**5)]),
              rng.choice([-1, 0, rng.randrange(10**5)]), rng.choice([-1, rng.randrange(1, 500)]),
              -1, rng.choice([-1, rng.randrange(10**6)]), rng.choice([-1, 8]),
              rng.choice([-1, rng.randrange(10**5)]), -1, rng.choice([0, 1, 2, 3, 4, 5]),
              *(rng.randrange(-1, 50) for _ in range(7 + extra))]  # fmt: skip
    return " ".join(map(str, fields))


def sacct_line(rng: random.Random, columns: tuple[str, ...]) -> str:
    submit = 1_700_000_000 + rng.randrange(10**6)
    start = submit + rng.randrange(10**4)
    run = rng.randrange(10**4)
    number = rng.randrange(10**3)
    value = {
        "jobid": f"{number}{rng.choice(['', '_3', '.batch', '+1', '_[1-5]'])}",
        "jobidraw": str(number), "cluster": "c1", "user": rng.choice(["ann", "bob", ""]),
        "submit": str(submit), "eligible": str(submit), "start": str(start),
        "end": str(start + run), "elapsed": f"{run // 3600}:{run // 60 % 60:02}:{run % 60:02}",
        "elapsedraw": str(run), "timelimit": "1-00:00:00", "timelimitraw": "60",
        "state": rng.choice(
            ["COMPLETED", "FAILED", "CANCELLED by 3", "RUNNING", "PREEMPTED", "NODE_FAIL"]),
        "nnodes": "2", "reqcpus": "4", "ncpus": "4", "reqmem": rng.choice(["4Gn", "100Mc", "8G"]),
        "reqtres": "cpu=4,mem=8G,node=2", "alloctres": "cpu=4,mem=8G,gres/gpu=1,node=2",
        "nodelist": "n[1-2]", "jobname": rng.choice(["a", "a|b", "two words", "x\ny"]),
    }  # fmt: skip
    return "|".join(value.get(name, "0") for name in columns)


def site_csv_line(rng: random.Random) -> str:
    submit = 1_600_000_000 + rng.randrange(9999)
    return f"job{rng.randrange(999)},4000,{rng.randrange(9)},0,600,60,{submit}"


def history_ad(rng: random.Random) -> dict[str, Any]:
    at = 1_700_000_000 + rng.randrange(10**6)
    return {
        "ClusterId": rng.randrange(999), "ProcId": rng.randrange(3), "JobUniverse": 5,
        "JobStatus": rng.choice([3, 4, 4, 2]), "QDate": at, "JobCurrentStartDate": at + 30,
        "CompletionDate": at + 90, "EnteredCurrentStatus": at + 90, "LastJobStatus": 2,
        "ExitCode": 0, "ExitBySignal": False, "RequestCpus": 2, "CpusProvisioned": 2,
        "RequestMemory": "/Expr(ImageSize / 1024)/", "MemoryProvisioned": 1024, "RequestGPUs": 1,
        "MaxHosts": 1, "ResidentSetSize": 1000, "RemoteUserCpu": 55.5, "RemoteSysCpu": 1.0,
        "Owner": "ann", "Cmd": "/bin/sleep", "GlobalJobId": "schedd@host#7.0#1700000000",
        "AllowedJobDuration": 600, "NumJobStarts": 1,
    }  # fmt: skip


def long_ad(ad: dict[str, Any]) -> str:
    lines = [f"{name} = {json.dumps(value)}" for name, value in ad.items()]
    return "\n".join([*lines, f"*** Offset = 0 ClusterId = {ad['ClusterId']}"])


def events(rng: random.Random) -> str:
    job, minute = rng.randrange(99), rng.randrange(10, 50)

    def at(second: int) -> str:
        return f"({job:03}.000.000) 2026-11-15 05:{minute}:{second:02}"

    return f"""\
000 {at(0)} Job submitted from host: <10.0.0.1:9618>
...
001 {at(5)} Job executing on host: <10.0.0.2:9618>
\tSlotName: slot1@n1
\tCpus = 2
\tMemory = 1024
...
006 {at(9)} Image size of job updated: 2048
\t3  -  MemoryUsage of job (MB)
\t2048  -  ResidentSetSize of job (KB)
...
005 {at(50)} Job terminated.
\t(1) Normal termination (return value 0)
\tPartitionable Resources :    Usage  Request Allocated
\t   Cpus                 :                 2         2
\t   Memory (MB)          :        5     1000      1024
..."""


def json_job(rng: random.Random) -> list[dict[str, Any]]:
    """The events of one job, in order."""
    cluster, minute = rng.randrange(99), rng.randrange(10, 50)
    common = {"Cluster": cluster, "Proc": 0, "Subproc": 0, "Cpus": 2, "Memory": 1024}
    last = {"RequestCpus": 2, "TerminatedNormally": True, "ReturnValue": 0}
    changes: list[dict[str, Any]] = [{}, {}, {"ResidentSetSize": 2048}, {}, {}, last]
    return [
        {"EventTypeNumber": kind, "EventTime": f"2026-11-15T05:{minute + at}:07", **common, **more}
        for at, (kind, more) in enumerate(zip((0, 1, 6, 4, 1, 5), changes, strict=True))
    ]


def _all_events(jobs: list[Any]) -> str:
    flat = [event for job in jobs for event in (job if isinstance(job, list) else [job])]
    return json.dumps(flat)


def several(
    make: Callable[[random.Random], Any], joined: Callable[[list[Any]], str], *, count: int = 20
) -> Callable[[random.Random], tuple[str, int]]:
    """Objects, some of them broken, as one text; one time in four the text is broken, too."""

    def input_of(rng: random.Random) -> tuple[str, int]:
        made = [make(rng) for _ in range(count)]
        text = joined([broken_json(one, rng) if rng.random() < 0.5 else one for one in made])
        return (broken_text(text, rng) if rng.randrange(4) == 0 else text), count

    return input_of


def _as_long(ads: list[Any]) -> str:
    return "\n".join(
        long_ad({"ClusterId": 1, **ad}) if isinstance(ad, dict) else str(ad) for ad in ads
    )


def _blocks(rng: random.Random) -> tuple[str, int]:
    found = [events(rng) for _ in range(10)]
    return "\n".join(broken_text(one, rng) if rng.random() < 0.5 else one for one in found), 10


def _log(parse: Callable[..., Any], text: str, **options: Any) -> Any:
    """Read with both choices, then clean what could be read."""
    answer(parse, text, name="fuzz", path="fuzz", bad_lines="refuse", **options)
    raw = parse(text, name="fuzz", path="fuzz", bad_lines="drop", **options)
    for partial in ("drop", "keep"):
        answer(clean, raw, memory=True, gpus=True, partial=partial, others=["licences"])
    return clean(raw)


def _swf(text: str) -> Any:
    return _log(parse_swf, text.encode("utf-8", "replace"))  # type: ignore[arg-type]


EXTRA_HEADER = (
    "; MaxProcs: 500",
    "; MaxNodes: 184 (6, 171, 7)",
    "; UnixStartTime: 843480031",
    "; Queue: 1 express",
    "; ExtraFields: bandwidth licences",
)
SACCT_HEADER = (RECOMMENDED.replace(",", "|"),)

POOL = "pool:8,memory=1TB,gpus=2"
TOML = """\
[cluster]
name = "o2k"
shape = "hosts"
memory_unit = 1000
resources = ["procs", "memory", "licences"]
[[hosts]]
name = "big"
count = 3
procs = 128
memory = "64GB"
licences = 2
features = ["fast"]
[dedicated]
procs = 64
memory = "25GB"
exclusive = true
"""
NODES_TOML = """\
[cluster]
shape = "nodes"
bandwidth = 6000
[[nodes]]
name = "n"
count = 2
cpus = 4
mem = 1000
bandwidth = 6000
"""
CONF = (
    "ClusterName=c\nSchedulerType=sched/backfill\nNodeName=DEFAULT RealMemory=100\n"
    "NodeName=n[1-4] CPUs=4 Gres=gpu:a100:2\nNodeName=m[01-10] Sockets=2 CoresPerSocket=8 \\\n"
    "  ThreadsPerCore=2\nPartitionName=p Nodes=ALL MaxTime=1-00:00:00 Default=YES\n"
)
SHOWN = (
    "NodeName=n1 Arch=x86_64 CPUTot=4 CPUEfctv=4 RealMemory=100 Gres=gpu:2(S:0-1) State=IDLE\n"
    "NodeName=n2 Arch=x86_64 CPUTot=4 RealMemory=100 Weight=3 State=DOWN+DRAIN Partitions=p\n"
    "PartitionName=p Nodes=n[1-2] MaxTime=1-00:00:00 PriorityTier=2\n"
)
POLICIES = (
    "easy(reserve=4, order=lxfw)", "conservative(compress=no)", "easy(order=weighted(wait=0.1))",
    "easy++", "pv-easy", "easy(backfill=none, reserve=all)", "rua(high=1750)",
)  # fmt: skip
POLICY_TOML = """\
base = "easy"
name = "mine"
reserve = 4
[order]
part = "weighted"
wait = 0.1
"""
SCHEDULE = (
    "job_id,submit,start,end,procs,reason,kills,killed,promise,limit,place\n"
    "1,0,3,13,2,head,0,0,3,20,n1:2\n2,0,4,14,2,backfilled,1,0,-1,-1,n1:2 n2:1\n"
    "3,7,13,20,4,3,0,1,,20,\n"
)
ATTEMPTS = "job_id,start,end,preempted\n4,9,20,0\n4,2,5,1\n5,1,2,1\n"


def _folder() -> dict[str, bytes]:
    """A small result folder, by the names of its files."""
    work = Workload.build(
        submit=[0, 1, 2], run=[9, 9, 9], procs=[1, 2, 1], recorded_start=[0, 9, 9],
        demand={"licences": [1, 0, 1]}, machine={"procs": 2},
    )  # fmt: skip
    machine = Cluster.pool(2)
    run = PolicyRun(
        name="easy", schedule=Schedule.recorded(work), parameters={"order": "fcfs"},
        metrics={"wait_mean": 5.0}, copies={"wait_mean": [4.0, 6.0]},
    )  # fmt: skip
    result = ReportInput(
        title="one", workload=work, cluster=machine, runs=(run,), versions={},
        command="shadowtime",
    )  # fmt: skip
    with tempfile.TemporaryDirectory() as name:
        write_folder(as_object(result, Window()), result, name)
        return {
            str(path.relative_to(name)): path.read_bytes()
            for path in Path(name).rglob("*")
            if path.is_file()
        }


def _broken_folder(rng: random.Random) -> tuple[dict[str, bytes], int]:
    files = dict(_FOLDER)
    name = rng.choice(sorted(files))
    if name.endswith(".json"):
        broken = broken_json(json.loads(files[name]), rng)
        files[name] = json.dumps(broken).encode()
        if rng.randrange(4) == 0:
            files[name] = broken_bytes(files[name], rng)
    elif name.endswith(".gz"):
        text = broken_text(gzip.decompress(files[name]).decode(), rng)
        files[name] = gzip.compress(text.encode("utf-8", "replace"), 1, mtime=0)
    else:
        files[name] = broken_text(files[name].decode(), rng).encode("utf-8", "replace")
    return files, 1


def _read_folder(files: dict[str, bytes]) -> Any:
    with tempfile.TemporaryDirectory() as root:
        for name, data in files.items():
            (Path(root) / name).parent.mkdir(parents=True, exist_ok=True)
            (Path(root) / name).write_bytes(data)
        return read_folder(root)


def _any_file(rng: random.Random) -> tuple[bytes, int]:
    kinds = [
        "\n".join(swf_line(rng) for _ in range(20)).encode(),
        "\n".join([*SACCT_HEADER, *(sacct_line(rng, LAYOUTS[0]) for _ in range(20))]).encode(),
        json.dumps([history_ad(rng) for _ in range(5)]).encode(),
        "\n".join(events(rng) for _ in range(5)).encode(),
    ]
    data = broken_bytes(rng.choice(kinds), rng)
    if rng.randrange(2):
        data = broken_bytes(gzip.compress(data, 1, mtime=0), rng)
    return data, 1


def _read_file(data: bytes) -> Any:
    with tempfile.TemporaryDirectory() as root:
        path = Path(root) / "log"
        path.write_bytes(data)
        return read(path, bad_lines="drop")


def _workflow(rng: random.Random) -> tuple[str, int]:
    names = [f"t{k}" for k in range(rng.randrange(1, 6))]
    tasks = [
        {"id": name, "name": name, "parents": rng.sample(names[:k], rng.randint(0, k))}
        for k, name in enumerate(names)
    ]
    ran = [{"id": name, "runtimeInSeconds": rng.random() * 99, "coreCount": 2} for name in names]
    parts = {"specification": {"tasks": tasks}, "execution": {"tasks": ran, "machines": []}}
    return broken_json_text({"schemaVersion": "1.5", "workflow": parts}, rng), 1


def _read_workflow(text: str) -> Any:
    with tempfile.TemporaryDirectory() as root:
        path = Path(root) / "flow.json"
        path.write_text(text, "utf-8", errors="replace")
        raw = read_wfformat([str(path)], name="flow", path=str(path), max_size=1 << 20)
        return relations_of(clean(raw))


def _toml_policy(text: str) -> Any:
    with tempfile.TemporaryDirectory() as root:
        path = Path(root) / "policy.toml"
        path.write_text(text, "utf-8", errors="replace")
        return parse_policy(str(path))


def _no_python(text: str) -> Any:
    """A text that names a Python file runs it: that is not this test's business."""
    return parse_policy(text.replace(".py", ""))


_FOLDER = _folder()

# Those that write files are slow: in a campaign the others take what they leave of the records.
FORMATS = (
    Format("result-folder", _broken_folder, _read_folder),
    Format("files", _any_file, _read_file),
    Format("wfformat", _workflow, _read_workflow, records=500),
    Format("policy-toml", texts(POLICY_TOML), _toml_policy),
    Format("swf", lines_of(swf_line, header=("; MaxProcs: 500",)), _swf),
    Format("swf-extra", lines_of(lambda rng: swf_line(rng, extra=2), header=EXTRA_HEADER), _swf),
    Format(
        "sacct",
        lines_of(lambda rng: sacct_line(rng, LAYOUTS[0]), header=SACCT_HEADER),
        lambda text: _log(parse_sacct, text, cluster="c1"),
    ),
    Format(
        "sacct-without-header",
        lines_of(lambda rng: sacct_line(rng, LAYOUTS[-1])),
        lambda text: _log(parse_sacct, text),
    ),
    Format(
        "slurm-csv",
        lines_of(
            site_csv_line,
            header=("JobName,ReqMem,ReqCPUs,ReqGPUs,ReqDuration,ActualDuration,Submit",),
        ),
        lambda text: _log(parse_slurm_csv, text),
    ),
    Format(
        "condor-history", several(history_ad, json.dumps), lambda t: _log(parse_condor_history, t)
    ),
    Format(
        "condor-history-long",
        several(history_ad, _as_long),
        lambda t: _log(parse_condor_history, t),
    ),
    Format("condor-events", _blocks, lambda text: _log(parse_event_log, text)),
    Format(
        "condor-events-json",
        several(json_job, _all_events, count=6),
        lambda t: _log(parse_event_log, t),
    ),
    Format("hostlist", texts("n[001-004,7],gpu2", "r[1-2]n[1-9]", "a,b,c[1-3]-x"), expand),
    Format("cluster", texts(POOL), parse_cluster),
    Format("cluster-toml", texts(TOML, NODES_TOML), parse_cluster_toml),
    Format("slurm-conf", texts(CONF), lambda t: site_from_slurm(SlurmTexts(slurm_conf=t))),
    Format("scontrol", texts(SHOWN), lambda t: site_from_slurm(SlurmTexts(nodes=t))),
    Format("policy", texts(*POLICIES), _no_python),
    Format("window", texts("7d:1d", "all", "36h:2w"), Window.parse),
    Format("demand", texts("HIGH,seed=2,high=1750", "80/10/10"), Demands.parse),
    Format("schedule", texts(SCHEDULE), parse_schedule),
    Format("attempts", texts(ATTEMPTS), parse_attempts),
)
