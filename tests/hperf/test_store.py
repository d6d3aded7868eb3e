"""The performance store on SQLite, MariaDB and PostgreSQL."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import sqlalchemy as sa

from shadowtime.errors import InputError, StoreError, UsageError
from shadowtime.hperf import Process, Record, Thread, open_store
from shadowtime.hperf.database import (
    VERSION,
    bring_up_to_date,
    connected,
    url_of,
    version_of,
    writing,
)
from shadowtime.hperf.files import read_records, write_records
from shadowtime.hperf.store import predict

DEEP = Record.measured(
    "cg.D.2",
    tuple(
        Process(
            rank=rank,
            node=f"n{rank}",
            elapsed=10.0,
            threads=(
                Thread(number=0, counters={"LLC_TCM": 100_000_000, "CYC": 7}),
                Thread(number=1, counters={"LLC_TCM": rank}),
            ),
        )
        for rank in range(2)
    ),
    key="c1/1",
    finished=1_700_000_000,
    source="perf",
)


def test_the_average_is_that_of_the_records(url: str) -> None:
    """Per tag, over all its records; an unknown tag has none."""
    store = open_store(url)
    records = [Record(tag=t, bandwidth=b) for t, b in (("a", 100.0), ("b", 7.5), ("a", 300.0))]
    assert store.add(records) == (3, 0)
    assert store.average("a") == (200.0, 2)
    assert store.average("c") is None
    assert store.averages() == {"a": (200.0, 2), "b": (7.5, 1)}


@pytest.mark.parametrize(
    "tag",
    ["it's", 'say "hi"; DROP TABLE hperf_tag; --', "%_\\", "größe-日本", "a b", "A", "x" * 255],
)
def test_any_printable_tag_is_kept_as_it_is(url: str, tag: str) -> None:
    """Quotes, other scripts, capitals: a tag is read back exactly."""
    store = open_store(url)
    store.add([Record(tag=tag, bandwidth=5.0), Record(tag="a", bandwidth=1.0)])
    assert store.average(tag) == (5.0, 1)
    assert [r.tag for r in store.records(tag)] == [tag]


@pytest.mark.parametrize("tag", ["", "  ", "x" * 10_000, "a\nb", "nul\0"])
def test_what_is_no_tag_is_refused_and_exclusive(tmp_path: Path, tag: str) -> None:
    """Recording one is an error with the reason; looking one up finds nothing."""
    with pytest.raises(InputError, match="a tag"):
        Record(tag=tag, bandwidth=1.0)
    store = open_store(str(tmp_path / "s"))
    assert predict(tag, lambda: store).exclusive


def test_a_job_is_counted_once(url: str) -> None:
    """By its key, in one batch or later; without a key every record counts."""
    store = open_store(url)
    once = Record(tag="a", bandwidth=4.0, key="c1/9")
    assert store.add([once, once]) == (1, 1)
    assert store.add([once, Record(tag="a", bandwidth=8.0)]) == (1, 1)
    assert store.average("a") == (6.0, 2)


def test_everything_below_a_job_comes_back(url: str) -> None:
    """Processes, threads and counters, through the database and through a file."""
    store = open_store(url)
    plain = Record(tag="z", bandwidth=1.5, elapsed=3.0, width=4, source="declared")
    store.add([DEEP, plain])
    assert list(store.records()) == [plain, DEEP] or list(store.records()) == [DEEP, plain]
    assert list(store.records("cg.D.2")) == [DEEP]
    assert DEEP.bandwidth == pytest.approx(640.0, rel=1e-6)


def test_forgetting(url: str) -> None:
    """Forgetting a tag or old records updates the sums and leaves no rows behind."""
    store = open_store(url)
    old = Record(tag="a", bandwidth=2.0, finished=10)
    store.add([old, Record(tag="a", bandwidth=4.0, finished=20), DEEP])
    assert store.forget("a", before=15) == 1
    assert store.average("a") == (4.0, 1)
    assert store.forget(before=15) == 0
    assert store.forget("cg.D.2") == 1
    assert store.average("cg.D.2") is None
    assert store.forget("never heard of") == 0
    with connected(url_of(url), 5).connect() as connection:
        assert connection.scalar(sa.text("SELECT COUNT(*) FROM hperf_counter")) == 0
    assert store.add([DEEP]) == (1, 0)  # its key is free again


def test_eight_writers_lose_nothing(url: str) -> None:
    """Eight at once, in two processes, making the store, the tags and the records."""
    count = 9
    worker = Path(__file__).with_name("writers.py")
    writers = [
        subprocess.Popen(
            [sys.executable, str(worker), url, str(first), str(count)],
            stderr=subprocess.PIPE,
            text=True,
        )
        for first in (0, 4)
    ]
    for writer in writers:
        _, errors = writer.communicate(timeout=120)
        assert writer.returncode == 0, errors
    store = open_store(url)
    records = list(store.records())
    assert len(records) == 8 * count
    for tag, (mean, number) in store.averages().items():
        mine = [r.bandwidth for r in records if r.tag == tag]
        assert number == len(mine)
        assert mean == pytest.approx(sum(mine) / number)


def test_an_older_store_is_brought_up_to_date(url: str) -> None:
    """Version 1 with a record in it: opened, it has the new tables and the old record."""
    engine = connected(url_of(url), 5)
    with writing(engine) as connection:
        bring_up_to_date(connection, url, to=1)
        assert version_of(connection) == 1
        connection.execute(sa.text("INSERT INTO hperf_tag VALUES (1, 'old', 1, 7.0)"))
        connection.execute(
            sa.text("INSERT INTO hperf_job VALUES (1, 1, NULL, 7.0, 1.0, 1, 0, 'declared')")
        )
    engine.dispose()
    store = open_store(url)
    assert [r.tag for r in store.records()] == ["old"]
    store.add([DEEP])
    assert store.average("old") == (7.0, 1)
    with connected(url_of(url), 5).connect() as connection:
        assert version_of(connection) == VERSION


def test_a_newer_store_is_left_alone(url: str, execute: Callable[[str], None]) -> None:
    """Rejected with the version and what to do; its content is unchanged."""
    open_store(url).add([DEEP])
    execute("UPDATE hperf_schema SET version = 99")
    with pytest.raises(StoreError, match=r"schema version 99 .* upgrade Shadowtime"):
        open_store(url)
    assert "schema version 99" in predict("cg.D.2", lambda: open_store(url)).why
    execute(f"UPDATE hperf_schema SET version = {VERSION}")
    assert len(list(open_store(url).records())) == 1


def test_a_failed_import_leaves_nothing(url: str, execute: Callable[[str], None]) -> None:
    """A batch is one transaction: after a failure nothing of it remains."""
    store = open_store(url)
    counters = {"LLC_TCM": 1, "X": 1}
    process = Process(elapsed=1.0, threads=(Thread(counters=counters),))
    broken = Record.measured("b", (process,))
    counters["X"] = 10**30  # bypasses the record's own check: no table can hold it
    with pytest.raises((StoreError, OverflowError)):
        store.add([Record(tag="a", bandwidth=1.0), broken])
    assert store.averages() == {}
    assert list(store.records()) == []


@pytest.mark.parametrize("kind", ["mariadb", "postgresql"])
def test_a_server_that_is_down(kind: str) -> None:
    """The error is immediate; a scheduler falls back to exclusive nodes."""
    from hperf.servers import free_port

    where = f"{kind}://hperf:secret@127.0.0.1:{free_port()}/hperf"
    with pytest.raises(StoreError, match="does not answer") as refused:
        open_store(where)
    assert "secret" not in str(refused.value)
    answer = predict("cg", lambda: open_store(where))
    assert answer.exclusive and "does not answer" in answer.why


def test_wrong_password_and_missing_database(mariadb_url: str) -> None:
    """Two mistakes in a URL give two different messages."""
    with pytest.raises(StoreError, match="user and password"):
        open_store(mariadb_url.replace("geheim", "falsch"))
    with pytest.raises(StoreError, match=r"user and password|does not exist"):
        open_store(mariadb_url.replace("/hperf", "/elsewhere"))


def test_a_database_that_does_not_exist(postgresql_url: str) -> None:
    """The error states that the database does not exist."""
    with pytest.raises(StoreError, match="does not exist on that server"):
        open_store(postgresql_url.replace("/hperf", "/elsewhere"))


def test_a_read_only_store_can_be_read(url: str, execute: Callable[[str], None]) -> None:
    """Reading works, writing is an error with the reason, and nothing changes."""
    open_store(url).add([DEEP])
    if "://" not in url:
        reader = f"sqlite:///file:{url}?mode=ro&uri=true"
    elif url.startswith("mariadb"):
        reader = url.replace("hperf:geheim@", "reader@")
    else:
        execute("GRANT SELECT ON ALL TABLES IN SCHEMA public TO reader")
        reader = url.replace("hperf@", "reader@")
    store = open_store(reader)
    assert store.average("cg.D.2") is not None
    with pytest.raises(StoreError, match="is read-only for this user"):
        store.add([Record(tag="b", bandwidth=1.0)])
    assert len(list(open_store(url).records())) == 1


def test_a_locked_store(url: str) -> None:
    """After the timeout the error names the lock; once it is released, the record is stored."""
    open_store(url).add([DEEP])
    engine = connected(url_of(url), 5)
    with writing(engine) as connection:
        connection.execute(sa.text("UPDATE hperf_tag SET records = records"))
        store = open_store(url, patience=0.2)
        with pytest.raises(StoreError, match="is locked by another program"):
            store.add([Record(tag="cg.D.2", bandwidth=640.0)])
    engine.dispose()
    assert store.add([Record(tag="cg.D.2", bandwidth=640.0)]) == (1, 0)


def test_a_file_that_is_no_store(tmp_path: Path) -> None:
    """Any other file, or a folder, is rejected and left unchanged."""
    other = tmp_path / "notes.txt"
    other.write_text("not a database at all, but long enough to be looked at twice" * 20)
    before = other.read_bytes()
    with pytest.raises(StoreError, match="is not a performance store"):
        open_store(str(other))
    assert other.read_bytes() == before
    with pytest.raises(StoreError):
        open_store(str(tmp_path))
    with pytest.raises(UsageError, match="no store can be kept in 'oracle'"):
        open_store("oracle://x/y")


@pytest.mark.parametrize("name", ["r.jsonl", "r.csv"])
def test_files_go_both_ways(tmp_path: Path, name: str) -> None:
    """Export and import give the same records; the CSV keeps the row per job."""
    records = [DEEP, Record(tag='a,"b"', bandwidth=0.1, key=None)]
    assert write_records(records, tmp_path / name) == 2
    again = read_records(tmp_path / name)
    if name.endswith("csv"):
        records[0] = Record(**{**vars(DEEP), "processes": ()})
    assert again == records


@pytest.mark.parametrize(
    ("name", "text", "line", "what"),
    [
        ("a.jsonl", '{"tag": "a", "bandwidth": 1}\n{"tag": "b", "band', 2, "half written"),
        ("a.jsonl", '{"tag": "a"}\n', 1, "needs bandwidth"),
        ("a.jsonl", '{"tag": "a", "bandwidth": "fast"}\n', 1, "must be a number"),
        ("a.jsonl", '{"tag": "a", "bandwidth": -1}\n', 1, "from 0 on"),
        ("a.jsonl", '{"tag": "a", "bandwidth": 1, "x": 2}\n', 1, "no field 'x'"),
        ("a.jsonl", "[1]\n", 1, "JSON object"),
        ("a.csv", "tag,bandwidth\na,1\nb\n", 3, "half written"),
        ("a.csv", "tag,bandwidth\na,1\nb,nan\n", 3, "from 0 on"),
        ("a.csv", "name,speed\na,1\n", 2, "no field 'name'"),
    ],
)
def test_a_broken_line_is_named(tmp_path: Path, name: str, text: str, line: int, what: str) -> None:
    """File, line, reason; nothing is imported."""
    path = tmp_path / name
    path.write_text(text)
    with pytest.raises(InputError, match=what) as refused:
        read_records(path)
    assert f"line {line}: " in str(refused.value)
    assert "othing was imported" in str(refused.value)
