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


def test_a_lease_that_would_not_be_recognised_is_refused(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """By setup and by the loop: its jobs would be taken for those of users with --begin."""
    before = contents(folder)
    for words in (["setup", "--slurm-conf-dir", str(folder)], ["--policy", "easy", "--once"]):
        assert run(["live", "slurm", *words, "--lease", "2d"]) == 2
        assert "choose a time from 1s to 1d" in capsys.readouterr().err
    assert contents(folder) == before


def test_a_partition_that_is_not_there_is_refused(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The error lists the existing partitions."""
    words = ["live", "slurm", "setup", "--slurm-conf-dir", str(folder), "--partition", "gpu"]
    assert run(words) == 2
    assert "it has batch, debug" in capsys.readouterr().err


LUA = """
slurm = {SUCCESS = 0, NO_VAL = 4294967294}
local chunk = loadstring([==[%SCRIPT%]==])
chunk()
local now = os.time()
local function ahead(job) -- L: a lease, N: now, else the seconds until the begin time
  local t = job.begin_time
  if t == nil then return "nil" end
  if t > now + 890 and t <= now + 970 and t % 60 == 37 then return "L" end
  if t <= os.time() then return "N" end
  return tostring(t - now)
end
local function submit(job)
  slurm_job_submit(job, {}, 7)
  print(job.priority, ahead(job))
end
local function modify(job, record, uid)
  if job.priority == nil then job.priority = slurm.NO_VAL end
  slurm_job_modify(job, record, {}, uid or 7)
  print(ahead(job))
end
local mine = now + 3600
if mine % 60 == 37 then mine = mine + 1 end
local clash = now + 3600 + (37 - now - 3600) % 60
local leased = now + 900 + (37 - now - 900) % 60
"""


def lua(script: str, body: str) -> list[str]:
    """What the gate does with some submissions and changes."""
    interpreter = program("lua5.1", component="lua")
    done = subprocess.run(
        [interpreter, "-"],
        input=LUA.replace("%SCRIPT%", script) + body,
        capture_output=True,
        text=True,
        timeout=20,
    )
    assert done.stderr == ""
    return [" ".join(line.split()) for line in done.stdout.splitlines()]


def test_the_gate_leases_jobs_of_its_partitions(tmp_path: Path) -> None:
    """Holds and priorities stay; a user's begin time stays, but never looks like a lease."""
    site = tmp_path / "site.lua"
    site.write_text("function slurm_job_submit(j) io.write('site '); return 0 end\n")
    script = gate_script(["batch"], default=True, masters=[0], site=str(site))
    body = """
submit({priority = 5})
submit({priority = 0, partition = "x,batch", begin_time = 0})
submit({priority = 5, partition = "debug"})
submit({priority = 5, begin_time = mine})
print("site", 5, mine - now)
submit({priority = 5, begin_time = clash})
print("site", 5, clash + 1 - now)
"""
    found = lua(script, body)
    assert found[:3] == ["site 5 L", "site 0 L", "site 5 nil"]
    assert (found[3], found[5]) == (found[4], found[6])


def test_what_users_change_at_the_gate() -> None:
    """In: a lease; out: none; StartTime=now and a release: a lease again; masters: as they say."""
    script = gate_script(["batch"], default=False, masters=[0], site="/nowhere.lua")
    body = """
modify({begin_time = now}, {partition = "batch", priority = 5, begin_time = leased})
modify({begin_time = mine}, {partition = "batch", priority = 5, begin_time = leased})
modify({partition = "batch"}, {partition = "debug", priority = 5, begin_time = 0})
modify({partition = "debug"}, {partition = "batch", priority = 5, begin_time = leased})
modify({partition = "debug"}, {partition = "batch", priority = 5, begin_time = mine})
modify({priority = 4294967295}, {partition = "batch", priority = 0, begin_time = now - 9})
modify({priority = 4294967295}, {partition = "batch", priority = 0, begin_time = leased})
modify({priority = 0}, {partition = "batch", priority = 5, begin_time = leased})
modify({begin_time = now}, {partition = "batch", priority = 5, begin_time = leased}, 0)
modify({}, {partition = "batch", priority = 5, begin_time = leased})
modify({partition = "batch"}, {partition = "debug", priority = 5})
modify({partition = "debug"}, {partition = "batch", priority = 5})
modify({priority = 4294967295}, {partition = "batch", priority = 0})
"""
    found = lua(script, body)
    unknown = ["L", "nil", "nil"]  # a Slurm that does not tell the begin time of a job
    assert found == ["L", found[1], "L", "N", "nil", "L", "nil", "nil", "N", "nil", *unknown]
    assert int(found[1]) in (3600, 3601)
