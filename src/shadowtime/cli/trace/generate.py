"""Generate a job log from a model and write it as SWF (gzip if OUT ends in .gz)."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Literal

import click
import numpy as np

from shadowtime.cli.common.console import note, show
from shadowtime.cli.common.tables import numbers_table
from shadowtime.cli.trace.convert import check_out, load_warning, summary
from shadowtime.cluster import Cluster
from shadowtime.errors import UsageError
from shadowtime.study.replicas import Load
from shadowtime.trace import write_swf
from shadowtime.types import File, Seconds
from shadowtime.workload import Workload, demo_workload, lublin_workload, tsafrir_estimates
from shadowtime.workload.hperf_jobs import hperf_workload
from shadowtime.workload.o2k import O2kCheck, o2k_workload
from shadowtime.workload.o2k_draw import CLASSES
from shadowtime.workload.o2k_draw import MONTHS as TABLES

if TYPE_CHECKING:
    from rich.console import RenderableType

COMMANDS = {"Commands": ("lublin", "demo", "o2k", "hperf")}
MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")


def lublin(
    out: File,
    *,
    jobs: int = 5000,
    procs: int | None = None,
    published: bool = False,
    set_: tuple[str, ...] = (),
    load: str | None = None,
    kind: Literal["typeless", "typed", "batch", "interactive"] = "typeless",
    estimates: Literal["tsafrir", "exact"] = "tsafrir",
    max_estimate: Seconds = 129600,
    seed: int = 1,
) -> None:
    """Lublin and Feitelson's model: sizes, run times and arrivals of rigid parallel jobs.

    \b
    shadowtime trace generate lublin log.swf.gz --jobs 10000 --procs 256 --load 0.9
    shadowtime trace generate lublin batch.swf.gz --kind batch --published
    shadowtime trace generate lublin few.swf.gz --kind batch --published --set serial=0.1

    Parameters
    ----------
    jobs : >= 1
        Number of jobs.
    procs : N >= 1
        The machine that the sizes are fitted to. [default: 128]
    published
        The model's own parameters, not fitted to a machine: batch and typeless jobs up to 128
        processors, interactive ones up to 45.
    set_ : NAME=VALUE
        Change a parameter of the model, such as u_med=5 (an unknown name lists them); repeatable.
    load : L
        Offered load to scale the arrivals to, such as 0.9.
    kind
        Jobs of one kind, of both as the model mixes them (typed), or without kinds.
    estimates
        Requested times like those of users (Tsafrir's model), or the run times.
    max_estimate : SPAN
        The longest request allowed. [default: 36h]
    seed : S >= 0
        Seed of the random numbers.
    """
    if published and procs is not None:
        raise UsageError(
            "--procs fits the model to a machine and --published leaves it unchanged: give only one"
        )
    check_out(out)
    rng = np.random.default_rng(seed)
    workload = lublin_workload(
        jobs,
        seed=rng,
        kind=kind,
        procs=None if published else procs or 128,
        overrides=dict(map(_parameter, set_)),
    )
    if estimates == "tsafrir":
        workload = tsafrir_estimates(workload, max_estimate=max_estimate, seed=rng)
    _write(_at_load(workload, load), out)


def demo(out: File) -> None:
    """The workload of `shadowtime demo`: two weeks of 3,000 jobs for 256 processors.

    \b
    shadowtime trace generate demo demo.swf.gz
    """
    check_out(out)
    _write(demo_workload(), out)


def o2k(out: File | None = None, *, month: str, margin: int = 7, seed: int = 1) -> None:
    """A month of NCSA's O2K, rebuilt from the class-partitioning paper's own tables.

    Written to OUT, or to o2k-2003-01.swf.gz and so on. Prints the month beside the tables.

    \b
    shadowtime trace generate o2k --month jan03
    shadowtime trace generate o2k february.swf.gz --month feb03 --seed 7

    Parameters
    ----------
    month : M
        A month of the paper: dec02, jan03, feb03 or mar03 (or 2003-01 ...).
    margin : in 0..28
        Days of the neighbouring months before and after.
    seed : S >= 0
        Seed of the random numbers.
    """
    name = _month(month)
    check_out(out or f"o2k-{name}.swf.gz")
    found = o2k_workload(name, seed=seed, margin_days=margin)
    _write(found.workload, out or f"o2k-{name}.swf.gz")
    show(*_validation(found.check))
    since, until = found.window
    note(f"the month itself: jobs submitted from {since} s to before {until} s")


def hperf(out: File, *, name: Literal["high", "medium"] = "high", seed: int = 1) -> None:
    """One of the HPerf thesis' two workloads: 100 jobs in three classes of bandwidth.

    \b
    shadowtime trace generate hperf high.swf.gz --name high

    Parameters
    ----------
    name
        Which of the two.
    seed : S >= 0
        Seed of the random numbers.
    """
    check_out(out)
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


def _write(workload: Workload, out: str) -> None:
    write_swf(workload, out)
    click.echo(f"{out}: {summary(workload)}")
    if warning := load_warning(workload):
        note(warning)


def _validation(check: O2kCheck) -> Iterator[RenderableType]:
    """Tables 4 and 8, powers of two and the peaks of the requested times, ours and the paper's."""
    month = TABLES[check.month]
    sizes = [str(low) if low == high else f"{low}-{high}" for low, high in CLASSES]
    table = numbers_table("processors", *sizes, "all")
    table.add_row("jobs", *map(str, check.jobs), f"{sum(check.jobs)}")
    table.add_row("  paper", *map(str, month.jobs), f"{sum(month.jobs)}", style="dim")
    table.add_row("demand, %", *(f"{x:.1f}" for x in check.demand), f"{check.demand_total:.1f}")
    table.add_row("  paper", *map(str, month.demand), f"{sum(month.demand)}", style="dim")
    yield table
    bounds = numbers_table("demand, %", "P > 64", "R <= 5 h", "R <= 20 h", "R <= 50 h", "memory")
    ours = (check.large, *check.up_to, check.memory_demand)
    bounds.add_row("drawn", *(f"{x:.1f}" for x in ours))
    bounds.add_row("  paper", str(month.demand[-1]), *map(str, month.up_to), "", style="dim")
    yield bounds
    peaks = numbers_table("% of jobs", *map(_span, check.peaks), "power of two")
    shares = [f"{100 * share:.1f}" for share in (*check.peaks.values(), check.power_of_two)]
    peaks.add_row("drawn", *shares)
    yield peaks
    margin = max(check.off, key=lambda name: abs(check.off[name]))
    yield f"largest remaining deviation of the fit: {check.off[margin]:+.1%} ({margin})"


def _span(seconds: int) -> str:
    """A peak in hours or minutes.

    Examples
    --------
    >>> _span(600), _span(18000)
    ('10 min', '5 h')
    """
    return f"{seconds // 3600} h" if seconds >= 3600 else f"{seconds // 60} min"
