"""What a reproduction leaves behind.

.. code-block:: text

    DIR/result.json               everything, and the command line that made it
    DIR/result.md                 the same to read
    DIR/claims.csv                a verdict a line
    DIR/tables/table-4.csv        a cell a line: ours, the paper's, the difference
    DIR/figures/figure-4.csv      a point a line, and figure-4.svg
    DIR/ctc/                      a result folder for each log, as of `simulate -o`
"""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shadowtime.cli.paper.markdown import file_name, markdown
from shadowtime.errors import UsageError
from shadowtime.result.write import as_object as result_object
from shadowtime.result.write import to_json, versions, write_folder

if TYPE_CHECKING:
    from collections.abc import Iterable

    from shadowtime.report import Claim as ReportClaim
    from shadowtime.report import PaperTable as ReportTable
    from shadowtime.report import ReportInput
    from shadowtime.study.papers import Claim, PaperTable, Reproduction, Subject

HOLDS = {"holds": True, "does not hold": False, "not judged": None}


def as_object(found: Reproduction) -> dict[str, Any]:
    """The JSON object."""
    return {**found.as_dict(), "versions": versions()}


def write_paper(found: Reproduction, folder: str, *, command: str) -> Path:
    """Write the result folder; files of an older one are overwritten."""
    from shadowtime.metrics import Window
    from shadowtime.study.papers.picture import svg

    root = Path(folder)
    try:
        for place in (root / "tables", root / "figures"):
            place.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"cannot make the folder {folder}: {error.strerror}") from None
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
    """The figures that show every job's life on a line."""
    from shadowtime.report import write_job_lines

    subjects = {subject.label: subject for subject in found.subjects}
    for name, (label, place) in found.job_lines.items():
        subject, run = subjects[label], found.runs[label][place]
        path = folder / f"{file_name(name)}.svg"
        write_job_lines(subject.workload, run.schedule, subject.cluster, path)


def write_paper_page(found: Reproduction, path: str, *, command: str) -> Path:
    """The HTML report: the paper's tables and claims, and the schedules of the first log."""
    from shadowtime.cli.common.progress import working
    from shadowtime.report import write_html

    with working(f"writing {path}"):
        return write_html(_report(found, found.subjects[0], command), path)


def _report(found: Reproduction, subject: Subject, command: str) -> ReportInput:
    from shadowtime.report import PolicyRun, ReportInput

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
    from shadowtime.report import Claim as ReportClaim

    return ReportClaim(
        text=f"{claim.text} [{claim.reading}]" if claim.reading else claim.text,
        holds=HOLDS[claim.verdict],
        where=claim.where,
        paper=claim.paper,
        ours=". ".join(part for part in (claim.ours, claim.evidence) if part),
    )


def _table(table: PaperTable) -> ReportTable:
    from shadowtime.report import PaperTable as ReportTable
    from shadowtime.report import PaperValue

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
