"""Broken logs: whatever the bytes, the answer is a workload or one of our errors.

A byte fuzzer breaks every line of many files, 100,000 lines in all; hypothesis looks for the
shapes that a random breaker does not find. Both read with ``bad_lines="drop"``, so that no broken
line hides those behind it, and again with ``refuse``.
"""

from __future__ import annotations

import gzip
import random
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conftest import examples
from fuzz_formats import sacct_line, site_csv_line, swf_line
from fuzzing import NASTY, broken_bytes
from shadowtime.errors import InputError, ShadowtimeError
from shadowtime.slurmtext.sacct_rows import LAYOUTS, RECOMMENDED
from shadowtime.trace import parse_sacct, parse_swf, read, to_swf
from shadowtime.trace.info import describe
from shadowtime.trace.slurm_csv import parse_slurm_csv
from shadowtime.workload import Workload
from shadowtime.workload.clean import RULES, clean
from shadowtime.workload.raw import RawTrace

LINES = examples(500)


def must_be_sound(w: Workload) -> None:
    """What every simulation relies on."""
    assert len(w) > 0
    order = np.lexsort((w.job_id, w.submit))
    assert bool((order == np.arange(len(w))).all())
    assert len(np.unique(w.job_id)) == len(w)
    assert int(w.submit.min()) >= 0
    assert int(w.run.min()) > 0
    assert int(w.request.min()) > 0
    assert int(w.procs.min()) > 0
    assert int(w.demand.min()) >= 0
    assert int(w.recorded_start.min()) >= -1
    assert all(count >= 0 for count in w.cleaning.values())
    assert set(w.cleaning) <= set(RULES)


def answer(parse: object, data: bytes | str, **options: str) -> RawTrace | None:
    """A raw trace, or None with one of our errors; anything else fails the test."""
    try:
        return parse(data, name="fuzz", path="fuzz", **options)  # type: ignore[operator, no-any-return]
    except ShadowtimeError as error:
        assert str(error)
        return None


def judge(raw: RawTrace | None, rng: random.Random) -> Workload | None:
    if raw is None:
        return None
    try:
        w = clean(
            raw,
            memory=rng.random() < 0.5,
            gpus=rng.random() < 0.5,
            partial=rng.choice(["drop", "keep"]),
            no_run=rng.choice(["drop", "one-second"]),
            cancelled=rng.choice(["drop", "queue-until-cancel"]),
            overrun=rng.choice(["cut", "extend", "keep"]),
        )
    except ShadowtimeError as error:
        assert str(error)
        return None
    must_be_sound(w)
    return w


@pytest.mark.parametrize("seed", range(10))
def test_broken_lines_of_swf(seed: int) -> None:
    rng = random.Random(seed)
    read_at_all = 0
    for _ in range(10):
        lines = [broken_bytes(swf_line(rng).encode(), rng) for _ in range(LINES)]
        data = b"; MaxProcs: 500\n" + b"\n".join(lines)
        answer(parse_swf, data, bad_lines="refuse")
        w = judge(answer(parse_swf, data, bad_lines="drop"), rng)
        if w is not None:
            read_at_all += len(w)
            again = clean(parse_swf(to_swf(w).encode(), name="again"), partial="keep")
            assert again.job_id.tolist() == w.job_id.tolist()
            describe(w)
    assert read_at_all > 0  # the breaker must leave something to judge


@pytest.mark.parametrize("seed", range(10))
def test_broken_lines_of_sacct(seed: int) -> None:
    rng = random.Random(1000 + seed)
    read_at_all = 0
    for round_ in range(10):
        layout = LAYOUTS[round_ % len(LAYOUTS)]
        with_header = layout == LAYOUTS[0]
        lines = [broken_bytes(sacct_line(rng, layout).encode(), rng) for _ in range(LINES)]
        first = (
            RECOMMENDED.replace(",", "|").encode()
            if with_header
            else sacct_line(rng, layout).encode()
        )
        text = b"\n".join([first, *lines]).decode("utf-8", "replace")
        answer(parse_sacct, text, bad_lines="refuse")
        w = judge(answer(parse_sacct, text, bad_lines="drop", cluster="c1"), rng)
        read_at_all += 0 if w is None else len(w)
    assert read_at_all > 0


@pytest.mark.parametrize("seed", range(3))
def test_broken_lines_of_a_site_csv(seed: int) -> None:
    rng = random.Random(2000 + seed)
    head = b"JobName,ReqMem,ReqCPUs,ReqGPUs,ReqDuration,ActualDuration,Submit\n"
    lines = [broken_bytes(site_csv_line(rng).encode(), rng) for _ in range(LINES)]
    text = (head + b"\n".join(lines)).decode("utf-8", "replace")
    answer(parse_slurm_csv, text, bad_lines="refuse")
    assert judge(answer(parse_slurm_csv, text, bad_lines="drop"), rng) is not None


@settings(deadline=None, max_examples=examples(300))
@given(st.binary(max_size=400))
def test_any_bytes_as_swf(data: bytes) -> None:
    rng = random.Random(0)
    for choice in ("refuse", "drop"):
        judge(answer(parse_swf, data, bad_lines=choice), rng)


tokens = st.one_of(
    st.integers(-(10**20), 10**20).map(str),
    st.floats().map(repr),
    st.sampled_from(NASTY),
    st.text(max_size=8),
)


@settings(deadline=None, max_examples=examples(200))
@given(st.lists(st.lists(tokens, min_size=16, max_size=20).map(" ".join), min_size=1, max_size=8))
def test_any_tokens_as_swf(lines: list[str]) -> None:
    data = "\n".join(lines).encode("utf-8", "replace")
    for choice in ("refuse", "drop"):
        judge(answer(parse_swf, data, bad_lines=choice), random.Random(0))


@settings(deadline=None, max_examples=examples(200))
@given(st.lists(st.lists(tokens, min_size=29, max_size=31).map("|".join), min_size=1, max_size=5))
def test_any_tokens_as_sacct(lines: list[str]) -> None:
    for head in (RECOMMENDED.replace(",", "|"), RECOMMENDED, ""):
        text = "\n".join([head, *lines] if head else lines)
        for choice in ("refuse", "drop"):
            judge(answer(parse_sacct, text, bad_lines=choice), random.Random(0))


@settings(deadline=None, max_examples=examples(200))
@given(st.text(max_size=300))
def test_any_text_as_sacct_and_csv(text: str) -> None:
    for parse in (parse_sacct, parse_slurm_csv):
        judge(answer(parse, text, bad_lines="drop"), random.Random(0))


@pytest.mark.filterwarnings("ignore:.*cut off")
@pytest.mark.parametrize("seed", range(5))
def test_broken_files_of_any_kind(seed: int, tmp_path: Path) -> None:
    rng = random.Random(3000 + seed)
    path = tmp_path / "log"
    whole = gzip.compress("\n".join(swf_line(rng) for _ in range(50)).encode(), mtime=0)
    for _ in range(60):
        path.write_bytes(broken_bytes(whole, rng))
        try:
            must_be_sound(read(path, bad_lines="drop"))
        except InputError as error:
            assert str(error).startswith(str(path))
