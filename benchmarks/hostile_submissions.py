"""Hostile submissions of an ordinary user: does the loop decide the same for everybody else?

    python benchmarks/hostile_submissions.py --count 500
    python benchmarks/hostile_submissions.py --slurm 26.05 --policy lessc

Forty jobs of one user wait at the gate of a private Slurm, and the decisions of a pass about them
are recorded. Then another user submits: separators of columns and rows, whole forged rows and
records, lines for scontrol, control characters, line separators of Unicode and texts that are not
UTF-8 in every option that takes a text, comments of 64 KB, an array of 10,000 tasks. The decisions
about the forty must be the same; then the loop acts, and the forty must run without an error of the
loop. Exits with 1 if not.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from benchmarks.fault_injection import gate  # noqa: E402

from shadowtime.live.runner import Commands  # noqa: E402
from shadowtime.live.slurm import drive  # noqa: E402
from shadowtime.live.store import InMemory  # noqa: E402
from shadowtime.policy import parse_policy  # noqa: E402
from shadowtime.slurmtext.squeue import BETWEEN, COLUMNS, ENVIRONMENT  # noqa: E402
from shadowtime.testing.slurm import SlurmCluster, become, slurm_cluster, slurm_root  # noqa: E402

if TYPE_CHECKING:
    from shadowtime.live.loop import Loop

OTHERS = 40
USER = "daemon"
SETTINGS = ("MaxArraySize=10001", "MaxJobCount=40000", "MinJobAge=300")
OPTIONS = (
    "--account", "--qos", "--job-name", "--comment", "--tres-per-task", "--wckey", "--extra",
    "--network", "--constraint", "--licenses", "--reservation", "--dependency", "--gres",
    "--mcs-label", "--container", "--output", "--chdir", "--mail-user", "--cluster-constraint",
)  # fmt: skip
ROW = BETWEEN.join(("1", "RUNNING", "None", "9", *("1" for _ in COLUMNS[4:])))
TEXTS = (
    b"x\x1fy", "x\u2028y\u2029\x85".encode(), b"x\x0c\x0b\x1c\x1d\x1ey", b"x\ry", b"x\ny",
    f"x{BETWEEN}\n{ROW}{BETWEEN}\n".encode(),
    b"x\nJobId=1 JobName=y ReqNodeList=(null) ExcNodeList=n[1-4] NodeList= OverSubscribe=OK ",
    b"x\nupdate JobId=1 Priority=0\nrequeue 1\n", b"\xff\xfe\xc3(", b"\x1b[2J\x07",
    b"%s%n$(id)`id`",
    b"x" * 65000,
)  # fmt: skip


def main(words: list[str] | None = None) -> int:
    """Run and print."""
    parser = argparse.ArgumentParser(description="Hostile submissions, and what others notice.")
    parser.add_argument("--count", type=int, default=500)
    parser.add_argument("--policy", default="easy")
    parser.add_argument("--slurm", default="", help="another Slurm than the system's, as 24.11")
    parser.add_argument("--seed", type=int, default=1)
    chosen = parser.parse_args(words)
    root = slurm_root(chosen.slurm) if chosen.slurm else None
    folder = Path(tempfile.mkdtemp(prefix="shadowtime-hostile-"))
    folder.chmod(0o755)
    try:
        with slurm_cluster(
            folder, nodes=4, cpus=8, root=root, prepare=gate, settings=SETTINGS
        ) as cluster:
            rng = random.Random(chosen.seed)
            found = measure(cluster, chosen.policy, rng, chosen.count)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    about = {"slurm": chosen.slurm or "system", "policy": chosen.policy}
    print(json.dumps(about | found, indent=1))
    good = found["decisions_equal"] and found["others_ended"] == OTHERS and not found["errors"]
    return 0 if good else 1


def measure(cluster: SlurmCluster, policy: str, rng: random.Random, count: int) -> dict[str, Any]:
    """Decisions before and after, and a run of the loop."""
    ours = [
        cluster.sbatch(f"-n{rng.randint(1, 12)}", f"-t{rng.choice([1, 2, 5])}", script="sleep 0.2")
        for _ in range(OTHERS)
    ]
    before, poll_before, _ = decisions(loop_over(cluster, policy), ours)
    taken = sum(submit(cluster, rng, at) for at in range(count))
    after, poll_after, loop = decisions(loop_over(cluster, policy), ours)
    set_aside = len(loop.port.ineligible)
    acting = loop_over(cluster, policy, act=True)
    began, errors = time.monotonic(), 0
    while time.monotonic() - began < 240 and len(ended(cluster, ours)) < OTHERS:
        try:
            acting.step()
        except Exception as error:  # any: it is what is counted here
            errors += 1
            print(f"{type(error).__name__}: {str(error)[:300]}", file=sys.stderr)
            time.sleep(1)
    return {
        "submitted": count,
        "accepted_by_slurm": taken,
        "decisions_about_others": len(before),
        "decisions_equal": before == after,
        "not_waiting_after": set_aside,
        "poll_and_pass_s": [round(poll_before, 2), round(poll_after, 2)],
        "others_ended": len(ended(cluster, ours)),
        "seconds_until_then": round(time.monotonic() - began),
        "errors": errors,
        "asked_again": acting.port.answers.again,
    }


def loop_over(cluster: SlurmCluster, policy: str, *, act: bool = False) -> Loop:
    """A loop without memory."""
    run = Commands(timeout=60, env={**cluster.env, **ENVIRONMENT})
    port = drive.make_port(drive.Where(), run=run)
    return drive.make_loop(port, parse_policy(policy), InMemory(), act=act)


def decisions(loop: Loop, ours: list[str]) -> tuple[list[Any], float, Any]:
    """What a pass decides about some jobs, how long poll and pass took, and the loop."""
    began = time.monotonic()
    step = loop.step()
    made = [one for one in step.decisions if one.job in ours]
    return made, time.monotonic() - began, loop


def submit(cluster: SlurmCluster, rng: random.Random, at: int) -> bool:
    """One hostile job; whether Slurm takes it."""
    words: list[bytes] = [b"-n1", b"-t1"]
    if at == 0:
        words += [b"--array=1-10000"]
    for option in rng.sample(OPTIONS, rng.choice([1, 1, 2])):
        words.append(option.encode() + b"=" + TEXTS[at % len(TEXTS)])
    argv = [*become(USER), "sbatch", "--parsable", *words, "--wrap", "true"]
    if at == 0:
        argv = [*become(USER), "sbatch", "--parsable", *words[:3], "--wrap", "true"]
    done = subprocess.run(argv, env=cluster.env, capture_output=True, cwd="/tmp", check=False)
    return done.returncode == 0


def ended(cluster: SlurmCluster, jobs: list[str]) -> set[str]:
    """Those of some jobs that have completed."""
    listed = cluster.run("squeue", "-h", "-a", "-t", "CD", "-j", ",".join(jobs), "-o", "%i")
    return {*listed.split()} & {*jobs}


if __name__ == "__main__":
    os.umask(0o022)
    sys.exit(main())
