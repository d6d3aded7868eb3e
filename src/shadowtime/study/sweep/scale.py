"""Workers as jobs of a cluster: through Parsl (extra ``scale``), or as scripts for an array."""

from __future__ import annotations

import contextlib
import os
import shlex
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import Executor
from pathlib import Path
from typing import Any

from shadowtime.errors import MissingExtra, UsageError, suggested

NUMBERS = {"blocks": 1, "nodes": 1, "cores": 1, "workers": 1, "retries": 3}
"""Options that are whole numbers, with their defaults."""
TEXTS = {"walltime": "01:00:00", "init": "", "options": "", "address": ""}
SLURM = {"partition": "", "account": "", "qos": "", "constraint": ""}
CONDOR = {"requirements": ""}
"""The options of each scheduler."""


def options_of(where: str, texts: Sequence[str]) -> dict[str, Any]:
    """``KEY=VALUE`` options for ``slurm`` or ``condor``, with defaults.

    Rules
    -----
    ``blocks`` jobs are submitted, each with ``nodes`` nodes and ``workers`` worker processes on
    every node; ``init`` is a line of shell for the start of a job (such as ``module load python``),
    ``options`` is copied into the job script or submit description.

    Examples
    --------
    >>> options_of("slurm", ["partition=batch", "blocks=8"])["blocks"]
    8
    """
    known: dict[str, Any] = {**NUMBERS, **TEXTS, **(SLURM if where == "slurm" else CONDOR)}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or name not in known:
            raise UsageError(f"--site {text}: write KEY=VALUE. {suggested(name, known)}")
        if name in NUMBERS:
            if not (value.isascii() and value.isdecimal() and 0 < int(value) < 10**6):
                raise UsageError(f"--site {text}: {name} is a whole number from 1")
            known[name] = int(value)
        else:
            known[name] = value
    return known


def workers_of(where: str, texts: Sequence[str]) -> int:
    """The number of workers that these options request.

    Examples
    --------
    >>> workers_of("condor", ["blocks=8", "workers=2"])
    16
    """
    chosen = options_of(where, texts)
    return int(chosen["blocks"] * chosen["nodes"] * chosen["workers"])


@contextlib.contextmanager
def parsl_executor(where: str, texts: Sequence[str], *, folder: str) -> Iterator[Executor]:
    """An executor whose workers are jobs of Slurm or HTCondor; they end with the block.

    Workers use this Python, its PYTHONPATH and this cache of compiled code: all must be on a file
    system that the nodes share, like the logs and the results.
    """
    chosen = options_of(where, texts)
    try:
        from parsl.addresses import address_by_hostname
        from parsl.concurrent import ParslPoolExecutor
        from parsl.config import Config
        from parsl.executors import HighThroughputExecutor
        from parsl.executors.high_throughput.executor import DEFAULT_LAUNCH_CMD
        from parsl.launchers import SimpleLauncher, SrunLauncher
        from parsl.providers import CondorProvider, SlurmProvider
    except ImportError:
        raise MissingExtra("parsl", extra="scale", purpose="run workers on a cluster") from None
    runs = Path(folder).resolve() / "parsl"
    common: dict[str, Any] = {
        "nodes_per_block": chosen["nodes"], "init_blocks": chosen["blocks"], "min_blocks": 0,
        "max_blocks": chosen["blocks"], "walltime": chosen["walltime"],
        "worker_init": _init(chosen),
    }  # fmt: skip
    if where == "slurm":
        launcher = SrunLauncher() if chosen["nodes"] > 1 else SimpleLauncher()
        own: dict[str, Any] = {name: chosen[name] or None for name in SLURM}
        provider: Any = SlurmProvider(
            scheduler_options=chosen["options"], cores_per_node=chosen["cores"], exclusive=False,
            launcher=launcher, **own, **common,
        )  # fmt: skip
    else:
        provider = CondorProvider(
            scheduler_options=chosen["options"], cores_per_slot=chosen["cores"],
            requirements=chosen["requirements"], **common,
        )  # fmt: skip
    executor = HighThroughputExecutor(
        label="sweep",
        address=chosen["address"] or address_by_hostname(),
        provider=provider,
        max_workers_per_node=chosen["workers"],
        worker_logdir_root=str(runs),
        # By default both are looked for on PATH, where the scripts of an environment need not be.
        launch_cmd=launch_command(DEFAULT_LAUNCH_CMD),
        interchange_launch_cmd=[sys.executable, "-m", f"{HTEX}.interchange"],
        encrypted=True,
    )
    config = Config(
        executors=[executor], retries=chosen["retries"], run_dir=str(runs),
        initialize_logging=False, strategy="none",
    )  # fmt: skip
    pool = ParslPoolExecutor(config)
    pool.__enter__()
    try:
        yield pool
    except BaseException:
        pool.shutdown(wait=False)  # Ctrl-C: the jobs of the workers are cancelled
        raise
    pool.shutdown()


HTEX = "parsl.executors.high_throughput"


def launch_command(usual: str, python: str = sys.executable) -> str:
    """The command that starts the workers of a job: by this Python, not by a script on PATH.

    Examples
    --------
    >>> launch_command("process_worker_pool.py {debug} -a {addresses}", "/opt/python")
    '/opt/python -m parsl.executors.high_throughput.process_worker_pool {debug} -a {addresses}'
    """
    _, _, words = usual.partition(" ")
    quoted = shlex.quote(python).replace("{", "{{{{").replace("}", "}}}}")  # it is formatted twice
    return f"{quoted} -m {HTEX}.process_worker_pool {words}"


def _init(chosen: dict[str, Any]) -> str:
    """What a job does before its workers start.

    Slurm passes on the submitter's environment, HTCondor does not: what Python and the cache need
    is set for both.
    """
    lines = [f"export PATH={shlex.quote(str(Path(sys.executable).parent))}:$PATH"]
    if cache := os.environ.get("SHADOWTIME_CACHE"):
        lines.append(f"export SHADOWTIME_CACHE={shlex.quote(os.path.abspath(cache))}")
    if modules := os.environ.get("PYTHONPATH"):
        searched = os.pathsep.join(map(os.path.abspath, modules.split(os.pathsep)))
        lines.append(f"export PYTHONPATH={shlex.quote(searched)}")
    return "\n".join([*lines, *([chosen["init"]] if chosen["init"] else [])])


def slurm_script(plan: str, folder: str, *, tasks: int, cores: int = 1) -> str:
    """An array of Slurm jobs.

    Examples
    --------
    >>> "#SBATCH --array=1-64" in slurm_script("plan.toml", "results", tasks=64)
    True
    """
    common = _command(plan, folder)
    log = os.path.join(os.path.abspath(folder), "task-%a.log")
    return f"""#!/bin/bash
# Compile once before the tasks start, into a cache that they share:
#   {common} --prepare
# Submit it again after a failure: what is done is skipped.
#SBATCH --job-name=sweep
#SBATCH --array=1-{tasks}
#SBATCH --ntasks=1
#SBATCH --cpus-per-task={cores}
#SBATCH --output={log}
#SBATCH --requeue
{_cache("export ")}exec {common} --workers {cores} --shard "$SLURM_ARRAY_TASK_ID/{tasks}"
"""


def condor_script(plan: str, folder: str, *, tasks: int, cores: int = 1) -> str:
    """A submit description of HTCondor.

    Examples
    --------
    >>> condor_script("plan.toml", "results", tasks=64).splitlines()[-1]
    'queue 64'
    """
    words = _words(plan, folder)
    where = os.path.abspath(folder)
    arguments = " ".join(
        "'" + word.replace("'", "''") + "'" if set(word) & set(" '") else word for word in words[1:]
    ).replace('"', '""')
    return f"""# Compile once before the tasks start, into a cache that they share:
#   {_command(plan, folder)} --prepare
# Submit it again after a failure: what is done is skipped.
executable = {words[0]}
arguments = "{arguments} --workers {cores} --shard $INT(task)/{tasks}"
task = $(Process) + 1
environment = "{_cache("").strip()} HOME=$ENV(HOME)"
should_transfer_files = NO
request_cpus = {cores}
output = {where}/task-$INT(task).log
error = {where}/task-$INT(task).log
log = {where}/tasks.log
queue {tasks}
"""


def _words(plan: str, folder: str) -> list[str]:
    here = [sys.executable or "python3", "-P", "-m", "shadowtime", "sweep", "run"]
    return [*here, os.path.abspath(plan), "-o", os.path.abspath(folder)]


def _command(plan: str, folder: str) -> str:
    return shlex.join(_words(plan, folder))


def _cache(export: str) -> str:
    """The folder of compiled code, where the user has named one."""
    named = os.environ.get("SHADOWTIME_CACHE")
    return f"{export}SHADOWTIME_CACHE={shlex.quote(named)}\n" if named else ""
