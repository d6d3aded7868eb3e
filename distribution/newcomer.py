"""Run a new user's first commands with the wheel of dist/, and write a page with their times.

    python distribution/newcomer.py [PAGE.md]      # docs/benchmarks/first-minutes.md by default

An empty environment, the wheel installed with pip alone, an empty cache of kernels, and a PATH
without a compiler. The page shows every command with its output; a command that fails, or a
compiler on the path, ends the script. Times are for this machine: CPU time, and elapsed time, which
is longer on a busy machine.
"""

from __future__ import annotations

import hashlib
import os
import platform
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "benchmarks" / "first-minutes.md"
TOOLS = ("bash", "sh", "env", "ls", "head", "cat", "uname")
COMPILERS = ("cc", "gcc", "clang", "c++", "g++")
MOST_LINES = 12
PATIENCE = 900
STEPS = (
    ("See what it is", "shadowtime --help", 8),
    ("Seven policies on the built-in workload: no data needed", "shadowtime demo -o demo", 40),
    (
        "One log under one policy",
        "shadowtime simulate demo/inputs/trace.swf.gz -p easy",
        MOST_LINES,
    ),
    (
        "Several policies on a log, as a page",
        "shadowtime compare demo/inputs/trace.swf.gz -p easy -p lxfw -p pv-easy --report page.html",
        MOST_LINES,
    ),
    ("Why a job waited", "shadowtime explain demo 2232 -p greedy", MOST_LINES),
    ("Completion for the shell", "shadowtime completion bash", 3),
    ("Manual pages", "ls fresh/share/man/man1", 5),
    ("A mistake", "shadowtime simulate demo/inputs/trace.swf.gz -p eazy", 5),
)
HEAD = """\
# The first minutes

What a new user sees after building or downloading the wheel: an empty environment, only pip, an
empty cache of compiled kernels and no compiler on the path. Written by `scripts/build newcomer`,
which runs every command. The first figure is CPU time, the second elapsed time, which is longer on
a busy machine.

{where}.
"""


def timed(
    words: list[str], *, folder: Path, environment: dict[str, str]
) -> tuple[float, float, subprocess.CompletedProcess[str]]:
    """Run a command in a folder: elapsed seconds, CPU seconds, and the finished process."""
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    done = subprocess.run(
        words, cwd=folder, env=environment, capture_output=True, text=True, check=False,
        timeout=PATIENCE, stdin=subprocess.DEVNULL,
    )  # fmt: skip
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return time.monotonic() - began, spent, done


def toolbox(folder: Path) -> Path:
    """A folder with the few programs that the page uses, and no compiler."""
    folder.mkdir()
    for name in TOOLS:
        found = shutil.which(name)
        if found:
            (folder / name).symlink_to(found)
    return folder


def step(title: str, command: str, took: tuple[float, float], output: str, most: int) -> str:
    """A step of the page."""
    lines = output.rstrip().splitlines()
    if len(lines) > most:
        lines = [*lines[:most], "..."]
    clock, spent = took
    block = "\n".join([f"$ {command}", *lines])
    return f"## {title}\n\n{spent:.1f} s CPU, {clock:.1f} s\n\n```text\n{block}\n```\n"


def main() -> int:
    """Run the steps and write the page."""
    page = Path(sys.argv[1]) if len(sys.argv) > 1 else PAGE
    wheels = sorted((ROOT / "dist").glob("shadowtime-*.whl"))
    if len(wheels) != 1:
        print("newcomer: dist/ must have one wheel: scripts/build dist", file=sys.stderr)
        return 1
    parts = []
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        shutil.copy(wheels[0], folder)
        path = f"{folder / 'fresh' / 'bin'}:{toolbox(folder / 'tools')}"
        plain = {
            name: os.environ[name]
            for name in ("HOME", "LANG", "PIP_CONFIG_FILE", "PIP_INDEX_URL")
            if name in os.environ
        }
        environment = {**plain, "PATH": path, "SHADOWTIME_CACHE": str(folder / "cache")}
        found = [name for name in COMPILERS if shutil.which(name, path=path)]
        if found:
            print(f"newcomer: a compiler is on the path: {found[0]}", file=sys.stderr)
            return 1
        install = (
            ("An environment", "python3 -m venv fresh", [sys.executable, "-m", "venv", "fresh"]),
            (
                "The wheel",
                f"fresh/bin/pip install {wheels[0].name}",
                ["fresh/bin/python", "-m", "pip", "--disable-pip-version-check", "--quiet",
                 "install", "--constraint", str(ROOT / "constraints.txt"), wheels[0].name],
            ),
        )  # fmt: skip
        for title, command, words in install:
            clock, spent, done = timed(words, folder=folder, environment=environment)
            if done.returncode:
                print(f"newcomer: {command} failed: {done.stderr}", file=sys.stderr)
                return 1
            parts.append(step(title, command, (clock, spent), "", MOST_LINES))
        for title, command, most in STEPS:
            clock, spent, done = timed(
                ["bash", "-c", command], folder=folder, environment=environment
            )
            wanted = 2 if title == "A mistake" else 0
            if done.returncode != wanted:
                print(
                    f"newcomer: {command} ended with {done.returncode}: {done.stderr}",
                    file=sys.stderr,
                )
                return 1
            output = done.stdout if wanted == 0 else done.stderr
            parts.append(step(title, command, (clock, spent), output, most))
            print(f"{command}: {spent:.1f} s CPU, {clock:.1f} s", flush=True)
        busy = os.getloadavg()[2]
    digest = hashlib.sha256(wheels[0].read_bytes()).hexdigest()[:12]
    where = (
        f"Measured with the wheel whose SHA-256 begins with {digest}, on Python "
        f"{platform.python_version()}, {platform.machine()}, {os.cpu_count()} cores, "
        f"load average {busy:.1f}"
    )
    page.write_text(HEAD.format(where=where) + "\n" + "\n".join(parts), "utf-8")
    print(f"wrote {os.path.relpath(page)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
