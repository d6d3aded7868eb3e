"""The columns that passes carry over hold the same as the objects they replace, job by job."""

from __future__ import annotations

import json
import os
import pickle
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shadowtime.cluster.contention import node_cluster
from shadowtime.cluster.site import Node, Qos, Site
from shadowtime.engine.live_pass import Memory, Note, Promise, WaitingJob, natural
from shadowtime.engine.live_pass.memory import UNKNOWN, Notes, Promises
from shadowtime.engine.live_pass.site_rows import limits_checksum
from shadowtime.engine.live_pass.table import natural_columns
from shadowtime.engine.nodes.slurm.counted import counting_of, wish_of, wishes
from shadowtime.engine.site.plans import Plans, Run, RunsByRow
from shadowtime.errors import InputError
from shadowtime.policy import parse_policy

WHOLE = st.integers(-1, 1 << 48)
IDS = st.lists(st.from_regex(r"[0-9]{1,3}(_[0-9]{1,2})?", fullmatch=True), unique=True, max_size=8)
TASKS = st.dictionaries(st.sampled_from("abcdef"), st.integers(1, 64), max_size=4)
RUNS = st.builds(Run, st.integers(0, 1 << 40), TASKS, st.sampled_from(["", "long", "short"]))


@st.composite
def notes(draw: st.DrawFn) -> dict[str, Note]:
    """Notes by job."""
    return {job: Note(*draw(st.tuples(*[WHOLE] * 7))) for job in draw(IDS)}


@given(notes(), notes())
def test_notes_as_columns_are_the_notes(some: dict[str, Note], others: dict[str, Note]) -> None:
    kept = Notes.of(some)
    assert kept == some and dict(kept) == some and list(kept) == list(some)
    assert {job: Note(*numbers) for job, numbers in kept.to_lists().items()} == some
    asked = [*others, *some]
    found = kept.take(kept.rows_of(asked)).tolist()
    assert found == [list(some.get(job, UNKNOWN)) for job in asked]
    assert kept.and_of(others) == {**others, **some}
    assert pickle.loads(pickle.dumps(kept)) == some


def test_of_a_job_named_twice_the_last_note_counts() -> None:
    rows = np.array([Note(since=1), Note(since=2), Note(since=3)], np.int64)
    assert Notes(["7", "8", "7"], rows) == {"7": Note(since=3), "8": Note(since=2)}


@given(IDS)
def test_columns_of_names_sort_like_natural(ids: list[str]) -> None:
    order = np.lexsort((*reversed(natural_columns(ids)), np.zeros(len(ids))))
    assert [ids[at] for at in order.tolist()] == sorted(ids, key=natural)


@given(st.lists(RUNS, max_size=6), st.data())
def test_plans_as_columns_are_the_runs(runs: list[Run], data: st.DataObject) -> None:
    plans = Plans.of(runs)
    assert plans.runs() == runs
    rows = data.draw(st.lists(st.integers(0, len(runs) - 1), max_size=6)) if runs else []
    assert plans.take(np.array(rows, np.int64)).runs() == [runs[at] for at in rows]
    names = tuple(data.draw(st.permutations("abcd")))
    there = [set(run.tasks) <= set(names) for run in runs]
    moved = plans.on(names)
    assert moved.inside().tolist() == there
    kept = moved.take(np.flatnonzero(there)).runs()
    assert kept == [run for run, inside in zip(runs, there, strict=True) if inside]
    by_row = {3 * at: run for at, run in enumerate(runs)}
    assert RunsByRow.of(by_row) == by_row


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("jobs", ["7", "7"]),
        ("width", [1, -1]),
        ("width", [1]),
        ("node", [0, 2]),
        ("tasks", [4]),
        ("tasks", [4, True]),
        ("partition", [0, 9]),
        ("names", "ab"),
        ("start", [1, 1.5]),
    ],
)
def test_a_damaged_column_of_promises_is_named(column: str, value: list[object]) -> None:
    runs = (Promise("7", 90, place=(("a", 4),)), Promise("8", 95, place=(("b", 1),)))
    written = Promises.of({one.job: one for one in runs}).to_columns()
    with pytest.raises(InputError, match=f"{column} of the promises"):
        Promises.from_columns(written | {column: value})
    with pytest.raises(InputError, match=f"{column} is missing"):
        Promises.from_columns({name: kept for name, kept in written.items() if name != column})


@given(IDS, st.lists(RUNS, min_size=8, max_size=8), notes())
def test_a_memory_survives_the_state_file(
    ids: list[str], runs: list[Run], known: dict[str, Note]
) -> None:
    promises = {
        job: Promise(
            job, run.start, partition=run.partition, place=tuple(run.tasks.items()), ask=at
        )
        for at, (job, run) in enumerate(zip(ids, runs, strict=False))
    }
    assert Promises.of(promises) == promises
    calm = {job: note._replace(estimate=1, initial=2, kills=0) for job, note in known.items()}
    plain = Memory(now=7, jobs=calm, promises=promises)
    columns = Memory(now=7, jobs=Notes.of(calm), promises=Promises.of(promises))
    assert columns == plain and columns.to_json() == plain.to_json()
    assert Memory.from_json(json.loads(json.dumps(columns.to_json()))) == plain


@given(
    st.lists(
        st.builds(
            WaitingJob,
            id=st.sampled_from(["1", "2", "3"]),
            submit=st.just(0),
            need=st.tuples(st.integers(10, 99), st.sampled_from([0, 1, 7, 34000, 1 << 54])),
            request=st.just(9),
            alone=st.booleans(),
            chunk=st.integers(1, 3),
            bandwidth=st.sampled_from([-1, 0, 0.0005, 412.25, 4250]),
        ),
        max_size=6,
    ),
    st.sampled_from(["lessc", "hperf", "consres", "hperf(estimate=by-tag(predict=start))"]),
)
def test_all_wishes_at_once_are_those_one_by_one(jobs: list[WaitingJob], policy: str) -> None:
    how = counting_of(parse_policy(policy), node_cluster(2, procs=16, bandwidth=34000))
    known = {"2": 1500}
    assert wishes(jobs, how, known).tolist() == [wish_of(job, how, known) for job in jobs]


@pytest.mark.parametrize("seed", ["1", "2"])
def test_the_checksum_of_limits_is_the_same_in_every_process(seed: str) -> None:
    """Sets are ordered differently in each process; a restarted loop must recognise its limits."""
    text = (
        "from shadowtime.cluster.site import Node, Qos, Site\n"
        "from shadowtime.engine.live_pass.site_rows import limits_checksum\n"
        "qos = Qos(name='q', flags=frozenset({'DenyOnLimit', 'NoDecay', 'x', 'y', 'z'}))\n"
        "print(limits_checksum(Site(nodes=(Node(name='n', amounts=(4,)),), qos=(qos,))))\n"
    )
    other = subprocess.run(
        [sys.executable, "-c", text],
        env={**os.environ, "PYTHONHASHSEED": seed},
        capture_output=True,
        text=True,
        check=True,
    )
    flags = frozenset({"DenyOnLimit", "NoDecay", "x", "y", "z"})
    site = Site(nodes=(Node(name="n", amounts=(4,)),), qos=(Qos(name="q", flags=flags),))
    assert int(other.stdout) == limits_checksum(site)
