"""The tables of the store, the same on SQLite, MariaDB and PostgreSQL.

A job belongs to a tag; it has processes, these have threads, and the threads have counters (the
thesis' PerfMiner has a table per counter; one table with the counter's name holds the same and
needs no new table for a new counter). The tag's own row keeps the sum and the number of its
records, so the average is one look-up by an indexed name, however many records there are.
"""

from __future__ import annotations

import sqlalchemy as sa
from sqlalchemy.dialects import mysql

from shadowtime.hperf.record import LONGEST_KEY, LONGEST_TAG


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
