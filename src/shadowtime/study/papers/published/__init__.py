"""Numbers of the papers as they were printed, a file per table; nothing here was computed."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from importlib.resources import files

from shadowtime.study.papers.values import Published


def rows(name: str) -> Iterator[dict[str, str]]:
    """The rows of a published table, by file name without the ending.

    Examples
    --------
    >>> next(rows("pv_easy_table1"))["jobs_delayed"]
    '736'
    """
    text = (files(__name__) / f"{name}.csv").read_text("utf-8")
    yield from csv.DictReader(text.splitlines())


def claims(paper: str) -> dict[str, Published]:
    """The claims of a paper by key, in the order of its pages.

    Examples
    --------
    >>> claims("pv_easy")["wasted-load"].number
    '2.48-5.66 %'
    """
    return {
        row["key"]: Published(
            key=row["key"], text=row["claim"], number=row["number"], where=row["where"]
        )
        for row in rows(f"{paper}_claims")
    }
