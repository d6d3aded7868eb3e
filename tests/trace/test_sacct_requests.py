"""Requests from accounting: columns, old and new ReqMem, submit lines."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conftest import examples
from shadowtime.slurmtext.sbatch import (
    apply_options,
    begin_of,
    dependencies_of,
    least_time_of,
    nice_of,
    parse_line,
    throttle_of,
)
from shadowtime.trace.sacct import parse_sacct
from shadowtime.workload.request import Gres, Request

HEAD = "JobIDRaw|JobID|Submit|Start|End|State|NCPUS|NNodes|"


def asked(columns: str, values: str, *, ids: str = "7|7") -> Request:
    """The request of a job with these columns besides the usual ones."""
    text = f"{HEAD}{columns}\n{ids}|100|110|120|COMPLETED|8|2|{values}\n"
    requests = parse_sacct(text, name="one").requests
    assert requests is not None
    return requests[0]


@pytest.mark.parametrize(
    ("columns", "values", "memory", "per"),
    [
        ("ReqMem", "4000Mc", 4096000, "cpu"),
        ("ReqMem", "4Gn", 4194304, "node"),
        ("ReqMem", "0n", 0, "node"),
        ("ReqMem", "", None, "node"),
        ("ReqTRES|AllocTRES", "cpu=4,mem=4G,node=1|cpu=8,mem=8G,node=1", 1048576, "cpu"),
        ("ReqTRES|AllocTRES", "cpu=4,mem=4G,node=1|cpu=8,mem=8G,node=2", 4194304, "node"),
        ("ReqTRES|AllocTRES", "cpu=4,mem=4G,node=1|cpu=4,mem=4G,node=1", 4194304, "node"),
    ],
)
def test_memory(columns: str, values: str, memory: int | None, per: str) -> None:
    one = asked(columns, values)
    assert (one.memory, one.memory_per) == (memory, per)


def test_amounts_and_names() -> None:
    one = asked(
        "ReqTRES|AllocTRES|Constraints|Partition|QOS|Account|Reservation",
        "cpu=4,gres/gpu=4,gres/gpu:a100=4,license/matlab=2,node=2|cpu=8,node=2|a&b|p,q|hi|phys|r",
    )
    assert one.nodes == 2 and one.tasks == 4 and one.features == "a&b"
    assert one.gres == (Gres(name="gpu:a100", count=2, per="node"),)
    assert one.partitions == ("p", "q") and (one.qos, one.account, one.reservation) == (
        "hi", "phys", "r",
    )  # fmt: skip
    assert one.amounts == (("license/matlab", 2),)


def test_cpus_that_memory_costs() -> None:
    """MaxMemPerCPU: -n 4 --mem-per-cpu=3000 under 2000 has eight cpus; ReqTRES tells four."""
    one = asked("ReqCPUS|ReqTRES|AllocTRES", "8|cpu=4,mem=12000M,node=1|cpu=8,mem=12000M,node=1")
    assert (one.cpus, one.memory, one.memory_per) == (8, 12000 << 10, "node")


def test_a_submit_line_says_more() -> None:
    line = (
        "sbatch -N2-4 --ntasks 8 -c2 --mem-per-cpu=2G --gres=gpu:a100:1 -w n[1-2] -x n9 -C 'a|b' "
        "--exclusive --begin=now+1hour -d afterok:3 --array=1-4%2 --nice --time-min=10 "
        "-L matlab:2 --no-requeue -p p,q job.sh -N 99"
    )
    text = f"{HEAD}SubmitLine\n9|7_3|100|110|120|COMPLETED|8|2|{line}\n"
    requests = parse_sacct(text, name="one").requests
    assert requests is not None
    one = requests[0]
    assert (one.nodes, one.max_nodes, one.tasks, one.cpus_per_task) == (2, 4, 8, 2)
    assert (one.memory, one.memory_per, one.exclusive) == (2 << 20, "cpu", True)
    assert one.gres == (Gres(name="gpu:a100", count=1),) and one.features == "a|b"
    assert (one.wanted, one.excluded) == (("n1", "n2"), ("n9",))
    assert one.partitions == ("p", "q") and one.amounts == (("license/matlab", 2),)
    per_job = {name: int(getattr(requests, name)[0]) for name in requests.COLUMNS}
    assert per_job == {
        "begin": 3600, "cancel_at": -1, "array": 7, "task": 3, "throttle": 2, "nice": 100,
        "priority": -1, "least_time": 600, "requeue": 0,
    }  # fmt: skip
    assert [(one.kind, one.on) for one in requests.dependencies] == [("afterok", (3,))]


@pytest.mark.parametrize(
    ("line", "options"),
    [
        ("srun -n4 ./a.out -n 8", {"ntasks": "4"}),
        ("sbatch --wrap 'sleep 5' -N 2", {"wrap": "sleep 5", "nodes": "2"}),
        ("/usr/bin/sbatch -Hn 3 x", {"hold": "", "ntasks": "3"}),
        ("sbatch --tasks-per-node=2 x", {"ntasks-per-node": "2"}),
        ("sbatch 'unclosed", {}),
        ("", {}),
    ],
)
def test_lines(line: str, options: dict[str, str]) -> None:
    assert dict(parse_line(line)) == options


@settings(deadline=None, max_examples=examples(500))
@given(st.text("-abNncGwx=:0123456789[], '\"&|%+?", max_size=60))
def test_no_line_breaks_the_reader(line: str) -> None:
    options = parse_line(f"sbatch {line}")
    request = apply_options(options, Request())
    assert request.nodes >= 1 and request.tasks >= 1 and request.cpus_per_task >= 1
    assert begin_of(options, 5) >= -1 and least_time_of(options) >= -1
    assert throttle_of(options) >= 0 and isinstance(nice_of(options), int)
    dependencies_of(options)
