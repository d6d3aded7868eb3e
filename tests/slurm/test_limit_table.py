"""Limits on the arrays of compiled passes answer as those in Python do, on random limits."""

from __future__ import annotations

from dataclasses import replace

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
from shadowtime.slurm.machine import Hardware, Machine, Section
from shadowtime.slurm.running import Running
from shadowtime.slurm.tally import Tally
from shadowtime.slurm.usage import Share
from shadowtime.slurm.weights import base_weights, with_used_first

ASK = Ask(
    tasks=1, cpus_per_task=1, min_nodes=1, max_nodes=1, wanted_nodes=1, min_cpus=1, least_cpus=1
)
NAMES = ("cpus", "memory", "gpu")
"""Of those whose sums are known; limits on nodes are left to Python."""
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


def test_limits_on_nodes_are_left_to_python() -> None:
    """The sums do not tell which nodes jobs share."""
    accounts = Accounts(enforced=True, qos={"q": Limits(user_resources={"nodes": 2})})
    table, one = LimitTable(), job(1, "u", "q", 1, 0)
    board = table.room(b.empty_board(1), accounts, one, SECTION)
    row = table.row(board, accounts, one, SECTION)
    assert board.who[row, b.SIMPLE] == 0


def on_nodes(number: int, nodes: int) -> Job:
    """A job of one cpu that runs on these nodes."""
    return replace(job(number, "u", "q", 1, 0), nodes=nodes)


def test_a_node_counts_once_for_all_jobs_on_it() -> None:
    """Three jobs on two nodes are two nodes; a fourth may share them (spec: slurm 6.2)."""
    accounts = Accounts(enforced=True, qos={"q": Limits(group_resources={"nodes": 2})})
    running = Running([on_nodes(1, 0b01), on_nodes(2, 0b01), on_nodes(3, 0b10)])
    new, asks = on_nodes(4, 0), Tally(cpu=1, node=1)
    assert accounts.over(new, asks, running, SECTION) == "QOSGrpNodeLimit", "nodes not chosen"
    assert accounts.over(new, asks, running, SECTION, nodes=0b100) == "QOSGrpNodeLimit"
    assert accounts.over(new, asks, running, SECTION, nodes=0b10) == ""
    asked = replace(new, ask=replace(ASK, required=0b01))
    assert accounts.over(asked, asks, running, SECTION) == "", "a node that it names is in use"
    assert accounts.nodes_used(new, running, SECTION) == 0b11
    running.drop(running[2])
    assert accounts.over(new, asks, running, SECTION, nodes=0b10) == ""


def test_a_start_takes_nodes_in_use_first_under_a_limit_on_nodes() -> None:
    """Of nodes of one kind, if the group uses any of them (spec: slurm 6.2)."""
    nodes = tuple(
        Hardware(name=name, cpus=cpus) for name, cpus in (("a", 4), ("b", 4), ("c", 8), ("d", 8))
    )
    machine = Machine(nodes=nodes, sections={})
    plain = base_weights(machine)
    assert (with_used_first(machine, plain, 0b1111, 0b0010) - plain).tolist() == [256, 0, 0, 0]
    assert (with_used_first(machine, plain, 0b1100, 0b0010) - plain).tolist() == [0, 0, 0, 0]
