"""A figure that shows itself in a notebook and can be saved."""

from __future__ import annotations

import io
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shadowtime.errors import UsageError

if TYPE_CHECKING:
    import os

    from shadowtime.report import ReportInput


@dataclass(frozen=True, eq=False)
class Picture:
    """A matplotlib figure; notebooks show it inline."""

    figure: Any
    name: str

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write it as SVG, PDF or PNG, by the suffix."""
        self.figure.savefig(path, dpi=200)
        return Path(path)

    def _repr_svg_(self) -> str:
        text = io.StringIO()
        self.figure.savefig(text, format="svg")
        return text.getvalue()

    def __repr__(self) -> str:
        return f"Picture({self.name})"


def picture(name: str, result: ReportInput) -> Picture:
    """One of the figures of ``--figures``."""
    from shadowtime.report.figures import DRAWINGS, draw

    if name not in DRAWINGS:
        raise UsageError(f"there is no figure {name!r}: choose one of {', '.join(DRAWINGS)}")
    figure = draw(name, result)
    if figure is None:
        raise UsageError(f"the figure {name} has nothing to show for this run")
    return Picture(figure, name)
