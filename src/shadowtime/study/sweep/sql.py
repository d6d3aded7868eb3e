"""Questions to the results of a sweep in SQL."""

from __future__ import annotations

from typing import Any

from shadowtime.errors import MissingExtra, UsageError


def query(table: Any, text: str) -> Any:
    """The answer of DuckDB to a query over the table ``runs``, as an Arrow table.

    The query sees this table alone: files and the network are out of its reach.
    """
    try:
        import duckdb
    except ImportError:
        raise MissingExtra("duckdb", extra="sql", purpose="answer SQL queries") from None
    with duckdb.connect(":memory:") as database:
        database.register("runs", table)
        database.execute("set enable_external_access = false")
        try:
            answer = database.sql(text)
            if answer is None:
                raise UsageError("the query has no answer: begin it with select")
            return answer.to_arrow_table()
        except duckdb.Error as error:
            raise UsageError(f"the query cannot be answered: {error}") from None
