"""Which jobs count, and groups by name or number."""

from __future__ import annotations

import numpy as np
import pytest

from shadowtime.errors import UsageError
from shadowtime.metrics.groups import groups_of, parse_by
from shadowtime.metrics.where import Where
from shadowtime.workload import Workload
from shadowtime.workload.request import Gres, Request, Requests


def jobs() -> Workload:
    """Four jobs of two users in two partitions, two of them with GPUs."""
    asked = [
        Request(nodes=2, tasks=4, gres=(Gres(name="gpu:a100", count=2, per="node"),)),
        Request(tasks=2, gres=(Gres(name="gpu", count=1, per="job"),)),
        Request(tasks=8),
        Request(tasks=1),
    ]
    return Workload.build(
        submit=[0, 1, 2, 3],
        run=[10, 20, 30, 40],
        procs=[one.tasks for one in asked],
        user=[1, 2, 1, 2],
        partition=[1, 1, 2, 2],
        group=[-1, 1, 1, 1],
        names={"user": ("", "eva", "root"), "partition": ("", "gpu", "long"), "group": ("", "ph")},
        requests=Requests.of_jobs(asked),
    )


@pytest.mark.parametrize(
    ("text", "chosen"),
    [
        ("", [1, 2, 3, 4]),
        ("partition=gpu,user!=root", [1]),
        ("user=eva|root", [1, 2, 3, 4]),
        ("gpus>0", [1, 2]),
        ("gpus>=4", [1]),
        ("procs<=2", [2, 4]),
        ("nodes=2", [1]),
        ("run>10,run<40", [2, 3]),
        ("job!=1|3", [2, 4]),
    ],
)
def test_conditions_select_jobs(text: str, chosen: list[int]) -> None:
    assert jobs().job_id[Where.parse(text).mask(jobs())].tolist() == chosen
    assert Where.parse(str(Where.parse(text))) == Where.parse(text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("partion=gpu", "did you mean partition"),
        ("partition", "write KEY=VALUE"),
        ("partition=", "write KEY=VALUE"),
        ("partition>gpu", "use = or !="),
        ("procs=many", "whole number"),
        ("partition=gpuu", "did you mean gpu"),
        ("partition=gpu,procs>99", "no job of workload matches it"),
    ],
)
def test_wrong_conditions_are_rejected(text: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        Where.parse(text).mask(jobs())


def test_groups_by_number_and_within_a_slice() -> None:
    found = groups_of(jobs(), parse_by("gpus,nodes,account"))
    groups = [(one.by, one.name, int(one.members.sum())) for one in found]
    assert groups == [
        ("all", "all", 4),
        ("gpus", "0", 2),
        ("gpus", "1", 1),
        ("gpus", "4", 1),
        ("nodes", "1", 3),
        ("nodes", "2", 1),
        ("account", "ph", 3),
        ("account", "", 1),
    ]
    only = Where.parse("partition=long").mask(jobs())
    assert [g.name for g in groups_of(jobs(), ("user",), only=only)] == ["eva", "root"]
    assert np.array_equal(groups_of(jobs(), ("all",), only=only)[0].members, only)
    with pytest.raises(UsageError, match="there are all, partition"):
        parse_by("colour")
