"""The tables of ``sacctmgr show ... -P`` and ``sshare -P``: a header, then a row per line."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from shadowtime.errors import ClusterError
from shadowtime.slurmtext.fields import lines_of
from shadowtime.slurmtext.times import parse_limit
from shadowtime.slurmtext.tres import tres_amounts

NONE = ("", "-1", "n/a", "none", "(null)")


@dataclass(frozen=True)
class Row:
    """The fields of a line by column (lower case, no blanks), with its place."""

    fields: Mapping[str, str]
    where: str

    def get(self, *columns: str) -> str:
        """The first of these columns that is not empty."""
        return next((word for word in (self.fields.get(c, "") for c in columns) if word), "")

    def count(self, *columns: str) -> int | None:
        """A whole number, None where there is no bound."""
        text = self.get(*columns).strip()
        if text.lower() in NONE:
            return None
        if not re.fullmatch(r"[0-9]{1,15}", text):
            raise ClusterError(f"{self.where}: {columns[0]} must be a whole number, not {text!r}")
        return int(text)

    def number(self, otherwise: float, *columns: str) -> float:
        """A number with a fraction."""
        text = self.get(*columns).strip()
        if text.lower() in NONE:
            return otherwise
        try:
            return float(text)
        except ValueError:
            raise ClusterError(
                f"{self.where}: {columns[0]} must be a number, not {text!r}"
            ) from None

    def seconds(self, *columns: str) -> int | None:
        """A time limit."""
        try:
            return parse_limit(self.get(*columns))
        except ClusterError as error:
            raise ClusterError(f"{self.where}: {error}") from None

    def amounts(self, *columns: str) -> dict[str, int]:
        """A TRES list by the site's names."""
        try:
            return tres_amounts(self.get(*columns))
        except ValueError as error:
            raise ClusterError(f"{self.where}: {error}") from None

    def words(self, *columns: str) -> tuple[str, ...]:
        """A comma list; QOS lists may contain +name."""
        parts = (word.strip().lstrip("+") for word in self.get(*columns).split(","))
        return tuple(word for word in parts if word and word.lower() != "(null)")


@dataclass(frozen=True)
class Table:
    """Columns and rows; both empty where there was no text."""

    columns: tuple[str, ...] = ()
    rows: tuple[Row, ...] = ()


def read_table(text: str, *, path: str, cluster: str = "") -> Table:
    """A table with the delimiter ``|``.

    If rows of several clusters are listed, only those of ``cluster`` are kept.

    Examples
    --------
    >>> table = read_table("Name|Def QOS|\\nnormal|x|\\n", path="qos.txt")
    >>> table.columns, table.rows[0].get("defqos")
    (('name', 'defqos'), 'x')
    """
    lines = [(number, line) for number, line in enumerate(lines_of(text), 1) if line.strip()]
    if not lines:
        return Table()
    head = lines[0][1]
    if "|" not in head:
        raise ClusterError(
            f"{path}, line {lines[0][0]}: there is no header with columns: "
            "export it with -P (--parsable2) and without --noheader"
        )
    columns = tuple("".join(name.split()).lower() for name in head.split("|"))
    trailing = columns[-1] == ""  # -p ends every line with the delimiter
    columns = columns[:-1] if trailing else columns
    rows = []
    for number, line in lines[1:]:
        fields = line.split("|")
        if trailing and fields[-1] == "":
            fields.pop()
        if len(fields) > len(columns) and "reason" in columns:  # the one free text
            at, more = columns.index("reason"), len(fields) - len(columns)
            fields[at : at + more + 1] = ["|".join(fields[at : at + more + 1])]
        where = f"{path}, line {number}"
        if len(fields) != len(columns):
            raise ClusterError(f"{where}: expected {len(columns)} columns, found {len(fields)}")
        rows.append(Row(dict(zip(columns, fields, strict=True)), where))
    clusters = {row.get("cluster") for row in rows}
    if cluster and cluster in clusters and len(clusters) > 1:
        rows = [row for row in rows if row.get("cluster") == cluster]
    return Table(columns, tuple(rows))
