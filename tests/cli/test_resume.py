"""Commands that are killed, and continue with --resume to the same bytes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from shadowtime.cli import run
from shadowtime.engine.watch import write_checkpoint
from shadowtime.trace.swf import write_swf
from shadowtime.workload.lublin import lublin_workload

FAST = """
import sys, time
real = time.monotonic
time.monotonic = lambda: 600 * real()  # a minute is over in a tenth of a second
from shadowtime.cli import main
main()
"""
PATIENCE = 240
"""Seconds: a loaded machine is slow."""


SLURM = ("slurm(bf_interval=30)", "pool:64", 3_000, 1)
KINDS = {
    "slurm": SLURM,
    "plain Python": ("conservative", "pool:64", 3_000, 1),
    "compiled": ("conservative", "pool:64", 40_000, 4),
    "site": ("conservative", "SITE", 500, 4),
}
"""Runs that take seconds: policy, machine, jobs, and how many times faster they are submitted."""


def command(folder: Path, name: str, kind: str = "slurm") -> list[str]:
    """One run, seconds long."""
    policy, machine, jobs, load = KINDS[kind]
    log, site = folder / "log.swf", folder / "slurm.conf"
    if not log.exists():
        made = lublin_workload(jobs, seed=1, procs=64)
        write_swf(made.replace(submit=made.submit // load), log)
        nodes = "NodeName=n[1-6] CPUs=8\nNodeName=big CPUs=16 Gres=gpu:2\n"
        site.write_text(f"{nodes}PartitionName=p Nodes=ALL Default=YES\n")
    more = ["--policy", policy, "--resume", str(folder / "runs")]
    where = ["-c", machine.replace("SITE", str(site)), "--schedule", str(folder / f"{name}.csv")]
    return ["simulate", str(log), *more, *where]


def end_of(arguments: list[str], plain: dict[str, str]) -> int:
    """The exit code of a command; without compiling it needs a process of its own."""
    if not plain:
        return run(arguments)
    code = [sys.executable, "-c", "from shadowtime.cli import main; main()", *arguments]
    return subprocess.run(code, env=os.environ | plain, timeout=PATIENCE, check=False).returncode


@pytest.mark.parametrize(
    ("kind", "how"),
    [
        ("slurm", signal.SIGINT),
        ("slurm", signal.SIGKILL),
        ("plain Python", signal.SIGINT),
        ("compiled", signal.SIGINT),
        ("compiled", signal.SIGKILL),
        ("site", signal.SIGINT),
    ],
)
def test_a_killed_command_continues(tmp_path: Path, kind: str, how: signal.Signals) -> None:
    """Killed once a checkpoint is there, it does not begin again, and the schedule is the same."""
    files = tmp_path / "runs" / "kept"
    plain = {"NUMBA_DISABLE_JIT": "1"} if kind in ("plain Python", "site") else {}
    child = subprocess.Popen(
        [sys.executable, "-c", FAST, *command(tmp_path, "killed", kind)],
        stderr=subprocess.PIPE,
        env=os.environ | plain,
    )
    end = time.monotonic() + PATIENCE
    while not list(files.glob("[!.]*.checkpoint")) and child.poll() is None:
        assert time.monotonic() < end
        time.sleep(0.01)
    child.send_signal(how)
    _, told = child.communicate(timeout=PATIENCE)
    assert child.returncode == (130 if how is signal.SIGINT else -signal.SIGKILL), told
    assert [one.suffix for one in files.glob("[!.]*")] == [".checkpoint"]
    assert end_of(command(tmp_path, "resumed", kind), plain) == 0
    assert [one.suffix for one in files.iterdir()] == [".run"]
    whole = [*command(tmp_path, "whole", kind)]
    del whole[whole.index("--resume") : whole.index("--resume") + 2]
    assert end_of(whole, plain) == 0
    assert (tmp_path / "resumed.csv").read_bytes() == (tmp_path / "whole.csv").read_bytes()


def test_a_checkpoint_of_other_code_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """With a sentence that names the file; nothing is lost by it."""
    assert run(command(tmp_path, "first")) == 0
    [kept] = (tmp_path / "runs" / "kept").iterdir()
    kept.unlink()
    file = kept.with_suffix(".checkpoint")
    write_checkpoint(file, [b"state"], code="0123")
    assert run(command(tmp_path, "second")) == 2
    told = capsys.readouterr().err
    assert "nothing to resume" in told and "another version of shadowtime" in told
    assert str(file) in told and "Delete it" in told
    file.write_bytes(file.read_bytes().replace(file.stem.encode(), b"0" * 32))
    assert run(command(tmp_path, "second")) == 2
    assert "other inputs" in capsys.readouterr().err


def test_what_nobody_asked_to_keep_is_kept_until_the_command_ends(tmp_path: Path) -> None:
    """Ctrl-C without --resume: the command says how to continue, does, and leaves nothing."""
    cache = tmp_path / "cache"
    words = [*command(tmp_path, "out", "plain Python")]
    del words[words.index("--resume") : words.index("--resume") + 2]
    env = os.environ | {"NUMBA_DISABLE_JIT": "1", "SHADOWTIME_CACHE": str(cache)}

    def begun(*, kill: bool) -> str:
        code = [sys.executable, "-c", FAST, *words]
        child = subprocess.Popen(code, stderr=subprocess.PIPE, text=True, env=env)
        end = time.monotonic() + PATIENCE
        while kill and not list(cache.rglob("[!.]*.checkpoint")):
            assert child.poll() is None and time.monotonic() < end
            time.sleep(0.01)
        if kill:
            child.send_signal(signal.SIGINT)
        told = child.communicate(timeout=PATIENCE)[1]
        assert child.returncode == (130 if kill else 0), told
        return str(told)

    assert "what is done is kept, the same command continues" in begun(kill=True)
    assert "interrupted before; runs found: 1 to be continued" in begun(kill=False)
    assert not list((cache / "interrupted").iterdir())
    resumed = (tmp_path / "out.csv").read_bytes()
    assert "interrupted" not in begun(kill=False)
    assert (tmp_path / "out.csv").read_bytes() == resumed


def test_a_short_command_writes_nothing(tmp_path: Path) -> None:
    """In its first minute a command keeps nothing."""
    env = {"SHADOWTIME_CACHE": str(tmp_path / "cache"), "NUMBA_DISABLE_JIT": "1"}
    words = [*command(tmp_path, "out", "plain Python")]
    del words[words.index("--resume") : words.index("--resume") + 2]
    assert end_of(words, env) == 0
    assert not (tmp_path / "cache" / "interrupted").exists()
