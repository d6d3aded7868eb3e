"""The performance store: records by tag, their average, and what a scheduler asks of it."""

from __future__ import annotations

import math
import os
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import sqlalchemy as sa
from sqlalchemy import exc

from shadowtime.errors import ShadowtimeError, StoreError
from shadowtime.hperf import database
from shadowtime.hperf import database as db
from shadowtime.hperf.location import default_store
from shadowtime.hperf.record import LONGEST_TAG, Process, Record, Thread

TRIES = 20
CHUNK = 500
"""Names in one query: SQLite bounds its parameters."""


class Average(NamedTuple):
    """What is known about a tag: mean MB/s per process, and the number of records."""

    mean: float
    records: int


class Added(NamedTuple):
    """What happened to records: new ones, and jobs already known by their key."""

    new: int
    known: int


class Store:
    """Records by tag in a database; made by ``open_store``.

    Rules
    -----
    ``add`` is one transaction: all its records are there, or none. Writers may be many: each
    locks the rows of its tags, in one order, so that sums are exact and no deadlock arises.
    """

    def __init__(self, engine: sa.Engine, where: str) -> None:
        self._engine, self.where = engine, where

    def close(self) -> None:
        """Close the connections."""
        self._engine.dispose()

    # ------------------------------------------------------------------ asking
    def average(self, tag: str) -> Average | None:
        """The mean demand of a tag: one look-up by the indexed name; None if nothing is known."""
        tag = tag.strip()
        if len(tag) > LONGEST_TAG:
            return None
        wanted = sa.select(db.tag.c.total, db.tag.c.records).where(db.tag.c.name == tag)
        with database.understood(self.where), self._engine.connect() as connection:
            row = connection.execute(wanted).one_or_none()
        return Average(row.total / row.records, row.records) if row and row.records else None

    def averages(self) -> dict[str, Average]:
        """Every tag with its average, by name."""
        c = db.tag.c
        wanted = sa.select(c.name, c.total, c.records).where(c.records > 0)
        with database.understood(self.where), self._engine.connect() as connection:
            rows = connection.execute(wanted).all()
        return {row.name: Average(row.total / row.records, row.records) for row in sorted(rows)}

    def records(self, tag: str | None = None) -> Iterator[Record]:
        """Every record, of one tag if given, in the order in which they came."""
        with database.understood(self.where), self._engine.connect() as connection:
            yield from read_records(connection, tag)

    # ------------------------------------------------------------------ writing
    def add(self, records: Iterable[Record]) -> Added:
        """Store records: all of them or, where something fails, none."""
        wanted = list(records)
        if not wanted:
            return Added(0, 0)
        names = sorted({record.tag for record in wanted})
        with database.understood(self.where):
            for _ in range(TRIES):
                try:
                    with database.writing(self._engine) as connection:
                        places = _locked(connection, names)
                        if len(places) == len(names):
                            return _add(connection, wanted, places)
                    self._make_tags([name for name in names if name not in places])
                except exc.IntegrityError:
                    continue  # another wrote one of our tags or keys meanwhile: now it is known
                except exc.OperationalError as wrong:
                    if not _worth_another_try(wrong):
                        raise
        raise StoreError(f"the store {self.where} is too busy: try again")

    def forget(self, tag: str | None = None, *, before: int | None = None) -> int:
        """Delete records, of one tag and older than an instant if given; returns how many."""
        gone = 0
        for name in [tag.strip()] if tag is not None else list(self.averages()):
            with database.understood(self.where), database.writing(self._engine) as connection:
                place = _locked(connection, [name]).get(name)
                if place is not None:
                    gone += _forget(connection, place, before)
        return gone

    def _make_tags(self, names: Sequence[str]) -> None:
        """Create rows for tags that have none; another writer may be quicker."""
        rows = [{"name": name, "records": 0, "total": 0.0} for name in names]
        with database.writing(self._engine) as connection:
            connection.execute(sa.insert(db.tag), rows)


def _places(
    connection: sa.Connection, names: Sequence[str], *, lock: bool = False
) -> dict[str, int]:
    found: dict[str, int] = {}
    for at in range(0, len(names), CHUNK):
        c = db.tag.c
        wanted = sa.select(c.name, c.id).where(c.name.in_(names[at : at + CHUNK])).order_by(c.name)
        rows = connection.execute(wanted.with_for_update() if lock else wanted).all()
        found.update((row.name, row.id) for row in rows)
    return found


def _locked(connection: sa.Connection, names: Sequence[str]) -> dict[str, int]:
    """The rows of tags, held until the transaction ends (on SQLite it holds everything anyway)."""
    return _places(connection, names, lock=True)


def _add(connection: sa.Connection, wanted: list[Record], places: dict[str, int]) -> Added:
    known = _known(connection, [r.key for r in wanted if r.key is not None])
    fresh = []
    for record in wanted:
        if record.key is None or record.key not in known:
            fresh.append(record)
            if record.key is not None:
                known.add(record.key)
    insert_records(connection, fresh, places)
    by_tag: dict[int, list[float]] = defaultdict(list)
    for record in fresh:
        by_tag[places[record.tag]].append(record.bandwidth)
    c = db.tag.c
    for place, some in sorted(by_tag.items()):
        grown = {"total": c.total + math.fsum(some), "records": c.records + len(some)}
        connection.execute(sa.update(db.tag).where(c.id == place).values(grown))
    return Added(len(fresh), len(wanted) - len(fresh))


def _known(connection: sa.Connection, keys: list[str]) -> set[str]:
    c = db.job.c
    found: set[str] = set()
    for at in range(0, len(keys), CHUNK):
        some = sa.select(c.job_key).where(c.job_key.in_(keys[at : at + CHUNK]))
        found.update(connection.scalars(some))
    return found


def _forget(connection: sa.Connection, place: int, before: int | None) -> int:
    job = db.job.c
    mine = job.tag_id == place
    old = mine if before is None else sa.and_(mine, job.finished < before)
    gone = connection.execute(sa.delete(db.job).where(old)).rowcount
    left = sa.select(sa.func.count(), sa.func.coalesce(sa.func.sum(job.bandwidth), 0.0)).where(mine)
    records, total = connection.execute(left).one()
    row = sa.update(db.tag).where(db.tag.c.id == place)
    connection.execute(row.values(records=records, total=total))
    return int(gone)


def _worth_another_try(wrong: exc.OperationalError) -> bool:
    """Databases resolve a deadlock of writers by rejecting one, which only has to retry."""
    raw = wrong.orig
    code = getattr(raw, "sqlstate", None) or (raw.args[0] if raw and raw.args else None)
    return code in (1213, "40P01", "40001")


BLOCK = 2000
"""Jobs read at a time with their processes, threads and counters."""


def insert_records(
    connection: sa.Connection, records: Sequence[Record], places: Mapping[str, int]
) -> None:
    """Insert jobs, then their processes, threads and counters."""
    plain = [_job_row(r, places[r.tag]) for r in records if not r.processes]
    if plain:
        connection.execute(sa.insert(db.job), plain)
    deep = [r for r in records if r.processes]
    if not deep:
        return
    jobs = _inserted(connection, db.job, [_job_row(r, places[r.tag]) for r in deep])
    processes = [
        (job, process) for job, r in zip(jobs, deep, strict=True) for process in r.processes
    ]
    ids = _inserted(
        connection,
        db.process,
        [
            {"job_id": job, "rank": p.rank, "node": p.node, "elapsed": p.elapsed}
            for job, p in processes
        ],
    )
    threads = [
        (at, thread) for at, (_, p) in zip(ids, processes, strict=True) for thread in p.threads
    ]
    if not threads:
        return
    ids = _inserted(
        connection, db.thread, [{"process_id": at, "number": t.number} for at, t in threads]
    )
    counters = [
        {"thread_id": at, "name": name, "value": value}
        for at, (_, thread) in zip(ids, threads, strict=True)
        for name, value in thread.counters.items()
    ]
    if counters:
        connection.execute(sa.insert(db.counter), counters)


def _job_row(record: Record, place: int) -> dict[str, Any]:
    return {
        "tag_id": place,
        "job_key": record.key,
        "bandwidth": record.bandwidth,
        "elapsed": record.elapsed,
        "width": record.width,
        "finished": record.finished,
        "source": record.source,
    }


def _inserted(
    connection: sa.Connection, table: sa.Table, rows: Sequence[dict[str, Any]]
) -> list[int]:
    """Insert rows and return their ids in the same order."""
    wanted = sa.insert(table).returning(table.c.id, sort_by_parameter_order=True)
    return list(connection.scalars(wanted, rows))


def read_records(connection: sa.Connection, tag: str | None) -> Iterator[Record]:
    """Records in the order of their ids, a block at a time."""
    job, name = db.job.c, db.tag.c.name
    after = 0
    while True:
        wanted = sa.select(*job, name).join(db.tag).where(job.id > after)
        if tag is not None:
            wanted = wanted.where(name == tag.strip())
        rows = connection.execute(wanted.order_by(job.id).limit(BLOCK)).all()
        if not rows:
            return
        after = rows[-1].id
        below = _below(connection, [row.id for row in rows])
        for row in rows:
            yield Record(
                tag=row.name,
                bandwidth=row.bandwidth,
                elapsed=row.elapsed,
                width=row.width,
                key=row.job_key,
                finished=row.finished,
                source=row.source,
                processes=tuple(below.get(row.id, ())),
            )


def _below(connection: sa.Connection, jobs: Sequence[int]) -> dict[int, list[Process]]:
    """The processes of jobs, with their threads and counters."""
    p, t, c = db.process.c, db.thread.c, db.counter.c
    rows = connection.execute(
        sa.select(*p, t.id.label("thread"), t.number, c.name, c.value)
        .select_from(db.process.outerjoin(db.thread).outerjoin(db.counter))
        .where(p.job_id.in_(jobs))
        .order_by(p.id, t.id, c.name)
    ).all()
    made: dict[int, list[Process]] = {}
    places: dict[int, tuple[Any, dict[int, tuple[int, dict[str, int]]]]] = {}
    for row in rows:
        _, threads = places.setdefault(row.id, (row, {}))
        if row.thread is not None:
            _, counters = threads.setdefault(row.thread, (row.number, {}))
            if row.name is not None:
                counters[row.name] = row.value
    for row, threads in places.values():
        made.setdefault(row.job_id, []).append(
            Process(
                rank=row.rank,
                node=row.node,
                elapsed=row.elapsed,
                threads=tuple(Thread(number=n, counters=some) for n, some in threads.values()),
            )
        )
    return made


def open_store(
    where: str | None = None, *, patience: float = 30.0, must_exist: bool = False
) -> Store:
    """Open a store, making it or bringing it up to date where need be.

    Rules
    -----
    ``where`` is a path (SQLite) or a URL: ``sqlite:///file``, ``mariadb://user:word@host/base``,
    ``postgresql://user:word@host/base``. ``patience`` is how long to wait for others' locks.
    ``must_exist`` is for readers: a missing file is an error, and is not created.

    Examples
    --------
    >>> from shadowtime.hperf.record import Record
    >>> store = open_store("sqlite://")
    >>> store.add([Record(tag="cg", bandwidth=100.0), Record(tag="cg", bandwidth=300.0)]).new
    2
    >>> store.average("cg").mean
    200.0
    """
    url = database.url_of(where or default_store())
    name = url.render_as_string(hide_password=True)
    file = database.file_of(url)
    if must_exist and file and not os.path.exists(file):
        raise StoreError(f"there is no store {file}: name another, or record a job in it first")
    with database.understood(name):
        engine = database.connected(url, patience)
        with engine.connect() as connection:
            have = database.version_of(connection)
        database.refuse_newer(have, name)
        if have < database.VERSION:
            with database.writing(engine) as connection:
                database.bring_up_to_date(connection, name)
    return Store(engine, name)


class Prediction(NamedTuple):
    """MB/s per process by earlier records; exclusive nodes where there is none."""

    bandwidth: float
    exclusive: bool
    why: str


def predict(tag: str, opened: Callable[[], Store]) -> Prediction:
    """The demand of a job by its tag; never fails.

    Examples
    --------
    >>> from shadowtime.hperf import Record, open_store
    >>> store = open_store("sqlite://")
    >>> predict("cg", lambda: store)
    Prediction(bandwidth=0.0, exclusive=True, why='no record of cg yet')
    >>> _ = store.add([Record(tag="cg", bandwidth=240.0)])
    >>> predict("cg", lambda: store)
    Prediction(bandwidth=240.0, exclusive=False, why='mean of 1 record')
    """
    try:
        found = opened().average(tag)
    except ShadowtimeError as wrong:
        return Prediction(0.0, True, str(wrong))
    if found is None:
        return Prediction(0.0, True, f"no record of {tag[:40]} yet")
    plural = "" if found.records == 1 else "s"
    return Prediction(found.mean, False, f"mean of {found.records} record{plural}")
