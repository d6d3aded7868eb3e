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

from shadowtime.errors import InputError, ShadowtimeError
from shadowtime.trace import parse_sacct, parse_swf, read, to_swf
from shadowtime.trace.info import describe
from shadowtime.trace.sacct_rows import LAYOUTS, RECOMMENDED
from shadowtime.trace.slurm_csv import parse_slurm_csv
from shadowtime.workload import Workload
from shadowtime.workload.clean import RULES, clean
from shadowtime.workload.raw import RawTrace

LINES = 500
NASTY = [
    b"nan", b"inf", b"-", b"+", b".", b"1e400", b"-1", b"0", b"9" * 19, b"9" * 40, b"1.5", b"1e5",
    b"\x00", b"\xff\xfe", b"|", b"||", b";", b",", b'"', b"\n", b"\r", b"\t", b" ", b"", b"=",
    b"UNLIMITED", b"Unknown", b"None assigned", b"CANCELLED by 5", b"1-02:03:04", b"4Gn", b"[",
    b"]", b"123_[1-9%5]", b"7.batch", b"7+1", b"2026-02-30T00:00:00", b"cpu=1,mem=9999P", b"n[1-",
    "\u0663\u00b2\U0001f642".encode(),
]  # fmt: skip


def swf_line(rng: random.Random) -> bytes:
    fields = [rng.randrange(10**6), rng.randrange(10**7), rng.choice([-1, rng.randrange(10**5)]),
              rng.choice([-1, 0, rng.randrange(10**5)]), rng.choice([-1, rng.randrange(1, 500)]),
              -1, rng.choice([-1, rng.randrange(10**6)]), rng.choice([-1, 8]),
              rng.choice([-1, rng.randrange(10**5)]), -1, rng.choice([0, 1, 2, 3, 4, 5]),
              *(rng.randrange(-1, 50) for _ in range(7))]  # fmt: skip
    return " ".join(map(str, fields)).encode()


def sacct_line(rng: random.Random, columns: tuple[str, ...]) -> bytes:
    submit = 1_700_000_000 + rng.randrange(10**6)
    start = submit + rng.randrange(10**4)
    run = rng.randrange(10**4)
    number = rng.randrange(10**5)
    value = {
        "jobid": f"{number}{rng.choice(['', '_3', '.batch', '+1', '_[1-5]'])}",
        "jobidraw": str(number), "cluster": "c1", "user": rng.choice(["ann", "bob", ""]),
        "submit": str(submit), "eligible": str(submit), "start": str(start),
        "end": str(start + run), "elapsed": f"{run // 3600}:{run // 60 % 60:02}:{run % 60:02}",
        "elapsedraw": str(run), "timelimit": "1-00:00:00", "timelimitraw": "60",
        "state": rng.choice(["COMPLETED", "FAILED", "CANCELLED by 3", "RUNNING", "TIMEOUT"]),
        "nnodes": "2", "reqcpus": "4", "ncpus": "4", "reqmem": rng.choice(["4Gn", "100Mc", "8G"]),
        "reqtres": "cpu=4,mem=8G,node=2", "alloctres": "cpu=4,mem=8G,gres/gpu=1,node=2",
        "nodelist": "n[1-2]", "jobname": rng.choice(["a", "a|b", "two words", "x\ny"]),
    }  # fmt: skip
    return "|".join(value.get(name, "0") for name in columns).encode()


def broken(line: bytes, rng: random.Random) -> bytes:
    """The line with one to three things wrong with it."""
    for _ in range(rng.randint(1, 3)):
        at = rng.randrange(len(line) + 1)
        what = rng.randrange(6)
        if what == 0:
            line = line[:at] + bytes([rng.randrange(256)]) + line[at + 1 :]
        elif what == 1:
            line = line[:at] + line[at + rng.randint(1, 8) :]
        elif what == 2:
            line = line[:at] + rng.choice(NASTY) + line[at:]
        elif what == 3:
            line = line[:at] + line[max(0, at - rng.randint(1, 20)) :]
        elif what == 4:
            mark = b"|" if b"|" in line else b" "
            fields = line.split(mark)
            fields[rng.randrange(len(fields))] = rng.choice(NASTY)
            line = mark.join(fields)
        else:
            mark = b"|" if b"|" in line else b" "
            fields = line.split(mark)
            i, j = rng.randrange(len(fields)), rng.randrange(len(fields))
            fields[i], fields[j] = fields[j], fields[i]
            line = mark.join(fields)
    return line


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
def test_fifty_thousand_broken_lines_of_swf(seed: int) -> None:
    rng = random.Random(seed)
    read_at_all = 0
    for _ in range(10):
        lines = [broken(swf_line(rng), rng) for _ in range(LINES)]
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
def test_fifty_thousand_broken_lines_of_sacct(seed: int) -> None:
    rng = random.Random(1000 + seed)
    read_at_all = 0
    for round_ in range(10):
        layout = LAYOUTS[round_ % len(LAYOUTS)]
        with_header = layout == LAYOUTS[0]
        lines = [broken(sacct_line(rng, layout), rng) for _ in range(LINES)]
        first = RECOMMENDED.replace(",", "|").encode() if with_header else sacct_line(rng, layout)
        text = b"\n".join([first, *lines]).decode("utf-8", "replace")
        answer(parse_sacct, text, bad_lines="refuse")
        w = judge(answer(parse_sacct, text, bad_lines="drop", cluster="c1"), rng)
        read_at_all += 0 if w is None else len(w)
    assert read_at_all > 0


@pytest.mark.parametrize("seed", range(3))
def test_broken_lines_of_a_site_csv(seed: int) -> None:
    rng = random.Random(2000 + seed)
    head = b"JobName,ReqMem,ReqCPUs,ReqGPUs,ReqDuration,ActualDuration,Submit\n"
    lines = [
        broken(f"job{i},4000,{rng.randrange(9)},0,600,60,{1600000000 + i}".encode(), rng)
        for i in range(LINES)
    ]
    text = (head + b"\n".join(lines)).decode("utf-8", "replace")
    answer(parse_slurm_csv, text, bad_lines="refuse")
    assert judge(answer(parse_slurm_csv, text, bad_lines="drop"), rng) is not None


@settings(deadline=None, max_examples=300)
@given(st.binary(max_size=400))
def test_any_bytes_as_swf(data: bytes) -> None:
    rng = random.Random(0)
    for choice in ("refuse", "drop"):
        judge(answer(parse_swf, data, bad_lines=choice), rng)


tokens = st.one_of(
    st.integers(-(10**20), 10**20).map(str),
    st.floats().map(repr),
    st.sampled_from([token.decode("utf-8", "replace") for token in NASTY]),
    st.text(max_size=8),
)


@settings(deadline=None, max_examples=200)
@given(st.lists(st.lists(tokens, min_size=16, max_size=20).map(" ".join), min_size=1, max_size=8))
def test_any_tokens_as_swf(lines: list[str]) -> None:
    data = "\n".join(lines).encode("utf-8", "replace")
    for choice in ("refuse", "drop"):
        judge(answer(parse_swf, data, bad_lines=choice), random.Random(0))


@settings(deadline=None, max_examples=200)
@given(st.lists(st.lists(tokens, min_size=29, max_size=31).map("|".join), min_size=1, max_size=5))
def test_any_tokens_as_sacct(lines: list[str]) -> None:
    for head in (RECOMMENDED.replace(",", "|"), RECOMMENDED, ""):
        text = "\n".join([head, *lines] if head else lines)
        for choice in ("refuse", "drop"):
            judge(answer(parse_sacct, text, bad_lines=choice), random.Random(0))


@settings(deadline=None, max_examples=200)
@given(st.text(max_size=300))
def test_any_text_as_sacct_and_csv(text: str) -> None:
    for parse in (parse_sacct, parse_slurm_csv):
        judge(answer(parse, text, bad_lines="drop"), random.Random(0))


@pytest.mark.parametrize("seed", range(5))
def test_broken_files_of_any_kind(seed: int, tmp_path: Path) -> None:
    rng = random.Random(3000 + seed)
    path = tmp_path / "log"
    whole = gzip.compress(b"\n".join(swf_line(rng) for _ in range(50)), mtime=0)
    for _ in range(60):
        path.write_bytes(broken(whole, rng))
        try:
            must_be_sound(read(path, bad_lines="drop"))
        except InputError as error:
            assert str(error).startswith(str(path))
