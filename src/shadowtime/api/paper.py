"""Reproductions from Python: a paper's study, its numbers and ours."""

from __future__ import annotations

import os
import warnings
from concurrent.futures import Executor

from shadowtime.api.inputs import require_folder
from shadowtime.errors import UsageError, near
from shadowtime.study.papers import parts, reproduction
from shadowtime.study.sweep.hand_out import run_parts


def paper(
    name: str,
    traces: str | os.PathLike[str] | None = None,
    *,
    seeds: int | None = None,
    quick: bool = False,
    threads: int | None = None,
    resume: str | os.PathLike[str] | None = None,
    workers: int | None = None,
    executor: Executor | None = None,
) -> reproduction.Reproduction:
    """Reproduce the study of a paper.

    Rules
    -----
    ``name`` is what ``shadowtime paper`` accepts, ``traces`` the folder of the paper's logs (a
    generated workload without it). With ``resume`` the results of every run are saved in that
    folder and reused; with ``workers`` or an ``executor`` of ``concurrent.futures`` as well, other
    processes perform the runs.

    Parameters
    ----------
    seeds : N in 1..1000
        Runs for each random point. [default: 10; hperf 30]
    quick
        Fewer points and runs, for papers that take minutes.
    resume : DIR
        Save the results of each simulation in DIR and reuse those found there: the same command
        resumes after Ctrl-C.

    Examples
    --------
    >>> import shadowtime as st
    >>> st.paper("pv-eazy")
    Traceback (most recent call last):
    ...
    shadowtime.errors.UsageError: there is no paper 'pv-eazy': did you mean pv-easy?
    """
    if name not in parts.names():
        raise UsageError(f"there is no paper {name!r}{near(name, parts.names())}")
    require_folder(resume, workers, executor)
    study = parts.PaperStudy(
        name=name,
        traces=os.fspath(traces) if traces is not None else None,
        seeds=seeds,
        quick=quick,
        folder=os.fspath(resume) if resume is not None else None,
    )
    subjects, missing = study.subjects()
    if missing:
        warnings.warn(f"skipped, not found in {traces}: {', '.join(missing)}", stacklevel=2)
    plan = study.plan(subjects)
    if workers is not None or executor is not None:
        run_parts(study.absolute(), plan.missing(), workers=workers, executor=executor)
    return reproduction.carry_out(plan, threads=threads)
