"""Dedicated jobs are proved to be alone on their hosts."""

from __future__ import annotations

import numpy as np
import pytest

from shadowtime.cluster import Cluster, Host
from shadowtime.schedule import Schedule
from shadowtime.schedule.check import check
from shadowtime.types import Reason
from shadowtime.workload import Workload

MACHINE = Cluster(
    shape="hosts",
    resources=("procs", "memory"),
    hosts=(Host("a", (8, 8)), Host("b", (8, 8))),
    options={"dedicated": {"procs": 4, "memory": 6}},
)
JOBS = Workload.build(
    submit=[0, 0, 1], run=[5, 5, 5], procs=[5, 1, 2], demand={"memory": [1, 7, 1]}
)
"""The first is dedicated for its processors, the second for its memory, the third is not."""


def placed(start: list[int], place: tuple[str, ...] | None) -> Schedule:
    """A schedule of the three jobs with only times and places."""
    n = len(JOBS)
    return Schedule(
        job_id=JOBS.job_id,
        submit=JOBS.submit,
        start=np.array(start),
        end=np.array(start) + JOBS.run,
        procs=JOBS.procs,
        reason=np.full(n, Reason.RECORDED, np.int8),
        kills=np.zeros(n, np.int64),
        killed=np.zeros(n, np.int8),
        place=place,
    )


@pytest.mark.parametrize(
    ("start", "place", "words"),
    [
        ([0, 0, 1], ("a", "b", "a"), "at 1 s job 3 shares a with job 1, which takes the whole"),
        ([0, 0, 4], ("a", "b", "b"), "at 4 s job 3 shares b with job 2, which takes the whole"),
        ([0, 4, 5], ("a", "a", "b"), "at 4 s job 2 shares a with job 1, which takes the whole"),
    ],
)
def test_company_is_found(start: list[int], place: tuple[str, ...], words: str) -> None:
    """Another job beside a dedicated one, though both would fit."""
    proof = check(placed(start, place), JOBS, MACHINE)["dedicated-alone"]
    assert proof.verdict == "violated" and words in proof.detail


def test_alone_from_the_second_at_which_the_other_ends() -> None:
    """Half-open intervals: one may begin when the other ends."""
    proof = check(placed([0, 0, 5], ("a", "b", "a")), JOBS, MACHINE)["dedicated-alone"]
    assert proof.verdict == "proved" and proof.detail.startswith("2 dedicated jobs")


def test_without_places_the_proof_is_left_open() -> None:
    """A schedule without places cannot be checked."""
    assert check(placed([0, 0, 5], None), JOBS, MACHINE)["dedicated-alone"].verdict == "not proved"


@pytest.mark.parametrize(
    "machine",
    [
        MACHINE.replace(options={}),
        MACHINE.replace(options={**MACHINE.options, "dedicated_exclusive": False}),
    ],
    ids=["no limits", "shared"],
)
def test_nothing_to_prove_where_no_job_is_dedicated(machine: Cluster) -> None:
    """Without limits, or where dedicated jobs share, the report does not mention it."""
    report = check(placed([0, 0, 1], ("a", "b", "a")), JOBS, machine)
    assert "dedicated-alone" not in [proof.name for proof in report.proofs]
