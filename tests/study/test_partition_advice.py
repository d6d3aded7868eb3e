"""The three guidelines of class partitioning, computed from a trace."""

from __future__ import annotations

import pytest

from shadowtime.cluster import Cluster, Host
from shadowtime.cluster.examples import example
from shadowtime.errors import UsageError
from shadowtime.study.partition_advice import advise, taken, usual_border
from shadowtime.workload import Workload
from shadowtime.workload.o2k import o2k_month

HOUR = 3600


def machine(*widths: int, **options: object) -> Cluster:
    """Hosts of these widths."""
    hosts = tuple(Host(f"h{i}", (width,)) for i, width in enumerate(widths))
    return Cluster(shape="hosts", resources=("procs",), hosts=hosts, options=dict(options))


JOBS = Workload.build(
    submit=[0, 0, 0, 0, 10 * HOUR],
    run=[10 * HOUR, 2 * HOUR, 5 * HOUR, 10 * HOUR, 1],
    procs=[8, 4, 4, 4, 1],
    request=[12 * HOUR, 2 * HOUR, 5 * HOUR, 20 * HOUR, 60],
)
"""In ten hours: a large job of 80 processor-hours; others of 8 (asking for 2 h), 20 (5 h), 40."""


def test_by_hand() -> None:
    """Ten hours on three hosts of eight processors are 240 processor-hours."""
    advice = advise(JOBS, machine(8, 8, 8), hours=(1, 2, 5, 20))
    assert advice.above == 4 and advice.large_jobs == 1
    assert advice.large == pytest.approx(80 / 240)
    assert advice.up_to[2] == pytest.approx(8 / 240, abs=1e-4)
    assert advice.up_to[5] == pytest.approx(28 / 240, abs=1e-4)
    one = {choice.hours: choice for choice in advice.choices if choice.hosts == 1}
    assert one[1].offered == pytest.approx(1 / 3) and one[1].room
    assert one[2].filled and one[2].eligible == pytest.approx(88 / 240, abs=1e-4)
    two = [choice for choice in advice.choices if choice.hosts == 2]
    assert all(choice.room and not choice.filled for choice in two)
    # A one-second job fills even r = 1 h beyond what is offered, so it comes first.
    assert [(c.hosts, c.hours) for c in advice.best(2)] == [(1, 1), (1, 2)]


def test_where_no_choice_keeps_both_the_fullest_comes_first() -> None:
    """Too little short work for any partition with room for the large jobs."""
    advice = advise(JOBS.take([0, 3, 4]), machine(8, 8, 8, 8), hours=(1, 5), above=3)
    assert advice.large_jobs == 2
    assert [(c.hosts, c.room, c.filled) for c in advice.best(1)] == [(2, True, False)]


def test_dedicated_jobs_need_whole_hosts() -> None:
    """What a dedicated job keeps from others is its host."""
    hosts = machine(8, 8, 2, dedicated={"procs": 4})
    assert taken(Workload.build(submit=[0, 0], run=[1, 1], procs=[5, 4]), hosts).tolist() == [8, 4]


def test_january_is_given_the_papers_three_hosts() -> None:
    """Section 4: three 128-processor hosts, r of 5 or 50 hours; the next choices are looser."""
    assert usual_border(example("o2k")) == 64
    best = advise(o2k_month("2003-01", seed=1), example("o2k")).best(4)
    assert [(choice.hosts, choice.hours) for choice in best][:2] == [(3, 5.0), (3, 50.0)]
    assert [choice.hosts for choice in best][2:] == [4, 3]


@pytest.mark.parametrize(
    ("cluster", "above", "words"),
    [
        (Cluster.pool(8), None, "nothing to divide"),
        (machine(8), None, "nothing to divide"),
        (machine(8, 8), 8, "no job requests more than 8 processors"),
    ],
    ids=["pool", "one host", "no large job"],
)
def test_what_cannot_be_divided_is_refused(cluster: Cluster, above: int | None, words: str) -> None:
    """With the reason."""
    with pytest.raises(UsageError, match=words):
        advise(JOBS, cluster, above=above)
