"""What a site's folder holds, and what studies are described by: all of it may be broken."""

from __future__ import annotations

import atexit
import random
import shutil
import tempfile
from pathlib import Path
from typing import Any

from fuzzing import Format, answer, broken_text, lines_of, texts
from shadowtime.cluster.site_folder import zone_of
from shadowtime.cluster.site_toml import parse_site_toml
from shadowtime.cluster.slurm_site import SlurmTexts, site_from_slurm
from shadowtime.study.site.experiment import read_experiment
from shadowtime.study.sweep.plan_file import read_plan
from shadowtime.trace.job_map import read_map
from shadowtime.trace.job_table_files import parse_job_csv
from shadowtime.trace.pbs import parse_pbs
from shadowtime.workload.clean import clean

FOLDER = Path(tempfile.mkdtemp(prefix="shadowtime-fuzz-site-"))
atexit.register(shutil.rmtree, FOLDER, ignore_errors=True)

NODES = """\
NodeName=n1 CPUTot=16 AvailableFeatures=a,b Gres=gpu:a100:2(S:0-1) RealMemory=32000 \
Sockets=2 CoresPerSocket=4 ThreadsPerCore=2 State=IDLE+DRAIN Weight=5 Partitions=long
NodeName=n2 CPUTot=16 Gres=gpu:2 RealMemory=32000 State=IDLE
NodeName=n3 CPUTot=16 Gres=gpu:2 RealMemory=32000 State=DOWN*
NodeName=n4 CPUTot=8 ActiveFeatures=(null) Gres=(null) RealMemory=8000 State=MIXED Weight=1
"""
PARTITIONS = """\
PartitionName=long AllowAccounts=ALL AllowQos=normal,high Default=YES QoS=N/A \
DefaultTime=00:05:00 MaxNodes=UNLIMITED MaxTime=1-01:00:00 MinNodes=0 Nodes=n[1-3] PriorityTier=1 \
OverSubscribe=FORCE:4 PreemptMode=OFF State=UP DefMemPerCPU=100 MaxMemPerNode=UNLIMITED \
TRESBillingWeights=CPU=1.0,Mem=0.25G,GRES/gpu=2.0
PartitionName=short Nodes=n[2-4] MaxTime=30:00 DenyAccounts=b PriorityTier=10 State=DOWN
"""
CONFIG = """\
Configuration data as of 2026-11-15T13:30:00
AccountingStorageEnforce = associations,limits,qos
BOOT_TIME               = 2026-11-15T12:00:00
ClusterName             = c
Licenses                = matlab:4,abaqus@db:2
PriorityWeightAge       = 1000
PriorityMaxAge          = 7-00:00:00
SchedulerParameters     = bf_interval=30,bf_window=1440,default_queue_depth=100
SelectTypeParameters    = CR_CORE_MEMORY
"""
RESERVATIONS = """\
ReservationName=maint StartTime=2026-11-15T14:00:00 EndTime=2026-11-15T15:00:00 \
Duration=01:00:00 Nodes=n[1-2] NodeCnt=2 CoreCnt=32 Features=(null) PartitionName=(null) \
Flags=MAINT,IGNORE_JOBS TRES=cpu=32 Users=root,-ann Accounts=(null) Licenses=(null) State=INACTIVE
"""
QOS = """\
Name|Priority|Preempt|PreemptMode|Flags|UsageFactor|GrpTRES|GrpJobs|MaxTRES|MaxWall|MaxTRESPU|MaxJobsPU
normal|10||cluster||1.000000|||||cpu=48|5
high|100|normal|requeue|DenyOnLimit|0.500000|cpu=64,mem=1T,gres/gpu=4|9|node=2|1-00:00:00||
"""
ASSOCIATIONS = """\
Cluster|Account|User|Partition|Share|GrpJobs|GrpTRES|MaxJobs|MaxTRES|MaxWall|QOS|Def QOS
c|root|||1||||||normal|
c| a|||10|4|cpu=99||||normal,high|normal
c|  a|ann|long|parent|||2|cpu=8|02:00:00|normal|normal
"""
EVENTS = """\
Cluster|NodeName|Start|End|State|Reason
c|n1|2026-11-15T12:10:00|2026-11-15T12:20:00|DRAIN|disk
c|n2|2026-11-15T12:30:00|Unknown|DOWN*|no answer
"""
SITE_TOML = """\
[site]
name = "two kinds"
enforce = ["limits"]
[[nodes]]
names = "n[1-4]"
cpus = 16
memory = "64GB"
gres = "gpu:2"
features = ["a", "b"]
[[partitions]]
name = "long"
nodes = "n[1-4]"
max_time = "1-00:00:00"
[[qos]]
name = "high"
priority = 5
[qos.limits]
user_jobs = 3
[[reservations]]
name = "r"
nodes = "n1"
begin = 100
end = 200
"""
PLAN = """\
logs = ["log.swf"]
clusters = ["pool:64", "pool:128"]
policies = ["easy(reserve=1..3)", "fcfs"]
loads = [0.8, 1.0]
shake = 3
seeds = [1, 2]
window = "1d:1d"
[cleaning]
bad_lines = "drop"
[[log]]
path = "log.swf"
name = "other"
cluster = "pool:8"
jobs = 100
"""
EXPERIMENT = """\
site = "site"
baseline = "slurm"
phases = 3
seed = 2
where = "partition=long"
[[change]]
set = "bf_interval=60"
"""
MAP = """\
submit = "queued_at"
start = "begun"
end = "over"
procs = "cores"
[units]
request = "min"
"""
(FOLDER / "log.swf").write_text(
    "; MaxProcs: 8\n1 0 -1 9 2 -1 -1 2 9 -1 1 1 1 -1 -1 -1 -1 -1\n"
)  # fmt: skip
FILES = {
    "nodes": NODES, "partitions": PARTITIONS, "config": CONFIG, "reservations": RESERVATIONS,
    "qos": QOS, "associations": ASSOCIATIONS, "events": EVENTS,
}  # fmt: skip


def site_texts(rng: random.Random) -> tuple[dict[str, str], int]:
    """A folder's texts, one of them broken."""
    hit = rng.choice(list(FILES))
    return FILES | {hit: broken_text(FILES[hit], rng)}, 1


def pbs_line(rng: random.Random) -> str:
    begin = 1_700_000_000 + rng.randrange(9999)
    return (
        f"04/01/2024 01:00:00;{rng.choice('EEEEQS')};{rng.randrange(1, 99)}[{rng.randrange(3)}].s;"
        f"user=eva group=hep queue=batch ctime={begin} qtime={begin} start={begin + 9} "
        f"end={begin + 99} exec_host=n1/0*8+n2/3 Resource_List.nodes=2:ppn=4 "
        "Resource_List.mem=4gb Resource_List.walltime=01:00:00 Exit_status=0"
    )


JOB_HEAD = (
    "job_id,submit,run,request,procs,user,nodes,memory,memory_per,gres,features,partition,"
    "dependency,array,exclusive"
)


def job_row(rng: random.Random) -> str:
    run = rng.randrange(1, 99)
    gres = rng.choice(["", "gpu:2/job", "gpu:a100:1/node"])
    after = rng.choice(["", "afterany:3"])
    begin = f"{rng.randrange(1, 10**6)},{rng.randrange(999)},{run},{run + 9},4,ann,2,4096,node"
    return f"{begin},{gres},a&b,p,{after},,{rng.choice(['', 'yes'])}"


def jobs_of(text: str, parse: Any) -> Any:
    """Read, and cleaned as a simulation would."""
    raw = answer(parse, text)
    return None if raw is None else answer(clean, raw)


def written(name: str, text: str) -> Path:
    path = FOLDER / name
    path.write_bytes(text.encode("utf-8", "surrogatepass"))
    return path


FORMATS = [
    Format(
        "site-folder",
        site_texts,
        lambda files: site_from_slurm(SlurmTexts(**files), zone=zone_of(None)),
        records=200,
    ),
    Format("site-toml", texts(SITE_TOML), parse_site_toml),
    Format(
        "pbs",
        lines_of(pbs_line),
        lambda text: jobs_of(text, lambda t: parse_pbs(t, name="x", bad_lines="drop")),
    ),
    Format(
        "job-table",
        lines_of(job_row, header=(JOB_HEAD,), lines=8),
        lambda text: jobs_of(text, lambda t: parse_job_csv(t, name="x")),
    ),
    Format(
        "job-map",
        texts(MAP),
        lambda text: read_map(str(written("t.map.toml", text))),
        records=200,
    ),
    Format(
        "sweep-plan", texts(PLAN), lambda text: read_plan(written("plan.toml", text)), records=200
    ),
    Format(
        "experiment",
        texts(EXPERIMENT, 'site = "folder"\n'),
        lambda text: read_experiment(written("e.toml", text)),
        records=200,
    ),
]
