"""Job scripts that run a plan as an array of tasks."""

from __future__ import annotations

import os
import shlex
import sys


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
