"""The files that a reproduction writes.

.. code-block:: text

    DIR/result.json               everything, and the command line that produced it
    DIR/result.md                 the same as readable text
    DIR/claims.csv                one verdict per line
    DIR/tables/table-4.csv        one cell per line: ours, the paper's, the difference
    DIR/figures/figure-4.csv      one point per line, and figure-4.svg
    DIR/ctc/                      a result folder for each log, as from `simulate -o`

``result.md`` has claims, notes, tables and links to the pictures.
It is generated from the JSON object alone, so it can be regenerated from ``result.json``.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shadowtime.cli.common.progress import working
from shadowtime.cli.paper.tables import MARKS, signed
from shadowtime.errors import UsageError
from shadowtime.metrics import Window
from shadowtime.report import Claim as ReportClaim
from shadowtime.report import PaperTable as ReportTable
from shadowtime.report import PaperValue, PolicyRun, ReportInput, write_html, write_job_lines
from shadowtime.report.numbers import DASH, number
from shadowtime.result.write import as_object as result_object
from shadowtime.result.write import to_json, versions, write_folder
from shadowtime.study.papers.picture import svg
from shadowtime.study.papers.reproduction import Reproduction, Subject

if TYPE_CHECKING:
    from shadowtime.study.papers.values import Claim, PaperTable


HOLDS = {"holds": True, "does not hold": False, "not judged": None}


def as_object(found: Reproduction) -> dict[str, Any]:
    """The JSON object."""
    return {**found.as_dict(), "versions": versions()}


def write_paper(found: Reproduction, folder: str, *, command: str) -> Path:
    """Write the result folder; files of an older one are overwritten."""
    root = Path(folder)
    try:
        for place in (root / "tables", root / "figures"):
            place.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"cannot create the folder {folder}: {error.strerror}") from None
    for table in found.tables:
        _write_csv(root / "tables" / f"{file_name(table.name)}.csv", table.flat())
    for figure in found.figures:
        name = root / "figures" / file_name(figure.name)
        _write_csv(name.with_suffix(".csv"), figure.flat())
        name.with_suffix(".svg").write_text(svg(figure), "utf-8")
    _write_job_lines(found, root / "figures")
    _write_csv(root / "claims.csv", (claim.as_dict() for claim in found.claims))
    for subject in found.subjects:
        result = _report(found, subject, command)
        content = result_object(result, Window.all())
        write_folder(content, result, str(root / file_name(subject.label)))
    whole = {**as_object(found), "command": command}
    (root / "result.json").write_text(to_json(whole) + "\n", "utf-8")
    (root / "result.md").write_text(markdown(whole), "utf-8")
    return root


def _write_job_lines(found: Reproduction, folder: Path) -> None:
    """The figures with one line per job."""
    subjects = {subject.label: subject for subject in found.subjects}
    for name, (label, place) in found.job_lines.items():
        subject, run = subjects[label], found.runs[label][place]
        path = folder / f"{file_name(name)}.svg"
        write_job_lines(subject.workload, run.schedule, subject.cluster, path)


def write_paper_page(found: Reproduction, path: str, *, command: str) -> Path:
    """The HTML report: the paper's tables and claims, and the schedules of the first log."""
    with working(f"writing {path}"):
        return write_html(_report(found, found.subjects[0], command), path)


def _report(found: Reproduction, subject: Subject, command: str) -> ReportInput:
    return ReportInput(
        title=f"{found.title} on {subject.label}",
        workload=subject.workload,
        cluster=subject.cluster,
        runs=tuple(
            PolicyRun(
                name=run.policy,
                schedule=run.schedule,
                parameters=run.parameters,
                metrics=run.metrics,
            )
            for run in found.runs[subject.label]
        ),
        versions=versions(),
        command=command,
        seeds=found.seeds,
        paper=(
            *(_claim(claim) for claim in found.claims),
            *(_table(table) for table in found.tables if any(True for _ in table.compared())),
        ),
    )


def _claim(claim: Claim) -> ReportClaim:
    return ReportClaim(
        text=f"{claim.text} [{claim.reading}]" if claim.reading else claim.text,
        holds=HOLDS[claim.verdict],
        where=claim.where,
        paper=claim.paper,
        ours=". ".join(part for part in (claim.ours, claim.evidence) if part),
    )


def _table(table: PaperTable) -> ReportTable:
    return ReportTable(
        title=f"{table.name}. {table.title}",
        note=table.note,
        values=tuple(
            PaperValue(
                label=": ".join(part for part in (column, row.group, row.label) if part),
                ours=cell.ours,
                paper=cell.paper,
                unit=row.unit,
            )
            for row, column, cell in table.compared()
        ),
    )


def _write_csv(path: Path, rows: Iterable[dict[str, Any]]) -> None:
    lines = list(rows)
    text = io.StringIO()
    writer = csv.DictWriter(text, list(lines[0]) if lines else [], lineterminator="\n")
    writer.writeheader()
    writer.writerows(lines)
    path.write_text(text.getvalue(), "utf-8")


def markdown(content: Mapping[str, Any]) -> str:
    """The page; its pictures are in the folder ``figures`` beside it."""
    parts = [
        *_head(content),
        "## Claims",
        "Each reading of a claim is judged by itself.",
        *_claims(content["claims"]),
        "## What reproduces and what does not",
        _list(content["notes"]),
        "## Tables",
        *(part for table in content["tables"] for part in _table_lines(table)),
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
    yield f"Produced by {made}."


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


def _table_lines(table: Mapping[str, Any]) -> Iterator[str]:
    """A row per measure; beside each column of ours the paper's, if there is one."""
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
