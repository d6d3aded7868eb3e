"""What a figure was measured on: processor and versions, nothing that names the machine."""

from __future__ import annotations

import os
import platform
import subprocess
from importlib.metadata import version
from pathlib import Path

from benchmarks.native_code import FLAGS, compiler_version


def describe() -> dict[str, str]:
    """By name, in the order of a table."""
    return {
        "processor": processor(),
        "cores": str(os.cpu_count()),
        "memory": f"{memory_gb():.0f} GB",
        "system": f"{platform.system()} {platform.machine()}",
        "Python": platform.python_version(),
        **{name: version(name) for name in ("numpy", "numba", "shadowtime")},
        "C compiler": f"{compiler_version()}, {' '.join(FLAGS)}",
    }


def busy() -> float:
    """The load average of the last minute."""
    return os.getloadavg()[0]


def processor() -> str:
    """The model as the system calls it."""
    try:
        output = subprocess.run(
            ["lscpu"], capture_output=True, text=True, env={**os.environ, "LC_ALL": "C"}
        ).stdout
    except FileNotFoundError:
        output = ""
    for line in output.splitlines():
        name, _, value = line.partition(":")
        if name.strip() == "Model name" and value.strip() != "-":
            return value.strip()
    return platform.processor() or platform.machine()


def memory_gb() -> float:
    """Installed memory."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    except (ValueError, OSError):
        lines = Path("/proc/meminfo").read_text().splitlines()
        return int(lines[0].split()[1]) / 2**20
