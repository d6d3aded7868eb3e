"""Draw a log from a model and write it."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Any

import click
import numpy as np

from shadowtime.cli.common.console import note, show
from shadowtime.cli.common.outputs import check_file
from shadowtime.cli.paper.o2k_check import validation
from shadowtime.cli.trace.summary import load_warning, summary
from shadowtime.cluster import Cluster
from shadowtime.errors import UsageError
from shadowtime.study.loads import Load
from shadowtime.trace import write_swf
from shadowtime.workload import demo_workload, lublin_workload, tsafrir_estimates
from shadowtime.workload.hperf_jobs import hperf_workload
from shadowtime.workload.o2k import o2k_workload

if TYPE_CHECKING:
    from shadowtime.workload import Workload

MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")


def generate_lublin(
    *,
    out: str,
    jobs: int,
    procs: int | None,
    published: bool,
    parameters: tuple[str, ...],
    load: str | None,
    kind: Any,
    estimates: str,
    max_estimate: int,
    seed: int,
) -> None:
    """Lublin and Feitelson's model."""
    if published and procs is not None:
        raise UsageError(
            "--procs fits the model to a machine and --published leaves it unchanged: give only one"
        )
    _check(out)
    rng = np.random.default_rng(seed)
    workload = lublin_workload(
        jobs,
        seed=rng,
        kind=kind,
        procs=None if published else procs or 128,
        overrides=dict(map(_parameter, parameters)),
    )
    if estimates == "tsafrir":
        workload = tsafrir_estimates(workload, max_estimate=max_estimate, seed=rng)
    _write(_at_load(workload, load), out)


def generate_demo(*, out: str) -> None:
    """The embedded workload."""
    _check(out)
    _write(demo_workload(), out)


def generate_o2k(*, out: str | None, month: str, margin_days: int, seed: int) -> None:
    """A month of the O2K; prints it beside the paper's tables."""
    name = _month(month)
    _check(out or f"o2k-{name}.swf.gz")
    found = o2k_workload(name, seed=seed, margin_days=margin_days)
    _write(found.workload, out or f"o2k-{name}.swf.gz")
    show(*validation(found.check))
    since, until = found.window
    note(f"the month itself: jobs submitted from {since} s to before {until} s")


def generate_hperf(*, out: str, name: str, seed: int) -> None:
    """A workload of the HPerf thesis."""
    _check(out)
    _write(hperf_workload(name, seed=seed), out)


def _parameter(text: str) -> tuple[str, float]:
    name, equals, value = (part.strip() for part in text.partition("="))
    try:
        number = float(value)
    except ValueError:
        number = math.nan
    if not equals or not math.isfinite(number):
        raise UsageError(f"--set {text}: write NAME=VALUE with a number, such as u_med=5")
    return name, number


def _month(text: str) -> str:
    """jan03 as 2003-01; anything else as it is."""
    match = re.fullmatch(r"([a-z]{3})[a-z]*[- ]?(?:20)?(\d\d)", text.strip().lower())
    if match is None or match[1] not in MONTHS:
        return text.strip()
    return f"20{match[2]}-{MONTHS.index(match[1]) + 1:02d}"


def _at_load(workload: Workload, load: str | None) -> Workload:
    if load is None:
        return workload

    wanted = Load.parse(load if "=" in load else f"offered={load}")
    return wanted.apply(workload, Cluster.pool(workload.machine["procs"]))


def _check(out: str) -> None:
    """Reject a name or a folder before anything is generated."""
    if not out.lower().removesuffix(".gz").endswith(".swf"):
        raise UsageError(f"{out}: the log is written as SWF, so name it .swf or .swf.gz")
    check_file("OUT", out)


def _write(workload: Workload, out: str) -> None:
    write_swf(workload, out)
    click.echo(f"{out}: {summary(workload)}")
    if warning := load_warning(workload):
        note(warning)
