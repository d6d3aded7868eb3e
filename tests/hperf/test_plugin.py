"""The submit plug-in as slurmctld runs it (Lua 5.1), and the epilog."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from conftest import program
from shadowtime.cli import run
from shadowtime.errors import InputError, StoreError, UsageError
from shadowtime.hperf import Record, open_store
from shadowtime.hperf.epilog import PENDING, after_job, publish, read_pending, record_of
from shadowtime.hperf.install import Installation
from shadowtime.hperf.store import Average

Said = pytest.CaptureFixture[str]
DRIVER = """
slurm = {SUCCESS = 0, log_info = function() end, log_error = function() end}
local hperf = dofile(arg[1])
local job = {}
for i = 2, #arg do
  local key, value = arg[i]:match("^([^=]+)=(.*)$")
  job[key] = tonumber(value) or value
end
local answer = hperf.submit(job)
print(answer)
for _, key in ipairs({"shared", "tres_per_task", "tres_per_node"}) do
  print(key .. "=" .. tostring(job[key]))
end
"""


@pytest.fixture
def place(tmp_path: Path) -> Installation:
    made = Installation(
        folder=tmp_path, store=str(tmp_path / "s.sqlite"), capacity=34_000, version=(22, 5, 8)
    )
    made.write()
    (tmp_path / "driver.lua").write_text(DRIVER)
    return made


def submitted(place: Installation, **job: object) -> dict[str, str]:
    """The job as the plug-in changes it."""
    lua = program("lua5.1", component="lua")
    driver, code = place.folder / "driver.lua", place.folder / "hperf.lua"
    arguments = [f"{key}={value}" for key, value in job.items()]
    done = subprocess.run(
        [lua, str(driver), str(code), *arguments], capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    answer, *rest = done.stdout.splitlines()
    return {"answer": answer} | dict(line.split("=", 1) for line in rest)


def test_a_known_tag_shares(place: Installation) -> None:
    """Each task counts the average, rounded up; without a number of tasks, each node does."""
    publish({"cg.D.16": Average(2999.2, 3), "other": Average(5.0, 1)}, place.table)
    made = submitted(place, comment="night run tag=cg.D.16,bw=7", num_tasks=16)
    assert (made["tres_per_task"], made["shared"]) == ("gres:membw:3000", "nil")
    made = submitted(place, comment="tag=cg.D.16")
    assert (made["tres_per_task"], made["tres_per_node"]) == ("nil", "gres:membw:3000")


@pytest.mark.parametrize("version", [(24, 5, 0), (26, 5, 5), None])
def test_newer_slurms_take_another_form(
    place: Installation, version: tuple[int, int, int] | None
) -> None:
    """Since 24.05 gres: is rejected at submission; cpus of a task are no request of ours."""
    replace(place, version=version).write()
    publish({"cg": Average(3000.0, 1)}, place.table)
    made = submitted(place, comment="tag=cg", num_tasks=4)
    assert made["tres_per_task"] == "gres/membw:3000"
    made = submitted(place, comment="tag=cg", num_tasks=4, tres_per_task="cpu=3")
    assert made["tres_per_task"] == "cpu=3,gres/membw:3000"
    made = submitted(place, comment="tag=cg", num_tasks=4, tres_per_task="cpu=3,gres/gpu=1")
    assert made["tres_per_task"] == "cpu=3,gres/gpu=1"


def test_every_tag_of_a_table_is_found(place: Installation) -> None:
    """Bisection finds every tag of the table and no other."""
    tags = {f"t{i * 7919 % 1000:03d}": Average(float(i + 1), 1) for i in range(60)}
    tags |= {"a'b": Average(1.0, 1), "Z": Average(2.0, 1), "größe": Average(3.0, 1)}
    publish(tags, place.table)
    asked = [*tags, "nobody", "0", "zzz", "t"]
    loop = "local h = dofile(arg[1]) for i = 2, #arg do print(tostring(h.look_up(arg[i]))) end"
    lua = program("lua5.1", component="lua")
    script = place.folder / "all.lua"
    script.write_text(loop)
    done = subprocess.run(
        [lua, str(script), str(place.folder / "hperf.lua"), *asked],
        capture_output=True,
        text=True,
        timeout=60,
    )
    wanted = [str(int(a.mean)) for a in tags.values()] + ["nil"] * 4
    assert done.stdout.split() == wanted, done.stderr


@pytest.mark.parametrize(
    "job",
    [
        {"comment": "tag=unknown"},
        {"comment": "tag=it's'\"; DROP"},
        {"comment": "tag=" + "x" * 10_000},
        {"comment": "tag=huge", "num_tasks": 1},
        {"comment": "tag=big", "num_tasks": 12, "max_nodes": 1},
    ],
)
def test_what_cannot_be_counted_runs_alone(place: Installation, job: dict[str, object]) -> None:
    """Unknown, unreadable or too large for Slurm: the job gets exclusive nodes, never an error."""
    publish({"huge": Average(40_000.0, 1), "big": Average(3000.0, 1)}, place.table)
    made = submitted(place, **job)
    assert made["shared"] == "0"
    assert made["tres_per_task"] == made["tres_per_node"] == "nil"


@pytest.mark.parametrize("content", [None, b"", b"half a li", b"a\tnot a number\n", b"\xff\xfe\0"])
def test_a_broken_table_delays_no_job(place: Installation, content: bytes | None) -> None:
    """Missing, empty, half written or garbage: the job is accepted and runs alone."""
    if content is None:
        place.table.unlink()
    else:
        place.table.write_bytes(content)
    assert submitted(place, comment="tag=a", num_tasks=1)["shared"] == "0"


def test_jobs_without_a_tag_are_not_changed(place: Installation) -> None:
    """No tag, or a resource that the user requested: nothing is changed."""
    assert submitted(place, comment="hello")["answer"] == "no tag"
    own = submitted(place, comment="tag=x", tres_per_node="gres:gpu:1")
    assert (own["shared"], own["tres_per_node"]) == ("nil", "gres:gpu:1")


def test_the_whole_plugin_loads(place: Installation) -> None:
    """job_submit.lua with slurmctld's table; also where hperf.lua is missing."""
    lua = program("lua5.1", component="lua")
    script = place.folder / "load.lua"
    script.write_text(
        "slurm = {SUCCESS = 0, log_info = print, log_error = print}\n"
        "dofile(arg[1])\nlocal job = {comment = 'tag=a'}\n"
        "print(slurm_job_submit(job, {}, 0), slurm_job_modify(job, {}, {}, 0), job.shared)\n"
    )
    command = [lua, str(script), str(place.folder / "job_submit.lua")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.stdout.splitlines()[-1].split() == ["0", "0", "0"], done.stderr
    (place.folder / "hperf.lua").unlink()
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.stdout.splitlines()[-1].split() == ["0", "0", "nil"], done.stderr


def test_a_plugin_of_the_site_is_kept(tmp_path: Path) -> None:
    """An existing job_submit.lua is an error with what to do, and nothing is written."""
    mine = tmp_path / "job_submit.lua"
    mine.write_text("-- rules of this site\n")
    plan = Installation(folder=tmp_path, store="s", capacity=1)
    with pytest.raises(UsageError, match="not ours"):
        plan.write()
    assert [p.name for p in tmp_path.iterdir()] == ["job_submit.lua"]
    with pytest.raises(UsageError, match="no quotes"):
        Installation(folder=tmp_path, store="it's", capacity=1)


# ---------------------------------------------------------------------------- the epilog
JOB = {"SLURM_JOB_ID": "42", "SLURM_CLUSTER_NAME": "c1"}
PERF = "46875000,,LLC-load-misses,1,100.00,,\n1000000000,ns,duration_time,1,100.00,,\n"


def test_what_was_measured_is_recorded_once(place: Installation) -> None:
    """A measured value precedes a declared one; the table is updated; once per job."""
    store = open_store(place.store)
    (place.spool / "42.perf").write_text(PERF)
    job = JOB | {"SLURM_JOB_COMMENT": "tag=cg,bw=7"}

    def end() -> str:
        return after_job(job, lambda: store, spool=place.spool, table=place.table, now=9)

    assert end() == "1 recorded, 0 known already"
    assert end() == "0 recorded, 1 known already"
    assert store.average("cg") == (3000.0, 1)
    assert place.table.read_text() == "cg\t3000\n"


def test_nothing_is_invented(place: Installation) -> None:
    """No tag or no measurement: no record. An invalid measurement is reported."""
    store = open_store(place.store)
    for comment in ("", "hello", "tag=cg"):
        job = JOB | {"SLURM_JOB_COMMENT": comment}
        message = after_job(job, lambda: store, spool=place.spool, table=None, now=9)
        assert "nothing recorded" in message
    (place.spool / "42.json").write_text('{"bandwidth": 3')
    with pytest.raises(InputError, match="half written"):
        after_job(
            JOB | {"SLURM_JOB_COMMENT": "tag=cg"},
            lambda: store,
            spool=place.spool,
            table=None,
            now=9,
        )
    assert store.averages() == {}


def test_a_store_that_is_down_loses_nothing(place: Installation) -> None:
    """Records wait in the spool and are stored with the next job's."""

    def down() -> None:
        raise StoreError("the store x does not answer")

    for number in (1, 2):
        job = {"SLURM_JOB_ID": str(number), "SLURM_JOB_COMMENT": "tag=cg,bw=100"}
        message = after_job(job, down, spool=place.spool, table=None, now=9)  # type: ignore[arg-type]
        assert "does not answer" in message
    assert len((place.spool / PENDING).read_text().splitlines()) == 2
    store = open_store(place.store)
    job = {"SLURM_JOB_ID": "3", "SLURM_JOB_COMMENT": "tag=cg,bw=400"}
    assert after_job(job, lambda: store, spool=place.spool, table=None, now=9).startswith("3 rec")
    assert store.average("cg") == (200.0, 3)
    assert not (place.spool / PENDING).exists()


def test_the_hook_itself_always_exits_with_0(place: Installation) -> None:
    """The shell script, run as Slurm would: records; with a broken store still 0."""
    environment = {"SLURM_JOB_ID": "7", "SLURM_JOB_COMMENT": "tag=cg,bw=100"}
    environment["PYTHONPATH"] = ":".join(p for p in sys.path if p)
    script = str(place.folder / "hperf-epilog.sh")
    done = subprocess.run([script], env=environment, timeout=60)
    assert done.returncode == 0
    log = (place.folder / "hperf.log").read_text()
    assert "job 7: 1 recorded" in log, log
    Path(place.store).write_bytes(b"not a database" * 100)
    environment["SLURM_JOB_ID"] = "8"
    assert subprocess.run([script], env=environment, timeout=60).returncode == 0
    waiting = [json.loads(line) for line in (place.spool / PENDING).read_text().splitlines()]
    assert [record["key"] for record in waiting] == ["slurm/8"]


def test_published_tables_are_sorted_by_bytes(tmp_path: Path) -> None:
    """The order in which the plug-in bisects them, whatever the locale."""
    names = ["b", "a", "B", "é", "a b", "a.b"]
    store = open_store(str(tmp_path / "s"))
    store.add([Record(tag=name, bandwidth=1.0) for name in names])
    publish(store.averages(), tmp_path / "t")
    lines = (tmp_path / "t").read_bytes().splitlines()
    assert lines == sorted(lines, key=lambda line: line.split(b"\t")[0])
    assert len(lines) == len(names)


@pytest.mark.parametrize("mode", [0o600, 0o644])
def test_a_table_that_is_a_fifo_blocks_no_job(place: Installation, mode: int) -> None:
    """Opening it would wait for a writer while slurmctld holds its locks."""
    place.table.unlink()
    os.mkfifo(place.table, mode)
    assert submitted(place, comment="tag=cg", num_tasks=4)["shared"] == "0"


def test_a_table_that_is_a_device_blocks_no_job(place: Installation) -> None:
    """Neither an endless device nor one that never answers."""
    for device in ("/dev/zero", "/dev/null"):
        place.table.unlink(missing_ok=True)
        place.table.symlink_to(device)
        assert submitted(place, comment="tag=cg", num_tasks=4)["shared"] == "0"


def test_a_password_is_in_no_script_and_no_command_line(tmp_path: Path) -> None:
    """The URL is in a file only its owner can read; the epilog gets the name of that file."""
    made = Installation(folder=tmp_path, store="mariadb://hperf:s3cret@db/base", capacity=9)
    made.write()
    holding = [
        path for path in tmp_path.iterdir() if path.is_file() and "s3cret" in path.read_text()
    ]
    assert holding == [made.store_file]
    assert oct(made.store_file.stat().st_mode & 0o777) == "0o600"
    assert f"--store-file '{made.store_file}'" in (tmp_path / "hperf-epilog.sh").read_text()
    assert not any("s3cret" in text for text in made.files().values())


def test_a_line_that_is_half_written_loses_only_itself(place: Installation) -> None:
    """The other lines are recorded; this one is set aside and reported."""

    def down() -> None:
        raise StoreError("the store x does not answer")

    waiting = place.spool / PENDING
    for number, half in (("1", b'{"tag": "cg", "bandw'), ("2", b"")):
        job = {"SLURM_JOB_ID": number, "SLURM_JOB_COMMENT": "tag=cg,bw=100"}
        after_job(job, down, spool=place.spool, table=None, now=9)  # type: ignore[arg-type]
        waiting.write_bytes(waiting.read_bytes() + half)
    assert oct(waiting.stat().st_mode & 0o777) == "0o600"
    store = open_store(place.store)
    message = after_job(
        {"SLURM_JOB_ID": "3", "SLURM_JOB_COMMENT": "tag=cg,bw=400"},
        lambda: store,
        spool=place.spool,
        table=None,
        now=9,
    )
    assert message.startswith("3 recorded") and "1 lines of pending.jsonl are no records" in message
    assert store.average("cg") == (200.0, 3)
    assert (place.spool / "pending.broken.jsonl").read_bytes() == b'{"tag": "cg", "bandw\n'
    assert not waiting.exists()


@pytest.mark.parametrize("declared", ["1.2.3", "", "fast", "nan", "inf", "-3", "9" * 5000])
def test_a_declaration_that_is_no_number_is_a_sentence(
    place: Installation, declared: str, monkeypatch: pytest.MonkeyPatch, capsys: Said
) -> None:
    """The hook reports it and exits with 0, as it always must."""
    monkeypatch.setenv("SLURM_JOB_ID", "7")
    monkeypatch.setenv("SLURM_JOB_COMMENT", f"tag=cg,bw={declared}")
    words = ["hperf", "epilog", "--spool", str(place.spool), "--store-file", str(place.store_file)]
    assert run(words) == 0
    printed = capsys.readouterr().out
    assert "job 7: not recorded: " in printed and "number" in printed


@pytest.mark.parametrize(
    "content", ["[]", "3", "null", '{"processes": 5}', '{"width": 1e999}', "["]
)
def test_a_measurement_that_is_none_is_a_sentence(place: Installation, content: str) -> None:
    """Any output of a collector that is not a measurement is reported."""
    (place.spool / "7.json").write_text(content)
    job = {"SLURM_JOB_ID": "7", "SLURM_JOB_COMMENT": "tag=cg"}
    store = open_store(place.store)
    with pytest.raises(InputError):
        after_job(job, lambda: store, spool=place.spool, table=None, now=9)


def test_links_in_the_spool_are_not_followed(place: Installation) -> None:
    """A user who may write there must not make the epilog read or truncate another file."""
    theirs = place.folder / "theirs"
    theirs.write_text("precious")
    (place.spool / ".lock").symlink_to(theirs)
    (place.spool / "7.perf").symlink_to(theirs)
    job = {"SLURM_JOB_ID": "7", "SLURM_JOB_COMMENT": "tag=cg"}
    with pytest.raises(InputError, match="cannot be read"):
        after_job(job, lambda: open_store(place.store), spool=place.spool, table=None, now=9)
    (place.spool / "7.perf").unlink()
    with pytest.raises(OSError):
        after_job(job, lambda: open_store(place.store), spool=place.spool, table=None, now=9)
    assert theirs.read_text() == "precious"


def test_a_new_store_is_its_owners_alone(tmp_path: Path) -> None:
    """SQLite itself would make it readable by all."""
    path = tmp_path / "s.sqlite"
    open_store(str(path)).close()
    assert oct(path.stat().st_mode & 0o777) == "0o600"


def test_a_file_in_the_spool_sets_no_tag_key_or_time(place: Installation) -> None:
    """A user's own measurement is recorded under the job's own tag, key and end."""
    forged = {"bandwidth": 300.0, "tag": "others", "key": "slurm/1", "finished": 7}
    (place.spool / "42.json").write_text(json.dumps(forged))
    environment = {"SLURM_JOB_ID": "42", "SLURM_JOB_COMMENT": "tag=mine"}
    record = record_of(environment, place.spool, now=1000)
    assert record is not None
    assert (record.tag, record.key, record.finished) == ("mine", "slurm/42", 1000)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
def test_a_measurement_of_another_user_is_refused(place: Installation) -> None:
    """The spool may be writable for all: the file must be the job's user's, root's or ours."""
    path = place.spool / "42.json"
    path.write_text('{"bandwidth": 300.0}')
    os.chown(path, 4242, -1)
    environment = {"SLURM_JOB_ID": "42", "SLURM_JOB_COMMENT": "tag=mine", "SLURM_JOB_UID": "4243"}
    with pytest.raises(InputError, match="another user than the job"):
        record_of(environment, place.spool, now=1000)
    record = record_of(environment | {"SLURM_JOB_UID": "4242"}, place.spool, now=1000)
    assert record is not None and record.bandwidth == 300.0
    pending = place.spool / PENDING
    pending.write_text('{"tag": "others", "bandwidth": 1.0}\n')
    os.chown(pending, 4242, -1)
    with pytest.raises(InputError, match="another user has written it"):
        read_pending(pending)
