"""Faults of Slurm's answers and of time, for the fault injector: garbled, cut off, slow, stopped.

The loop finds squeue, sinfo and scontrol through a folder of wrappers. A file names what is wrong
with them at the moment; without it they are Slurm's own.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
from typing import TYPE_CHECKING

from shadowtime.errors import UsageError

if TYPE_CHECKING:
    import random
    from pathlib import Path

    from benchmarks.fault_kinds import Undo
    from benchmarks.fault_world import World

NAMES = ("squeue", "sinfo", "scontrol")
WRAPPER = """#!/bin/sh
real={real}
[ -e {mode} ] || exec "$real" "$@"
read -r what amount <{mode}
# Orders, which are sessions without arguments, are slow or fail; only answers are damaged.
[ $# -gt 0 ] || case "$what" in cut|garbled) exec "$real" "$@";; esac
odd=$(od -An -N1 -tu1 /dev/urandom)
case "$what" in
  slow) sleep "$amount"; exec "$real" "$@";;
  fails) [ $((odd % 5)) -gt 0 ] && exec "$real" "$@"; echo "{name}: error: injected" >&2; exit 1;;
  cut) [ $((odd % 2)) = 0 ] && exec "$real" "$@"; "$real" "$@" | head -c "$amount"; exit 0;;
  garbled) [ $((odd % 2)) = 0 ] && exec "$real" "$@"
    "$real" "$@" | tr 'n0=' '\\001\\002\\003'; exit 0;;
esac
exec "$real" "$@"
"""
EPILOG = """#!/bin/sh
[ -e {flag} ] && sleep 12
exit 0
"""
HOSTILE = (
    "--account=evil\x1fx",
    "--account=evil\u2028\x0c\x1c\r\nx",
    "--qos=x\x1f\n99\x1fRUNNING\x1f",
    "--comment=x\nJobId=1 JobName=x ReqNodeList=(null) ExcNodeList=n1 NodeList= OverSubscribe=OK",
    "--job-name=x\nupdate JobId=1 Priority=0\n",
)


def wrap(folder: Path, env: dict[str, str]) -> dict[str, str]:
    """The environment of a loop whose commands can be disturbed by writing into ``mode``."""
    wrappers = folder / "wrappers"
    wrappers.mkdir()
    for name in NAMES:
        path = wrappers / name
        real = shutil.which(name, path=env["PATH"])
        path.write_text(WRAPPER.format(real=real, mode=folder / "mode", name=name))
        path.chmod(0o755)
    return {**env, "PATH": f"{wrappers}:{env['PATH']}"}


def hang_epilogs(conf: Path, folder: Path) -> None:
    """An epilog that takes twelve seconds while a flag is there."""
    path = folder / "epilog.sh"
    path.write_text(EPILOG.format(flag=folder / "epilog-hangs"))
    path.chmod(0o755)
    conf.write_text(f"{conf.read_text().rstrip()}\nEpilog={path}\n")


def _disturb(world: World, words: str, seconds: float) -> Undo:
    if world.going_on & DISTURB:
        raise UsageError("the commands are disturbed already")
    mode = world.loop.offset.with_name("mode")
    mode.write_text(f"{words}\n")
    return seconds, lambda: mode.unlink(missing_ok=True)


def answers_cut(world: World, rng: random.Random) -> Undo:
    """Every second answer ends early, with success."""
    return _disturb(world, f"cut {rng.choice([0, 40, 700, 3000])}", rng.uniform(3, 6))


def answers_garbled(world: World, rng: random.Random) -> Undo:
    """In every second answer some characters are others."""
    return _disturb(world, "garbled", rng.uniform(3, 6))


def commands_fail(world: World, rng: random.Random) -> Undo:
    """One command in five fails."""
    return _disturb(world, "fails", rng.uniform(5, 10))


def commands_slow(world: World, rng: random.Random) -> Undo:
    """Every command takes five to thirty seconds."""
    return _disturb(world, f"slow {rng.randint(5, 30)}", rng.uniform(10, 20))


def loop_stopped(world: World, rng: random.Random) -> Undo:
    """SIGSTOP for up to a minute."""
    if world.loop.process is None:
        return None
    pid = world.loop.process.pid
    os.kill(pid, signal.SIGSTOP)

    def back() -> None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGCONT)

    return rng.choice([5.0, 20.0, 60.0]), back


def controller_stopped(world: World, rng: random.Random) -> Undo:
    """SIGSTOP for slurmctld: its commands hang."""
    pid = world.cluster.pids["slurmctld"]
    os.kill(pid, signal.SIGSTOP)
    world.controller = False

    def back() -> None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGCONT)
        world.controller = True
        world.looked_away()

    return rng.uniform(2, 8), back


def nodes_removed(world: World, rng: random.Random) -> Undo:
    """The first partition loses its last node, and gets it back."""
    name = next(iter(world.partitions))
    shown = world.cluster.run("scontrol", "--oneliner", "show", "partition", name)
    nodes = next(word[6:] for word in shown.split() if word.startswith("Nodes="))
    names = world.cluster.run("scontrol", "show", "hostnames", nodes).split()
    update = ("scontrol", "update", f"PartitionName={name}")
    world.cluster.run(*update, f"Nodes={','.join(names[:-1])}", check=False)
    return rng.uniform(3, 8), lambda: _run(world, *update, f"Nodes={','.join(names)}")


def _run(world: World, *words: str) -> None:
    with contextlib.suppress(UsageError, subprocess.TimeoutExpired):
        world.cluster.run(*words, check=False)


def epilog_hangs(world: World, rng: random.Random) -> Undo:
    """Nodes take twelve seconds to clean up after a job."""
    flag = world.loop.offset.with_name("epilog-hangs")
    flag.touch()
    return rng.uniform(2, 6), lambda: flag.unlink(missing_ok=True)


def hostile_job(world: World, rng: random.Random) -> Undo:
    """A job with separators, line breaks and forged records in its texts."""
    option = rng.choice(HOSTILE)
    world.submit(option, "--time=1", width=1, whole=False, seconds=1, odd="hostile text")
    return None


ANSWERS = {
    "answers cut off": answers_cut,
    "answers garbled": answers_garbled,
    "commands fail": commands_fail,
    "commands slow": commands_slow,
    "loop stopped": loop_stopped,
    "slurmctld stopped": controller_stopped,
    "nodes removed": nodes_removed,
    "epilog hangs": epilog_hangs,
    "hostile job": hostile_job,
}
DISTURB = frozenset(["answers cut off", "answers garbled", "commands fail", "commands slow"])
"""Faults of the wrappers: one at a time."""
