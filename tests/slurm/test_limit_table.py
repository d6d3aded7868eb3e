"""Limits on the arrays of compiled passes answer as those in Python do, on random limits."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from conftest import examples
from shadowtime.cluster.site import Association, Limits
from shadowtime.kernel.slurm import board as b
from shadowtime.kernel.slurm.limits import UNKNOWN, WITHIN, too_many, too_much
from shadowtime.slurm.ask import Ask
from shadowtime.slurm.job import Job
from shadowtime.slurm.limit_table import LimitTable
from shadowtime.slurm.limits import Accounts
from shadowtime.slurm.machine import Section
from shadowtime.slurm.running import Running
from shadowtime.slurm.tally import Tally
from shadowtime.slurm.usage import Share

ASK = Ask(
    tasks=1, cpus_per_task=1, min_nodes=1, max_nodes=1, wanted_nodes=1, min_cpus=1, least_cpus=1
)
NAMES = ("cpus", "nodes", "memory", "gpu")
SECTION = Section(name="batch", nodes=1, qos="part")

amounts = st.dictionaries(st.sampled_from(NAMES), st.integers(0, 6), max_size=2)
counts = st.none() | st.integers(0, 3)
limits = st.builds(
    Limits, group_jobs=counts, user_jobs=counts, account_jobs=counts,
    group_resources=amounts, user_resources=amounts, account_resources=amounts,
    job_resources=amounts,
)  # fmt: skip


def job(number: int, user: str, qos: str, cpus: int, gpus: int) -> Job:
    """A job that runs in the partition."""
    held = (Share(node=0, cores=(1 << cpus) - 1, memory=cpus, gpus=(1 << gpus) - 1),)
    return Job(
        id=number, record=number, ask=ASK, limit=60, user=user, account="a", qos=qos,
        partition="batch", partitions=("batch",), holding=held, nodes=1, cpus=cpus,
    )  # fmt: skip


jobs = st.lists(
    st.tuples(st.sampled_from("uv"), st.sampled_from("qr"), st.integers(1, 3), st.integers(0, 1)),
    max_size=6,
)


@settings(max_examples=examples(300), deadline=None)
@given(st.lists(limits, min_size=5, max_size=5), jobs, jobs, st.data())
def test_the_arrays_answer_as_python_does(
    bounds: list[Limits],
    first: list[tuple[str, str, int, int]],
    more: list[tuple[str, str, int, int]],
    data: st.DataObject,
) -> None:
    """Whatever runs, and after starts and ends: the same reason, or none; never a wrong one."""
    own, above, *of_qos = bounds
    chain = (Association(account="a", user="u", limits=own), Association(account="a", limits=above))
    accounts = Accounts(
        enforced=True,
        qos=dict(zip(("q", "r", "part"), of_qos, strict=True)),
        chains={("a", "u"): chain, ("a", "v"): chain[1:]},
        part_qos={"batch": "part"},
    )
    running = Running(job(at, *one) for at, one in enumerate(first))
    table, board = LimitTable(), b.empty_board(1)
    asked = [job(100 + at, user, qos, 1, 0) for at, (user, qos) in enumerate(["uq", "vr"])]
    for one in asked:
        board = table.room(board, accounts, one, SECTION)
        table.row(board, accounts, one, SECTION)
    for step, one in enumerate([*more, None]):
        table.write(board, running, accounts)
        for who, each in enumerate(asked):
            reason = too_many(board, who)
            told = "" if reason == WITHIN else accounts.met.word(reason)
            assert told == accounts.before(each, running, SECTION)
            low = data.draw(st.integers(0, 3))
            high = low + data.draw(st.integers(0, 1))
            board.memo[0, b.TALLIED] = 1
            board.memo[0, b.TALLY : b.MOST_TALLY] = low, 1, 1, low, 0
            board.memo[0, b.MOST_TALLY : b.OWN_TALLY] = high, 1, 1, low, 0
            reason = too_much(board, who, 0)
            assert (low == high and reason != UNKNOWN) or low != high
            if reason != UNKNOWN:
                told = "" if reason == WITHIN else accounts.met.word(reason)
                for cpus in (low, high):
                    tally = Tally(cpu=cpus, node=1, gpu=1, mem=low)
                    assert told == accounts.over(each, tally, running, SECTION)
        if one is not None:
            running.put(job(50 + step, *one))
            if step % 2 and first:
                running.drop(running[0])
                first = first[1:]
