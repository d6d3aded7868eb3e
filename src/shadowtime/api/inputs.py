"""Logs, clusters and policies from a value, a name or a file."""

from __future__ import annotations

import os
import warnings
from typing import TYPE_CHECKING, Any, cast

from shadowtime.api.load import load
from shadowtime.cluster import Cluster, spec
from shadowtime.errors import UsageError
from shadowtime.metrics import Window
from shadowtime.trace import read as read_log
from shadowtime.workload import Workload, clean

if TYPE_CHECKING:
    from concurrent.futures import Executor

    from shadowtime.cluster.site import Site
    from shadowtime.metrics.where import Where


def read(path: str | os.PathLike[str], **options: Any) -> Workload:
    """Read a job log of any supported format, cleaned and sorted.

    Rules
    -----
    SWF (plain or .gz), Slurm's ``sacct``, HTCondor's history and event logs, and every other
    format of :mod:`shadowtime.trace`. ``options`` are the cleaning switches (``overrun``,
    ``cancelled``, ...) and the reader's own (``bad_lines``, ``tz``); repaired and dropped jobs are
    counted by rule in ``jobs.cleaning``.

    Examples
    --------
    >>> import shadowtime as st
    >>> st.read("no-such-log.swf")
    Traceback (most recent call last):
    ...
    shadowtime.errors.InputError: no-such-log.swf: ...
    """
    return read_log(path, **options)


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


def read_site(folder: str | os.PathLike[str], **options: Any) -> tuple[Site, Workload]:
    """The site and the jobs of a site folder (docs/reference/site).

    Examples
    --------
    >>> import shadowtime as st
    >>> st.read_site("no-such-folder")
    Traceback (most recent call last):
    ...
    shadowtime.errors.ClusterError: no-such-folder: ...
    """
    from shadowtime.trace.site_folder import read_site

    return read_site(folder, **options)


def inputs_of(jobs: Any, cluster: Any) -> tuple[Workload, Cluster]:
    """The jobs of a run and their machine, from values, texts and paths.

    A path is loaded as on the command line; a warning reports what has no effect. Jobs that
    fit nowhere on a machine that is not a site are dropped and counted.
    """
    machine = os.fspath(cluster) if isinstance(cluster, os.PathLike) else cluster
    if isinstance(machine, int):
        machine = Cluster.pool(machine)
    if isinstance(jobs, str | os.PathLike):
        return load(os.fspath(jobs), machine, report=_warn)
    if not isinstance(jobs, Workload):
        raise UsageError(f"expected a workload or a path to a job log, not {type(jobs).__name__}")
    if machine is None and jobs.requests is not None:
        raise UsageError(
            f"the jobs of {jobs.name} have requests that only a site supports: give the site, as "
            "in "
            "site, jobs = st.read_site(folder)"
        )
    if machine is None:
        machine = spec.parse_cluster(None, machine=jobs.machine)
    elif isinstance(machine, str):
        machine = spec.parse_machine(machine)
    if isinstance(machine, Cluster):
        return clean.fit(jobs, machine), machine
    from shadowtime.cluster.site import Site

    if not isinstance(machine, Site):
        raise UsageError(
            "expected a Cluster, a Site, a number of processors or a text such as 'pool:256', not "
            f"{type(machine).__name__}"
        )
    return jobs, cast("Cluster", machine)  # a site has its own rules for which jobs may run


def _warn(text: str) -> None:
    warnings.warn(text, stacklevel=5)


def as_window(window: Any) -> Window:
    """A window, a text such as ``"7d:1d"``, or every job (None)."""
    return window if isinstance(window, Window) else Window.parse(window or "all")


def as_where(where: Any) -> Where | None:
    """Conditions, a text such as ``"partition=gpu"``, or every job (None)."""
    if not where:
        return None
    from shadowtime.metrics.where import Where

    return where if isinstance(where, Where) else Where.parse(where)


def require_folder(
    resume: str | os.PathLike[str] | None, workers: int | None, executor: Executor | None
) -> None:
    """Reject workers without a folder: they save their runs in it.

    Examples
    --------
    >>> require_folder(None, 2, None)
    Traceback (most recent call last):
    ...
    shadowtime.errors.UsageError: workers save their runs in a folder: give resume=FOLDER as well
    """
    if resume is None and (workers is not None or executor is not None):
        raise UsageError("workers save their runs in a folder: give resume=FOLDER as well")
