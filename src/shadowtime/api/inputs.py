"""Logs, clusters and policies from whatever the caller has: a value, a name, a file."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, cast

from shadowtime.errors import UsageError

if TYPE_CHECKING:
    from shadowtime.cluster import Cluster
    from shadowtime.metrics import Window
    from shadowtime.workload import Workload


def read(path: str | os.PathLike[str], **options: Any) -> Workload:
    """Read a job log of any supported format, cleaned and sorted.

    Rules
    -----
    SWF (plain or .gz), Slurm's ``sacct``, HTCondor's history and event logs, and every other
    format of :mod:`shadowtime.trace`. ``options`` are the cleaning switches (``overrun``,
    ``cancelled``, ...) and the reader's own (``bad_lines``, ``tz``); what a rule repaired or
    dropped is counted in ``jobs.cleaning``.

    Examples
    --------
    >>> import shadowtime as st
    >>> st.read("no-such-log.swf")
    Traceback (most recent call last):
    ...
    shadowtime.errors.InputError: no-such-log.swf: ...
    """
    from shadowtime.trace import read

    return read(path, **options)


def demo() -> Workload:
    """The embedded workload of ``shadowtime demo``.

    Examples
    --------
    >>> import shadowtime as st
    >>> len(st.demo()) > 1000
    True
    """
    from shadowtime.workload.embedded import demo_workload

    return demo_workload()


def as_jobs(jobs: Any) -> Workload:
    """A workload as it is, or read from a path."""
    from shadowtime.workload import Workload

    if isinstance(jobs, Workload):
        return jobs
    if isinstance(jobs, str | os.PathLike):
        return read(jobs)
    raise UsageError(f"expected a workload or a path to a job log, not {type(jobs).__name__}")


def as_cluster(machine: Any, jobs: Workload) -> Cluster:
    """A cluster as it is, from a text, from a number of processors, or the log's own (None)."""
    from shadowtime.cluster import Cluster
    from shadowtime.cluster.spec import parse_machine

    if isinstance(machine, int):
        return Cluster.pool(machine)
    if machine is None or isinstance(machine, str | os.PathLike):
        text = None if machine is None else os.fspath(machine)
        return cast("Cluster", parse_machine(text, machine=jobs.machine))
    return machine  # type: ignore[no-any-return]


def as_window(window: Any) -> Window:
    """A window as it is, from a text such as ``"7d:1d"``, or every job (None)."""
    from shadowtime.metrics import Window

    return window if isinstance(window, Window) else Window.parse(window or "all")


def fitted(jobs: Workload, machine: Cluster) -> Workload:
    """The jobs that fit on the machine; the others are dropped and counted."""
    from shadowtime.workload.clean import fit

    return fit(jobs, machine) if machine.shape != "site" else jobs
