"""Records as rows of the tables, and back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from shadowtime.hperf import tables
from shadowtime.hperf.record import Process, Record, Thread

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

BLOCK = 2000
"""Jobs read at a time with all that hangs below them."""


def insert_records(
    connection: sa.Connection, records: Sequence[Record], places: Mapping[str, int]
) -> None:
    """Insert jobs, then what hangs below those that have anything below them."""
    plain = [_job_row(r, places[r.tag]) for r in records if not r.processes]
    if plain:
        connection.execute(sa.insert(tables.job), plain)
    deep = [r for r in records if r.processes]
    if not deep:
        return
    jobs = _inserted(connection, tables.job, [_job_row(r, places[r.tag]) for r in deep])
    processes = [
        (job, process) for job, r in zip(jobs, deep, strict=True) for process in r.processes
    ]
    ids = _inserted(
        connection,
        tables.process,
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
        connection, tables.thread, [{"process_id": at, "number": t.number} for at, t in threads]
    )
    counters = [
        {"thread_id": at, "name": name, "value": value}
        for at, (_, thread) in zip(ids, threads, strict=True)
        for name, value in thread.counters.items()
    ]
    if counters:
        connection.execute(sa.insert(tables.counter), counters)


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
    job, name = tables.job.c, tables.tag.c.name
    after = 0
    while True:
        wanted = sa.select(*job, name).join(tables.tag).where(job.id > after)
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
    p, t, c = tables.process.c, tables.thread.c, tables.counter.c
    rows = connection.execute(
        sa.select(*p, t.id.label("thread"), t.number, c.name, c.value)
        .select_from(tables.process.outerjoin(tables.thread).outerjoin(tables.counter))
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
