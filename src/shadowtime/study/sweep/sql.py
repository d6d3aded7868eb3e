"""SQL queries on the results of a sweep."""

from __future__ import annotations

from typing import Any

from shadowtime.errors import MissingExtra, UsageError


def query(table: Any, text: str) -> Any:
    """The answer of DuckDB to a query over the table ``runs``, as an Arrow table.

    The query can access only this table, no files and no network.
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
                raise UsageError("the query returns nothing: begin it with select")
            return answer.to_arrow_table()
        except duckdb.Error as error:
            raise UsageError(f"the query failed: {error}") from None
