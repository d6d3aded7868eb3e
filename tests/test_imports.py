"""Imports run one way between the rooms, and what must be quick stays light."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from conftest import ROOT
from shadowtime.live.predicted import Eta, Row, starts_of, write_starts

PACKAGE = ROOT / "src" / "shadowtime"

FLOORS = [
    ("types", "errors", "later", "plain", "printable", "private", "plugins", "child_process"),
    ("schedule", "workload", "cluster", "slurmtext"),
    ("kernel",),
    ("policy",),
    ("engine", "verify", "trace", "metrics", "hperf", "predict"),
    ("slurm",),
    ("study", "testing", "eta"),
    ("report", "live"),
    ("result", "board"),
    ("api",),
    ("cli",),
]
"""From the ground up; a room may import its own floor and those below."""

APART = {
    ("metrics", "engine"),
    ("report", "live"),
    ("live", "report"),
    ("verify", "engine"),
    ("verify", "kernel"),
}
"""What must not be imported though it lies no higher: metrics measures real logs too, and the
verifier shares nothing with what it verifies."""

FLOOR = {room: number for number, rooms in enumerate(FLOORS) for room in rooms}
FILES = sorted(PACKAGE.rglob("*.py"))


def room_of(path: Path) -> str:
    """The room a file is in: its folder below the package, or its own name."""
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def imported_modules(tree: ast.AST, package: str) -> Iterator[tuple[str, int]]:
    """Every module named in an import statement anywhere in the file, with its line."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield alias.name, node.lineno
        elif isinstance(node, ast.ImportFrom):
            parts = package.split(".")
            base = parts[: len(parts) - node.level + 1] if node.level else []
            source = ".".join([*base, *(node.module.split(".") if node.module else [])])
            if source == "shadowtime":
                for alias in node.names:
                    yield f"shadowtime.{alias.name}", node.lineno
            else:
                yield source, node.lineno


def wrong_imports(room: str, source: str, package: str) -> list[str]:
    """Imports of a file that run against the direction, as sentences."""
    wrong = []
    for module, line in imported_modules(ast.parse(source), package):
        parts = module.split(".")
        if parts[0] != "shadowtime" or len(parts) < 2 or parts[1].startswith("__"):
            continue
        target = parts[1]
        if target not in FLOOR:
            wrong.append(f"line {line}: {module} is in no room of the plan")
        elif FLOOR[target] > FLOOR[room] or (room, target) in APART:
            wrong.append(f"line {line}: {room} must not import {module}")
    return wrong


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(PACKAGE)))
def test_imports_run_one_way(path: Path) -> None:
    """No file imports a room above its own."""
    room = room_of(path)
    if room in ("__init__", "__main__"):  # the front door may import anything
        return
    assert room in FLOOR, f"{room} has no floor: give it one in FLOORS"
    package = ".".join(["shadowtime", *path.relative_to(PACKAGE).parts[:-1]])
    assert wrong_imports(room, path.read_text(), package) == []


@pytest.mark.parametrize(
    ("room", "source"),
    [
        ("policy", "import shadowtime.engine.loop"),
        ("policy", "from shadowtime.engine import simulate"),
        ("policy", "from shadowtime import engine"),
        ("policy", "def late():\n    from ..engine import simulate"),
        ("metrics", "from shadowtime.engine import simulate"),
        ("verify", "from shadowtime.engine import simulate"),
        ("verify", "import shadowtime.kernel.profile"),
        ("trace", "from shadowtime.attic import box"),
    ],
)
def test_the_check_sees_a_wrong_import(room: str, source: str) -> None:
    """Each way of writing an import upwards is caught."""
    assert len(wrong_imports(room, source, f"shadowtime.{room}")) == 1


def test_the_check_allows_imports_downwards() -> None:
    """Lower floors, the own floor and other packages are fine."""
    source = "import os\nfrom shadowtime.types import Reason\nfrom . import x\nimport numpy.typing"
    assert wrong_imports("trace", source, "shadowtime.trace") == []


HEAVY = ("numpy", "numba", "llvmlite", "rich", "matplotlib", "pyarrow", "sqlalchemy")


@pytest.mark.parametrize(
    "arguments",
    [["--help"], ["simulate", "--help"], ["--version"], ["simulat"], ["completion", "bash"]],
    ids=" ".join,
)
def test_help_and_usage_errors_are_light(arguments: list[str]) -> None:
    """Help, version and usage errors load no numeric library: this is what keeps them instant."""
    code = (
        "import sys\nfrom shadowtime.cli import run\n"
        f"code = run({arguments!r})\n"
        f"loaded = [name for name in {HEAVY!r} if name in sys.modules]\n"
        "sys.exit(f'code {code}, loaded {loaded}' if loaded or code not in (0, 2) else 0)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr


EVERY_HELP = f"""
import contextlib, io, sys
import click
from shadowtime.cli import app, run

def paths(command, path):
    yield path
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            yield from paths(command.get_command(context, name), [*path, name])

count = 0
for path in paths(app, []):
    with contextlib.redirect_stdout(io.StringIO()):
        code = run([*path, "--help"])
    loaded = [name for name in {HEAVY!r} if name in sys.modules]
    if loaded or code:
        sys.exit(f"{{' '.join(path)}} --help: code {{code}}, loaded {{loaded}}")
    count += 1
print(count)
"""


def test_the_help_of_every_command_is_light() -> None:
    """No command loads a numeric library for its help, nested commands included."""
    done = subprocess.run(
        [sys.executable, "-c", EVERY_HELP], capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 50


UNUSED = (
    "numba",
    "llvmlite",
    "importlib.metadata",
    "tomllib",
    "shadowtime.cluster.site",
    "shadowtime.schedule.check.proofs",
    "shadowtime.study",
    "shadowtime.trace.sacct",
    "shadowtime.workload.lublin",
)


def test_a_simulation_loads_only_what_it_uses(tmp_path: Path) -> None:
    """Where nothing has to be compiled Numba is not imported, nor rooms that a plain run leaves."""
    log = tmp_path / "log.swf"
    line = "{} {} -1 9 2 -1 -1 2 20 -1 1 1 1 1 1 1 -1 -1\n"
    log.write_text("; MaxProcs: 4\n" + "".join(line.format(job, job) for job in (1, 2, 3)))
    code = (
        "import sys\nfrom shadowtime.cli import run\n"
        f"code = run(['simulate', {str(log)!r}, '--policy', 'easy'])\n"
        f"loaded = [name for name in {UNUSED!r} if name in sys.modules]\n"
        "sys.exit(f'code {code}, loaded {loaded}' if loaded or code else 0)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=os.environ | {"NUMBA_DISABLE_JIT": "1"},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr


def test_the_answer_of_a_watch_loads_no_simulator(tmp_path: Path) -> None:
    """Who asks for one job gets what was predicted last, in the time that a command needs."""
    state, tools = tmp_path / "shadowtime" / "slurm-batch.json", tmp_path / "bin"
    tools.mkdir()
    asked = tmp_path / "asked"
    said = "PartitionName=batch Default=YES Nodes=n1 State=UP"
    (tools / "scontrol").write_text(f"#!/bin/sh\necho \"$@\" >> {asked}\necho '{said}'\n")
    (tools / "scontrol").chmod(0o755)
    state.parent.mkdir()
    now = int(time.time())
    row = Row("7", "eva", 4, now, Eta(now + 400, now + 200, now + 900, 0.9), "job 6 is before it")
    write_starts(starts_of(state), now, "slurm", [row])
    heavy = [*HEAVY, "shadowtime.engine", "shadowtime.eta.starts"]
    code = (
        "import sys\nfrom shadowtime.cli import run\ncode = run(['eta', '7'])\n"
        f"loaded = [name for name in {heavy!r} if name in sys.modules]\n"
        "sys.exit(f'code {code}, loaded {loaded}' if loaded or code else 0)\n"
    )
    path = f"{tools}:{os.environ['PATH']}"
    environment = {"PATH": path, "XDG_STATE_HOME": str(tmp_path), "STATE_DIRECTORY": ""}
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=os.environ | environment,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    assert "it waits because job 6 is before it" in done.stdout
    assert asked.read_text() == "--oneliner show partition\n"
