"""The schema's version, and the steps from one to the next.

A store of an older version is brought up to date when it is opened; one of a newer version is
refused, untouched. Steps only add, so that nothing recorded is lost.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import sqlalchemy as sa

from shadowtime.errors import StoreError
from shadowtime.hperf import tables

if TYPE_CHECKING:
    from collections.abc import Callable

LOCK = 0x48506572


def jobs_by_tag(connection: sa.Connection) -> None:
    """Version 1: tags and the jobs recorded under them."""
    tables.metadata.create_all(connection, [tables.version, tables.tag, tables.job])


def counters_of_threads(connection: sa.Connection) -> None:
    """Version 2: where a job's figure came from, down to the counters of each thread."""
    tables.metadata.create_all(connection, [tables.process, tables.thread, tables.counter])


STEPS: tuple[Callable[[sa.Connection], None], ...] = (jobs_by_tag, counters_of_threads)
VERSION = len(STEPS)


def version_of(connection: sa.Connection) -> int:
    """The version of the schema in a database, 0 if there is none."""
    if not sa.inspect(connection).has_table(tables.version.name):
        return 0
    found = connection.scalar(sa.select(tables.version.c.version))
    return 0 if found is None else int(found)


def bring_up_to_date(connection: sa.Connection, where: str, *, to: int = VERSION) -> None:
    """Carry out the missing steps; several may try at once, one of them does it."""
    alone(connection)
    have = version_of(connection)
    refuse_newer(have, where)
    for number, step in enumerate(STEPS[have:to], have + 1):
        step(connection)
        connection.execute(sa.delete(tables.version))
        connection.execute(sa.insert(tables.version).values(one=1, version=number))


def refuse_newer(have: int, where: str) -> None:
    """Refuse a schema from the future."""
    if have > VERSION:
        raise StoreError(
            f"the store {where} has schema version {have} and this Shadowtime knows {VERSION}: "
            "upgrade Shadowtime; the store was left as it is"
        )


def alone(connection: sa.Connection) -> None:
    """Keep others from migrating until this transaction is over and its connection closed.

    SQLite's writing transaction does so by itself.
    """
    kind = connection.dialect.name
    if kind == "postgresql":
        connection.execute(sa.text(f"SELECT pg_advisory_xact_lock({LOCK})"))
    elif kind in ("mysql", "mariadb"):
        # Not released by hand: others must not look before our last step is committed.
        connection.execute(sa.text(f"SELECT GET_LOCK('hperf-{LOCK}', 60)"))
