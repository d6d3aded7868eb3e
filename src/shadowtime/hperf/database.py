"""The tables of a store, and opening it: which database a URL means, what its errors mean.

The tables are the same on SQLite, MariaDB and PostgreSQL.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from shadowtime import private
from shadowtime.errors import MissingExtra, StoreError, UsageError
from shadowtime.hperf.record import LONGEST_KEY, LONGEST_TAG

try:
    import sqlalchemy as sa
    from sqlalchemy import exc, pool
    from sqlalchemy.dialects import mysql
except ImportError:
    raise MissingExtra("sqlalchemy", extra="store", purpose="keep a performance store") from None


def exact(length: int) -> sa.types.TypeEngine[str]:
    """Text compared byte by byte: MariaDB's own collations take A for a."""
    plain = mysql.VARCHAR(length, charset="utf8mb4", collation="utf8mb4_bin")
    return sa.String(length).with_variant(plain, "mysql", "mariadb")


number = sa.BigInteger().with_variant(sa.Integer, "sqlite")
"""Keys that count up: SQLite does so for INTEGER alone."""
metadata = sa.MetaData()


def owner(table: str, **options: bool) -> sa.Column[int]:
    """The row of another table that a row belongs to, and with which it is deleted."""
    key = sa.ForeignKey(f"hperf_{table}.id", ondelete="CASCADE")
    return sa.Column(f"{table}_id", number, key, **options)  # type: ignore[arg-type]


version = sa.Table(
    "hperf_schema",
    metadata,
    sa.Column("one", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("version", sa.Integer, nullable=False),
)

tag = sa.Table(
    "hperf_tag",
    metadata,
    sa.Column("id", number, primary_key=True),
    sa.Column("name", exact(LONGEST_TAG), nullable=False, unique=True),
    sa.Column("records", sa.BigInteger, nullable=False),
    sa.Column("total", sa.Double, nullable=False),
)

job = sa.Table(
    "hperf_job",
    metadata,
    sa.Column("id", number, primary_key=True),
    sa.Column("tag_id", number, sa.ForeignKey("hperf_tag.id"), nullable=False, index=True),
    sa.Column("job_key", exact(LONGEST_KEY), unique=True),
    sa.Column("bandwidth", sa.Double, nullable=False),
    sa.Column("elapsed", sa.Double, nullable=False),
    sa.Column("width", sa.Integer, nullable=False),
    sa.Column("finished", sa.BigInteger, nullable=False),
    sa.Column("source", exact(64), nullable=False),
)

process = sa.Table(
    "hperf_process",
    metadata,
    sa.Column("id", number, primary_key=True),
    owner("job", nullable=False, index=True),
    sa.Column("rank", sa.Integer, nullable=False),
    sa.Column("node", exact(255), nullable=False),
    sa.Column("elapsed", sa.Double, nullable=False),
)

thread = sa.Table(
    "hperf_thread",
    metadata,
    sa.Column("id", number, primary_key=True),
    owner("process", nullable=False, index=True),
    sa.Column("number", sa.Integer, nullable=False),
)

counter = sa.Table(
    "hperf_counter",
    metadata,
    owner("thread", primary_key=True),
    sa.Column("name", exact(64), primary_key=True),
    sa.Column("value", sa.BigInteger, nullable=False),
)

DRIVERS = {
    "sqlite": "sqlite",
    "mysql": "mariadb+pymysql",
    "mariadb": "mariadb+pymysql",
    "postgresql": "postgresql+psycopg",
    "postgres": "postgresql+psycopg",
}
CONNECTING = 5
"""Seconds to wait for a server to answer at all."""


def url_of(where: str) -> sa.URL:
    """The URL that a text means, with the drivers we use.

    Examples
    --------
    >>> url_of("mariadb://hperf@db/perf").drivername
    'mariadb+pymysql'
    """
    if "://" not in where:
        return sa.URL.create("sqlite", database=os.path.abspath(where))
    try:
        url = sa.make_url(where)
    except exc.ArgumentError:
        raise UsageError(
            f"{where!r} is not the URL of a database: write postgresql://host/base"
        ) from None
    kind = url.drivername.partition("+")[0]
    if kind not in DRIVERS:
        known = ", ".join(sorted({"sqlite", "mariadb", "postgresql"}))
        raise UsageError(f"no store can be kept in {kind!r}: use one of {known}, or a path")
    return url.set(drivername=DRIVERS[kind])


def connected(url: sa.URL, patience: float) -> sa.Engine:
    """An engine that waits for locks, but not for ever."""
    kind = url.get_backend_name()
    options: dict[str, Any] = {"poolclass": pool.NullPool}  # a store is queried now and then
    if kind == "sqlite":
        if file := file_of(url):
            os.makedirs(os.path.dirname(file), exist_ok=True)
            # SQLite would make it readable for all users. Another writer may make it first.
            with contextlib.suppress(FileExistsError):
                if not os.path.lexists(file):
                    os.close(private.open_plain(Path(file), os.O_RDWR | os.O_CREAT | os.O_EXCL))
        options["connect_args"] = {"timeout": patience}
        if url.database in (None, "", ":memory:"):
            options["poolclass"] = pool.StaticPool
    elif kind == "postgresql":
        waits = f"-c lock_timeout={max(1, round(patience * 1000))}"
        options["connect_args"] = {"connect_timeout": CONNECTING, "options": waits}
    else:
        waits = f"SET innodb_lock_wait_timeout={max(1, round(patience))}"
        options["connect_args"] = {
            "connect_timeout": CONNECTING,
            "init_command": waits,
            "charset": "utf8mb4",
        }
    if kind != "sqlite":
        # What others have committed meanwhile is what counts; and no locks on gaps (InnoDB).
        options["isolation_level"] = "READ COMMITTED"
    try:
        engine = sa.create_engine(url, **options)
    except ImportError:
        raise MissingExtra(
            "pymysql" if kind != "postgresql" else "psycopg", extra="store", purpose=f"use {kind}"
        ) from None
    if kind == "sqlite":
        sa.event.listen(engine, "connect", _plain_sqlite)
        sa.event.listen(engine, "begin", _begin_sqlite)
    return engine


def file_of(url: sa.URL) -> str:
    """The file that holds the store; empty for a server, for memory and for SQLite's own URIs."""
    if url.get_backend_name() != "sqlite" or "uri" in url.query:
        return ""
    return "" if url.database in (None, "", ":memory:") else os.path.abspath(str(url.database))


def _plain_sqlite(connection: Any, _: object) -> None:
    connection.isolation_level = None  # we issue BEGIN ourselves
    connection.execute("PRAGMA foreign_keys=ON")


def _begin_sqlite(connection: sa.Connection) -> None:
    # A transaction that will write locks at once: then it waits its turn and cannot deadlock.
    writes = connection.get_execution_options().get("writes", False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")


@contextlib.contextmanager
def writing(engine: sa.Engine) -> Iterator[sa.Connection]:
    """A transaction that writes: all of it or nothing."""
    with engine.connect().execution_options(writes=True) as connection, connection.begin():
        yield connection


@contextlib.contextmanager
def understood(where: str) -> Iterator[None]:
    """Turn a database's error into a message with what to do."""
    try:
        yield
    except exc.SQLAlchemyError as wrong:
        raise StoreError(sentence(wrong, where)) from wrong
    except OSError as wrong:
        raise StoreError(f"the store {where} cannot be opened: {wrong.strerror}") from wrong


LOCKED = ("locked", "1205", "55p03", "lock timeout", "lock wait timeout")
READ_ONLY = ("readonly", "read-only", "1142", "42501", "permission denied for", "1290", "1792")
REFUSED = ("1045", "28p01", "authentication failed", "access denied")
ABSENT = ("1049", "unknown database", "does not exist")
DOWN = (
    "2003",
    "2002",
    "2006",
    "2013",
    "connection refused",
    "could not connect",
    "timeout expired",
    "connection failed",
    "server closed",
    "unable to open",
    "starting up",
    "timed out",
)
FOREIGN = ("not a database", "no such column", "no such table", "malformed", "disk image")


def sentence(wrong: exc.SQLAlchemyError, where: str) -> str:
    """What went wrong with a store, and what to do."""
    raw = getattr(wrong, "orig", None) or wrong
    code = getattr(raw, "sqlstate", None) or (raw.args[0] if raw.args else "")
    text = f"{code} {raw}".lower()
    for signs, what in (
        (LOCKED, "is locked by another program: try again when it is done"),
        (READ_ONLY, "is read-only for this user: nothing was written; use an account that may"),
        (FOREIGN, "is not a performance store (or damaged): name another, or restore a backup"),
        (REFUSED, "does not accept this user and password: correct the URL"),
        (ABSENT, "does not exist on that server: create the database, or correct the URL"),
        (DOWN, "does not answer: is the server up, the path right?"),
    ):
        if any(sign in text for sign in signs):
            return f"the store {where} {what}"
    return f"the store {where} reports: {' '.join(str(raw).split())[:200]}"


LOCK = 0x48506572


def jobs_by_tag(connection: sa.Connection) -> None:
    """Version 1: tags and the jobs recorded under them."""
    metadata.create_all(connection, [version, tag, job])


def counters_of_threads(connection: sa.Connection) -> None:
    """Version 2: where a job's figure came from, down to the counters of each thread."""
    metadata.create_all(connection, [process, thread, counter])


STEPS: tuple[Callable[[sa.Connection], None], ...] = (jobs_by_tag, counters_of_threads)
VERSION = len(STEPS)


def version_of(connection: sa.Connection) -> int:
    """The version of the schema in a database, 0 if there is none."""
    if not sa.inspect(connection).has_table(version.name):
        return 0
    found = connection.scalar(sa.select(version.c.version))
    return 0 if found is None else int(found)


def bring_up_to_date(connection: sa.Connection, where: str, *, to: int = VERSION) -> None:
    """Perform the missing migrations; several processes may try at once, one of them succeeds."""
    alone(connection)
    have = version_of(connection)
    refuse_newer(have, where)
    for number, step in enumerate(STEPS[have:to], have + 1):
        step(connection)
        connection.execute(sa.delete(version))
        connection.execute(sa.insert(version).values(one=1, version=number))


def refuse_newer(have: int, where: str) -> None:
    """Reject a schema of a later version."""
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
        # Not released by hand: others must not read before our last step is committed.
        connection.execute(sa.text(f"SELECT GET_LOCK('hperf-{LOCK}', 60)"))
