"""From runs to pages and figures: one way for every command that has --report or --figures."""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

    from shadowtime.report import ReportInput
    from shadowtime.result.read import Folder

Step = Callable[[str], AbstractContextManager[Any]]


def quiet(what: str) -> AbstractContextManager[Any]:
    """Show nothing."""
    return nullcontext()


def write_results(
    result: ReportInput,
    *,
    report: str | Path | None = None,
    figures: str | Path | None = None,
    step: Step = quiet,
) -> list[Path]:
    """The requested page and figures; returns what was written.

    ``step`` surrounds each piece of work, so that a caller can show progress.
    """
    if not report and not figures:
        return []
    from shadowtime.report.payers import with_classes

    whole = with_classes(result)
    written = []
    if report:
        from shadowtime.report import write_html

        with step(f"writing {report}"):
            written.append(write_html(whole, report))
    if figures:
        from shadowtime.report import write_figures

        with step(f"drawing figures in {figures}"):
            written += write_figures(whole, figures)
    return written


def write_grid_pages(
    found: Sequence[tuple[str, Folder]], page: str | Path, *, title: str, step: Step = quiet
) -> list[Path]:
    """A page of several results by name, and beside it a page for each, which it links to."""
    from shadowtime.report.page.grid import write_grid

    whole = Path(page)
    inner = {
        name: whole.with_name(f"{whole.stem}-{_part(name)}{whole.suffix}") for name, _ in found
    }
    with step(f"writing {whole}"):
        results = [(name, folder.result) for name, folder in found]
        links = {name: path.name for name, path in inner.items()}
        written = [write_grid(results, whole, title=title, links=links)]
    for name, folder in found:
        written += write_results(folder.result, report=inner[name], step=step)
    return written


def _part(name: str) -> str:
    """A folder's name as part of a file's name."""
    return re.sub(r"[^A-Za-z0-9.]+", "-", name).strip("-.") or "result"
