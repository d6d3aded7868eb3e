"""The two workloads of the HPerf thesis, High and Medium: 100 jobs, three classes of bandwidth."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np

from shadowtime.errors import UsageError
from shadowtime.types import Ints
from shadowtime.workload.lublin import TYPELESS, arrivals, draw_runs, draw_sizes
from shadowtime.workload.seeds import Seed, generator
from shadowtime.workload.workload import Workload

_LINE = re.compile(r"^[;\s]*Executable\s*:\s*(\d+)\s+(\S+)\s*$", re.I)


def application_names(header: Sequence[str]) -> dict[int, str]:
    """The applications that a header names, by number.

    Examples
    --------
    >>> application_names(["; Executable: 3 cg.D.16", "; MaxJobs: 4"])
    {3: 'cg.D.16'}
    """
    found = (match for line in header if (match := _LINE.match(line)))
    return {int(match[1]): match[2] for match in found}


@dataclass(frozen=True)
class Application:
    """A row of the thesis' Table 3.1: MB/s are per process."""

    kind: str
    procs: int
    bandwidth: int
    tag: str


APPLICATIONS = (
    Application("high", 4, 4250, "synthetichigh"),
    Application("high", 8, 4250, "synthetichigh"),
    *(Application("high", p, 3000, f"cg.D.{p}") for p in (16, 32, 64)),
    *(Application("medium", p, 1870, f"cg.C.{p}") for p in (4, 8, 16, 32, 64)),
    *(Application("low", p, 412, f"cg.B.{p}") for p in (2, 4, 8, 16, 32, 64)),
)
"""Table 3.1 of the thesis."""

TAGS: tuple[str, ...] = tuple(dict.fromkeys(app.tag for app in APPLICATIONS))
"""The names a job's tag stands for: ``extra["tag"]`` is a place in this tuple."""

KINDS = ("high", "medium", "low")
COUNTS: Mapping[str, tuple[int, int, int]] = {"high": (84, 7, 9), "medium": (54, 27, 19)}
"""Table 3.2: jobs of high, medium and low bandwidth."""
LIMITS: Mapping[str, int] = {"high": 68_760, "medium": 68_820}
"""Sum of all time limits in seconds: Running + ExtraRequested in every row of Tables 4.1 to 4.4."""

WIDEST = max(app.procs for app in APPLICATIONS)
CORES = 256
SPAN = 3000
RUNS = (120, 1800)


def hperf_workload(name: str, *, seed: Seed, cores: int = CORES, span: int = SPAN) -> Workload:
    """The thesis' workload ``high`` or ``medium``, newly drawn.

    Rules
    -----
    The thesis gives the model (Lublin-Feitelson, 100 jobs), the applications, how many jobs each
    class has and, through its tables, the sum of the limits. Ours is the rest: typeless jobs
    without serial ones for a machine of ``cores``, cut to the widest application, rounded to the
    class's powers of two; run times drawn into 2 to 30 minutes, then scaled by one factor so that
    the limits, each the run rounded up to the minute, sum exactly; arrivals squeezed into ``span``
    seconds, as nothing would wait at the model's own pace. Both workloads of a seed are one base:
    the same arrivals, sizes, run times (but for a minute) and permutation of classes.
    ``extra`` holds ``bandwidth`` (MB/s per process) and ``tag`` (a place in ``TAGS``).

    Examples
    --------
    >>> w = hperf_workload("high", seed=1)
    >>> len(w), int(w.limit.sum()), int(w.submit[-1])
    (100, 68760, 3000)
    >>> TAGS[w.extra["tag"][0]], int(w.procs[0]), int(w.extra["bandwidth"][0])
    ('cg.D.16', 16, 3000)

    References
    ----------
    C. Fenoy Garcia, Improving HPC applications scheduling with predictions based on
    automatically-collected historical data, thesis, UPC, 2014, section 3.2, Tables 3.1 and 3.2.
    """
    if name not in COUNTS:
        raise UsageError(f"the thesis has no workload {name!r}; it has {', '.join(COUNTS)}")
    if cores < 4 or span < 1:
        raise UsageError(f"{cores} cores and {span} s given: need at least 4 cores and 1 s")
    model = TYPELESS.for_machine(cores).replace(name="hperf", serial=0.0)
    model = model.replace(u_low=min(1.8, model.u_med))
    jobs = sum(COUNTS[name])
    size_rng, run_rng, arrival_rng, class_rng = generator(seed).spawn(4)
    size = np.minimum(draw_sizes(model, jobs, size_rng), WIDEST)
    run, limit = _tight(draw_runs(model, size, run_rng, within=RUNS), LIMITS[name])
    clock = np.fromiter(islice(arrivals(model, arrival_rng), jobs), np.int64, jobs)
    kind = np.empty(jobs, np.int64)
    kind[class_rng.permutation(jobs)] = np.repeat(np.arange(len(KINDS)), COUNTS[name])
    apps = [_application(KINDS[k], int(p)) for k, p in zip(kind, size, strict=True)]
    return Workload.build(
        name=f"hperf-{name}",
        submit=(clock - clock[0]) * span // max(1, int(clock[-1] - clock[0])),
        run=run,
        request=limit,
        procs=[app.procs for app in apps],
        extra={
            "bandwidth": np.array([app.bandwidth for app in apps]),
            "tag": np.array([TAGS.index(app.tag) for app in apps]),
        },
        executable=[TAGS.index(app.tag) + 1 for app in apps],
        header=("; Version: 2.2", f"; MaxJobs: {jobs}", *_described()),
        machine={"procs": cores},
    )


def tag_name(workload: Workload, tag: int) -> str:
    """The name behind a tag's number, from Table 3.1 or the log's header; else the number itself.

    Examples
    --------
    >>> tag_name(hperf_workload("high", seed=1), 0)
    'synthetichigh'
    """
    if "tag" in workload.extra:
        thesis = workload.name.startswith("hperf-") and 0 <= tag < len(TAGS)
        return TAGS[tag] if thesis else str(tag)
    return application_names(workload.header).get(tag, str(tag))


def _described() -> tuple[str, ...]:
    """Header lines that name the applications, for logs written as SWF."""
    return tuple(f"; Executable: {number} {tag}" for number, tag in enumerate(TAGS, 1))


def _application(kind: str, size: int) -> Application:
    """The class's application of the nearest power of two (by its logarithm, halves up)."""
    wanted = 1 << math.floor(math.log2(size) + 0.5)
    mine = [app for app in APPLICATIONS if app.kind == kind]
    return min(mine, key=lambda app: abs(math.log2(app.procs / wanted)))


def _tight(run: Ints, total: int) -> tuple[Ints, Ints]:
    """Runs scaled by one factor and their limits in whole minutes, which sum to ``total``.

    The largest factor that does not pass the total; minutes still missing go to the longest jobs.
    """
    low, high = 0.0, total / float(run.min())
    for _ in range(100):
        factor = (low + high) / 2
        low, high = (
            (factor, high) if _limits(_scaled(run, factor)).sum() <= total else (low, factor)
        )
    scaled = _scaled(run, low)
    missing = (total - int(_limits(scaled).sum())) // 60
    scaled[np.argsort(-scaled, kind="stable")[:missing]] += 60
    return scaled, _limits(scaled)


def _scaled(run: Ints, factor: float) -> Ints:
    scaled: Ints = np.maximum(1, np.floor(run * factor + 0.5)).astype(np.int64)
    return scaled


def _limits(run: Ints) -> Ints:
    return -(-run // 60) * 60
