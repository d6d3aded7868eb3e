"""A reproduction as a Markdown page: claims, notes, tables and links to the pictures.

It is made from the JSON object alone, so a page can be made again from ``result.json``.
"""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, Any

from shadowtime.cli.paper.tables import MARKS, signed
from shadowtime.report.numbers import DASH, number

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence


def markdown(content: Mapping[str, Any]) -> str:
    """The page; its pictures lie in the folder ``figures`` beside it."""
    parts = [
        *_head(content),
        "## Claims",
        "Each reading of a claim is judged by itself.",
        *_claims(content["claims"]),
        "## What reproduces and what does not",
        _list(content["notes"]),
        "## Tables",
        *(part for table in content["tables"] for part in _table(table)),
        "## Figures",
        *(part for figure in content["figures"] for part in _figure(figure)),
        *_job_lines(content.get("job_lines", {})),
        "## Chosen where the text is silent",
        _list(content["choices"]),
    ]
    return "\n\n".join(parts) + "\n"


def file_name(name: str) -> str:
    """A name as part of a file's name.

    Examples
    --------
    >>> file_name("Parts, SDSC-DS")
    'parts-sdsc-ds'
    """
    kept = "".join(c if c.isascii() and c.isalnum() else "-" for c in name.lower())
    return "-".join(part for part in kept.split("-") if part)


def _head(content: Mapping[str, Any]) -> Iterator[str]:
    yield f"# {content['paper']['title']}"
    yield content["paper"]["reference"] + "."
    rows = [
        (one["label"], one["name"], f"{one['jobs']:,}", f"{one['processors']:,}")
        for one in content["traces"]
    ]
    yield _grid(("", "log", "jobs", "processors"), rows)
    if content["generated"]:
        yield "**A generated workload: the paper's logs were not there.**"
    made = ", ".join(f"{name} {version}" for name, version in content["versions"].items())
    yield f"Made with {made}."


def _claims(claims: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    for text, group in groupby(claims, key=lambda claim: str(claim["claim"])):
        readings = list(group)
        first = readings[0]
        printed = f"; paper: {first['paper']}" if first["paper"] else ""
        lines = [f"**{text}** ({first['where']}{printed})", ""]
        for claim in readings:
            reading = f" [{claim['reading']}]" if claim["reading"] else ""
            ours = f" {claim['ours']}." if claim["ours"] else ""
            mark = MARKS[claim["verdict"]][0]
            lines.append(f"- {mark} *{claim['verdict']}*{reading}:{ours} {claim['evidence']}")
        yield _safe("\n".join(lines))


def _table(table: Mapping[str, Any]) -> Iterator[str]:
    """A row per measure; beside a column of ours the paper's, where there is one."""
    yield f"### {_safe(table['name'])}"
    yield _safe(f"{table['title']}.")
    rows = table["rows"]
    columns = list(rows[0]["cells"]) if rows else []
    beside = {name: any("paper" in row["cells"][name] for row in rows) for name in columns}
    head = [""]
    for name in columns:
        head += [name, "paper", "difference"] if beside[name] else [name]
    lines: list[Sequence[str]] = []
    for group, members in groupby(rows, key=lambda row: str(row["group"])):
        if group:
            lines.append((f"*{group}*", *("" for _ in head[1:])))
        lines += [_row(row, beside) for row in members]
    yield _grid(head, lines)
    if table["note"]:
        yield _safe(table["note"])


def _row(row: Mapping[str, Any], beside: Mapping[str, bool]) -> list[str]:
    cells = [f"{row['label']}{', ' + row['unit'] if row['unit'] else ''}"]
    for name, paper in beside.items():
        cell = row["cells"][name]
        error = cell.get("standard_error")
        cells.append(number(cell["ours"]) + (f" ±{number(error)}" if error is not None else ""))
        if paper:
            change = cell.get("difference")
            cells += [number(cell.get("paper")), DASH if change is None else signed(change)]
    return cells


def _figure(figure: Mapping[str, Any]) -> Iterator[str]:
    yield f"### {_safe(figure['name'])}"
    yield _safe(f"{figure['title']}.")
    if figure["paper_says"]:
        yield _safe(f"Paper: *{figure['paper_says']}*")
    yield f"![{_safe(figure['name'])}](figures/{file_name(figure['name'])}.svg)"
    if figure["note"]:
        yield _safe(figure["note"])


def _list(sentences: Iterable[str]) -> str:
    return "\n".join(f"- {_safe(sentence)}" for sentence in sentences)


def _grid(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table: names to the left, numbers to the right."""
    rule = ["---", *("--:" for _ in head[1:])]
    lines = [head, rule, *rows]
    return "\n".join(f"| {' | '.join(_safe(cell) for cell in line)} |" for line in lines)


def _safe(text: str) -> str:
    """What Markdown would read as markup stays text.

    Examples
    --------
    >>> _safe("a < b | BB* and BB*")
    'a &lt; b \\\\| BB\\\\* and BB\\\\*'
    """
    return text.replace("<", "&lt;").replace("|", "\\|").replace("BB*", "BB\\*")


def _job_lines(pictures: Mapping[str, Mapping[str, str]]) -> Iterator[str]:
    """Figures with a line per job: waiting red, running blue, unused white, extra dark yellow."""
    for name, about in pictures.items():
        yield f"### {_safe(name)}"
        yield _safe(f"{about['policy']}, {about['subject']}.")
        yield f"![{_safe(name)}](figures/{file_name(name)}.svg)"
