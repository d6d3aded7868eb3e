"""Site folders: every recording of a real Slurm reads, and what is read is what was submitted."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from conftest import recording_path
from shadowtime.cluster.site import Site
from shadowtime.errors import ClusterError, InputError, ShadowtimeError, UsageError
from shadowtime.slurm.recording.strip import strip
from shadowtime.trace.site_folder import is_site_folder, read_site, read_site_alone
from shadowtime.workload import Workload

JOBS = {
    "A": 150, "B1": 150, "B2": 150, "B2twin": 150, "C": 220, "D1": 150, "D2": 150, "E1": 150,
    "E2": 150, "F": 150, "H": 280, "I": 216, "I2": 217, "J": 220, "K": 240, "M1": 600, "M2": 600,
    "N": 180, "O": 237, "P1": 240, "P3": 220, "T": 240, "G": 150, "L1": 150, "L2": 148,
}  # fmt: skip
"""Jobs read; jobs without a run are dropped (I, I2, O, L2), cancelled blocks are split (J), runs
of one job are joined (G, L1, L2)."""
EVERY = list(JOBS)


def scontrol_jobs(folder: Path) -> dict[int, dict[str, str]]:
    """What scontrol showed of each job, by its number."""
    found = {}
    for line in (folder / "jobs_scontrol.txt").read_text().splitlines():
        pairs = dict(word.split("=", 1) for word in line.split() if "=" in word)
        if "JobId" in pairs:
            found[int(pairs["JobId"])] = pairs
    return found


def real_rows(
    workload: Workload, shown: dict[int, dict[str, str]]
) -> list[tuple[int, dict[str, str]]]:
    """Rows of jobs that ran, with what scontrol showed of them."""
    ids = workload.extra.get("log_id", workload.job_id)
    return [
        (row, shown[int(job)])
        for row, job in enumerate(ids)
        if int(job) in shown and shown[int(job)]["JobState"] != "CANCELLED"
    ]


@pytest.mark.parametrize("name", EVERY)
def test_every_recording_reads(name: str) -> None:
    folder = recording_path(name)
    site, workload = read_site(folder)
    assert isinstance(site, Site)
    nodes = (folder / "nodes.txt").read_text().splitlines()
    assert [node.name for node in site.nodes] == [
        re.findall(r"NodeName=(\S+)", line)[0] for line in nodes
    ]
    partitions = re.findall(r"PartitionName=(\S+)", (folder / "partitions.txt").read_text())
    assert [one.name for one in site.partitions] == partitions
    for kind, values in (("qos.txt", site.qos), ("associations.txt", site.associations)):
        assert len(values) == len((folder / kind).read_text().splitlines()) - 1
    assert site.ignored == {}
    assert len(workload) == JOBS[name]
    assert workload.epoch is not None and workload.requests is not None
    for column in ("user", "partition", "queue"):
        assert workload.name_of(column, int(getattr(workload, column)[0])) != ""


@pytest.mark.parametrize("name", EVERY)
def test_slurm_conf_describes_the_same_site(name: str, tmp_path: Path) -> None:
    folder = recording_path(name)
    for file in ("slurm.conf", "gres.conf", "topology.conf"):
        if (folder / file).exists():
            shutil.copy(folder / file, tmp_path)
    shown, conf = read_site_alone(folder), read_site_alone(tmp_path)
    assert conf.nodes == shown.nodes
    assert conf.resources == shown.resources
    assert conf.enforce == shown.enforce
    assert conf.switches == shown.switches
    for one, other in zip(conf.partitions, shown.partitions, strict=True):
        assert (one.name, one.nodes, one.max_time, one.tier, one.billing) == (
            other.name, other.nodes, other.max_time, other.tier, other.billing,
        )  # fmt: skip


@pytest.mark.parametrize("name", EVERY)
def test_whole_nodes_are_inferred(name: str) -> None:
    """From accounting alone: a job that had its nodes to itself requested whole nodes."""
    folder = recording_path(name)
    _, workload = read_site(folder, submits=False)
    asked = workload.requests
    assert asked is not None
    rows = real_rows(workload, scontrol_jobs(folder))
    wrong = [row for row, job in rows if asked[row].exclusive != (job["OverSubscribe"] == "NO")]
    # --cpus-per-gpu fills a node of P3 once; accounting does not keep that option.
    assert len(wrong) == (1 if name == "P3" else 0)
    assert len(rows) > 100


@pytest.mark.parametrize(
    ("version", "name"),
    [
        *(("22.05", name) for name in ("H", "I2", "J", "K", "N", "O", "P1", "P3", "T")),
        *(("24.11", name) for name in ("H", "K", "L2", "N", "O", "P3", "Q")),
        *(("26.05", name) for name in ("arrays", "feat", "mem", "params", "sock", "threads")),
    ],
)
def test_submit_lines_say_all_that_submissions_do(version: str, name: str, tmp_path: Path) -> None:
    """What a site can export has the requests of the recording, job by job."""
    folder = recording_path(name, version)
    known = read_site(folder)[1].requests
    found = read_site(strip(folder, tmp_path / name))[1].requests
    assert known is not None and found is not None
    assert [found[job] for job in range(len(found))] == [known[job] for job in range(len(known))]
    for column in found.COLUMNS:
        assert getattr(found, column).tolist() == getattr(known, column).tolist(), column


@pytest.mark.parametrize("name", [n for n in EVERY if n in "H I I2 J K L1 L2 M1 M2 N O P1 P3 T"])
def test_options_of_submissions(name: str) -> None:
    """submits.psv has the options as Slurm parsed them."""
    folder = recording_path(name)
    _, workload = read_site(folder)
    asked = workload.requests
    assert asked is not None
    for row, job in real_rows(workload, scontrol_jobs(folder)):
        one = asked[row]
        assert one.features == job["Features"].replace("(null)", "")
        assert ",".join(one.wanted) == job["ReqNodeList"].replace("(null)", "") or one.wanted
        assert one.exclusive == (job["OverSubscribe"] == "NO")
        assert one.cpus_per_task == int(job["CPUs/Task"].replace("N/A", "1"))
        assert int(job["NumNodes"].partition("-")[0]) >= one.nodes
        per_node = job["NtasksPerN:B:S:C"].partition(":")[0]
        assert (one.tasks_per_node or 0) == int(per_node)
        if one.memory is not None:
            key = "MinMemoryCPU" if one.memory_per == "cpu" else "MinMemoryNode"
            shown = job[key]
            factor = {"M": 1, "G": 1024}.get(shown[-1], 1)
            shown = shown.rstrip("MG")
            assert one.memory == int(float(shown) * factor) * 1024
        elif name in ("H", "O"):
            assert job["MinMemoryCPU"] == {"H": "1000M", "O": "500M"}[name]
        for gres in one.gres:
            where = {"node": "TresPerNode", "job": "TresPerJob", "task": "TresPerTask"}[gres.per]
            assert job[where] in (f"gres:gpu:{gres.count}", f"gres:gpu={gres.count}")


def test_memory_and_gpus_of_mixed_nodes() -> None:
    site, workload = read_site(recording_path("H"))
    assert site.resources == ("cpus", "memory")
    assert {node.amounts for node in site.nodes} == {(16, 32768000), (32, 131072000)}
    assert {node.weight for node in site.nodes} == {10, 50}
    assert workload.requests is not None and workload.requests.inferred["memory_per_cpu"] == 54
    gpus, _ = read_site(recording_path("P3"))
    assert gpus.resources == ("cpus", "gpu") and gpus.total["gpu"] == 16
    assert gpus.nodes[-1].near == (2, 2) and gpus.nodes[0].near == ()
    threads, _ = read_site(recording_path("O"))
    assert {node.threads_per_core for node in threads.nodes} == {2}


def test_outage_and_reservation() -> None:
    """The record of the reservation has no nodes: n5 and n6 were the idle ones."""
    site, workload = read_site(recording_path("F"))
    (drain,) = site.outages
    assert (drain.node, drain.drain, drain.end - drain.begin) == ("n3", True, 291)
    (maintenance,) = site.reservations
    assert maintenance.nodes == ("n5", "n6") and maintenance.end - maintenance.begin == 240
    assert workload.requests is not None
    assert workload.requests.inferred["reservation_nodes"] == 1


def test_the_tree_of_accounts() -> None:
    site, _ = read_site(recording_path("N"))
    above = {one.account: one.parent for one in site.associations if not one.user}
    assert above == {"root": "", "eng": "root", "mech": "eng", "sci": "root", "chem": "sci",
                     "phys": "sci"}  # fmt: skip
    limits = {one.account: one.limits for one in site.associations if not one.user}
    assert limits["mech"].group_resources == {"cpus": 80}
    assert limits["chem"].group_run_minutes == {"cpus": 400}
    qos = {one.name: one for one in site.qos}
    assert qos["f2hi"].limits.user_resources == {"cpus": 48}
    assert qos["f2cap"].limits.group_minutes == {"cpus": 220}
    assert qos["f2high"].preempts == ("f2low", "f2scav") and qos["f2scav"].preempt == "cancel"
    assert site.partitions[1].billing == {"cpus": 2.0}
    assert {"limits", "qos", "associations"} <= site.enforce


def test_arrays_begin_times_dependencies_and_cancellations() -> None:
    folder = recording_path("J")
    _, workload = read_site(folder, release="asked")
    asked = workload.requests
    assert asked is not None
    assert (asked.array >= 0).sum() > 60 and set(asked.throttle.tolist()) == {0, 1, 2, 3}
    queued = asked.cancel_at >= 0
    assert queued.sum() == 6 + 6 + 9 + 7  # six jobs, and the tasks of three blocks
    assert (asked.cancel_at[queued] > workload.submit[queued]).all()
    assert {one.kind for one in asked.dependencies} == {"afterok", "afterany", "singleton"}
    later = (asked.begin >= 0) & ~queued
    eligible = workload.extra["eligible"]
    held = eligible[later] - asked.begin[later]
    assert sorted(held.tolist()) == [0] * 7 + [56, 86]  # two were held besides
    _, as_recorded = read_site(folder)
    assert as_recorded.requests is not None and as_recorded.requests.dependencies == ()
    assert as_recorded.requests.inferred["dependencies_as_eligible"] == 44


def small_folder(folder: Path, **files: str) -> Path:
    texts = {
        "nodes.txt": "NodeName=n[1] CPUTot=4 RealMemory=10 State=IDLE\n".replace("[1]", "1")
        + "NodeName=n2 CPUTot=8 RealMemory=20 State=DOWN* Gres=gpu:2 Odd=3\n",
        "jobs.psv": "JobIDRaw|Submit|Start|End|State|NCPUS|ReqCPUS|NodeList\n"
        "1|100|110|120|COMPLETED|4|1|n1\n",
    } | {name.replace("__", "."): text for name, text in files.items()}
    for name, text in texts.items():
        if text:
            (folder / name).write_text(text)
    return folder


def test_a_folder_of_two_files(tmp_path: Path) -> None:
    site, workload = read_site(small_folder(tmp_path))
    assert site.resources == ("cpus", "gpu") and site.unusable == ("n2",)
    assert set(site.ignored) == {"Odd"} and len(workload) == 1
    assert workload.requests is not None and workload.requests[0].exclusive
    assert any("1 nodes were down" in note for note in site.notes)
    assert is_site_folder(tmp_path) and not is_site_folder(tmp_path / "nodes.txt")
    dropped = read_site_alone(tmp_path, unusable="drop")
    assert [node.name for node in dropped.nodes] == ["n1"]


@pytest.mark.parametrize(
    ("files", "words"),
    [
        ({"nodes__txt": ""}, "neither nodes.txt nor slurm.conf"),
        ({"jobs__psv": ""}, "no job log in the folder"),
        (
            {"partitions__txt": "PartitionName=p Nodes=n9"},
            "partitions.txt, line 1: it names node n9",
        ),
        (
            {"partitions__txt": "PartitionName=p Nodes=n1 MaxTime=soon"},
            "'soon' is not a time limit",
        ),
        ({"qos__txt": "Name|MaxJobsPU\nx|many"}, "qos.txt, line 2: maxjobspu must be a whole"),
        ({"qos__txt": "no table"}, "qos.txt, line 1: there is no header"),
        ({"associations__txt": "Account|User\n|eva"}, "line 2: the association has no account"),
        ({"events_sacctmgr__txt": "NodeName|TimeStart|TimeEnd|State\nn1|soon||DOWN"}, "'soon' is"),
        ({"submits__psv": "a|b\n"}, "submits.psv, line 1: the header must have"),
        ({"topology__conf": "SwitchName=s Nodes=n9"}, "names node n9"),
        ({"slurm__conf": "Include more.conf"}, "includes more.conf: put that file beside it"),
        ({"reservations__txt": "ReservationName=r Nodes=n1"}, "no StartTime"),
    ],
)
def test_bad_input_is_one_sentence(tmp_path: Path, files: dict[str, str], words: str) -> None:
    folder = small_folder(tmp_path, **files)
    with pytest.raises(ShadowtimeError) as caught:
        read_site(folder)
    assert words in str(caught.value) and "\n" not in str(caught.value)


def test_wrong_arguments(tmp_path: Path) -> None:
    folder = small_folder(tmp_path)
    with pytest.raises(UsageError, match="release must be"):
        read_site(folder, release="never")  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="not a time zone"):
        read_site(folder, tz="Mars")
    with pytest.raises(ClusterError, match="no such folder"):
        read_site(folder / "none")
    (folder / "jobs.psv").write_text("")
    with pytest.raises(InputError):
        read_site(folder)
