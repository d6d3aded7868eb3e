"""setup shows every change, undo restores every byte, and the gate is a valid script."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from conftest import program
from shadowtime.cli import run
from shadowtime.live.slurm.gate import gate_script

CONF = """ClusterName=c1
SchedulerParameters=defer # as it was
NodeName=n[1-2] CPUs=4
PartitionName=batch Nodes=ALL Default=YES
PartitionName=debug Nodes=n1
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "slurm.conf").write_text(CONF)
    return tmp_path


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.mark.parametrize("own", [None, "-- the site's own\nreturn slurm.SUCCESS\n"])
def test_undo_restores_every_byte(
    folder: Path, own: str | None, capsys: pytest.CaptureFixture[str]
) -> None:
    """With and without a script of the site's own."""
    if own is not None:
        (folder / "job_submit.lua").write_text(own)
    before = contents(folder)
    words = ["live", "slurm", "setup", "--slurm-conf-dir", str(folder)]
    assert run([*words, "--print"]) == 0
    shown = capsys.readouterr().out
    assert "+JobSubmitPlugins=lua" in shown
    assert "+SchedulerParameters=defer,batch_sched_delay=0,sched_interval=1 # as it was" in shown
    assert contents(folder) == before
    assert run(words) == 0
    after = contents(folder)
    assert after != before
    assert (after.get("job_submit.site.lua", b"").decode() or None) == own
    assert run(words) == 2, "twice is refused"
    assert run([*words, "--undo"]) == 0
    assert contents(folder) == before


def test_undo_keeps_what_was_edited_later(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """New nodes, changed settings and the site's own script stay; only our lines go."""
    (folder / "job_submit.lua").write_text("-- own\n")
    words = ["live", "slurm", "setup", "--slurm-conf-dir", str(folder)]
    assert run(words) == 0
    conf, own = folder / "slurm.conf", folder / "job_submit.site.lua"
    later = "# bought in May\n" + conf.read_text().replace("CPUs=4", "CPUs=8")
    conf.write_text(later + "PartitionName=new Nodes=n2\n")
    own.write_text("-- own, improved\n")
    assert run([*words, "--undo"]) == 0
    wanted = "# bought in May\n" + CONF.replace("CPUs=4", "CPUs=8") + "PartitionName=new Nodes=n2\n"
    assert contents(folder) == {
        "slurm.conf": wanted.encode(),
        "job_submit.lua": b"-- own, improved\n",
    }


def test_undo_refuses_where_both_changed_a_line(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """With the edit as a diff, and nothing is changed."""
    words = ["live", "slurm", "setup", "--slurm-conf-dir", str(folder)]
    assert run(words) == 0
    conf = folder / "slurm.conf"
    conf.write_text(conf.read_text().replace("sched_interval=1", "sched_interval=1,bf_continue"))
    before = contents(folder)
    capsys.readouterr()
    assert run([*words, "--undo"]) == 2
    error = capsys.readouterr().err
    assert "was edited since it was set up" in error
    assert "+SchedulerParameters=defer,batch_sched_delay=0,sched_interval=1,bf_continue" in error
    assert contents(folder) == before


def test_a_partition_that_is_not_there_is_refused(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The error lists the existing partitions."""
    words = ["live", "slurm", "setup", "--slurm-conf-dir", str(folder), "--partition", "gpu"]
    assert run(words) == 2
    assert "it has batch, debug" in capsys.readouterr().err


def test_the_gate_is_lua_and_does_what_it_says(tmp_path: Path) -> None:
    """Held at submission; a user's hold and release move the begin time; masters may release."""
    lua = program("lua5.1", component="lua")
    site = tmp_path / "site.lua"
    site.write_text("function slurm_job_submit(j) j.seen = true; return 0 end\n")
    script = gate_script(["batch"], default=True, masters=[0], site=str(site))
    test = f"""
slurm = {{SUCCESS = 0, NO_VAL = 4294967294}}
local chunk = loadstring([==[{script}]==])
chunk()
local job = {{priority = slurm.NO_VAL}}
slurm_job_submit(job, {{}}, 7)
print(job.priority, job.begin_time, job.seen)
job = {{priority = 0, partition = "x,batch"}}
slurm_job_submit(job, {{}}, 7)
print(job.priority, job.begin_time)
job = {{priority = 5, partition = "debug"}}
slurm_job_submit(job, {{}}, 7)
print(job.priority)
local rec = {{partition = "batch"}}
job = {{priority = 0}}
slurm_job_modify(job, rec, {{}}, 7)
print(job.priority, job.begin_time)
job = {{priority = 4294967295}}
slurm_job_modify(job, rec, {{}}, 7)
print(job.priority, job.begin_time <= os.time())
job = {{priority = 4294967295}}
slurm_job_modify(job, rec, {{}}, 0)
print(job.priority, job.begin_time)
"""
    done = subprocess.run([lua, "-"], input=test, capture_output=True, text=True, timeout=20)
    assert done.stderr == ""
    assert done.stdout.split() == [
        "0", "nil", "true", "0", "4000000000", "5", "0", "4000000000",
        "4294967294", "true", "4294967295", "nil",
    ]  # fmt: skip
