"""A published figure as data: what we measured, and what the paper's text states about it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from shadowtime.errors import UsageError
from shadowtime.study.papers.tables import Estimate

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

Kind = Literal["line", "bars"]


@dataclass(frozen=True, kw_only=True)
class Series:
    """One line or one colour of bars; None where there is no value."""

    name: str
    y: tuple[float | None, ...]
    error: tuple[float | None, ...] = ()
    """Standard error of each value; empty where values are not means over seeds."""

    @staticmethod
    def over(name: str, columns: Iterable[Iterable[float | None]], *, scale: float = 1.0) -> Series:
        """Means over seeds with their standard errors; a column of values for each point."""
        known = [Estimate.of(column, scale=scale) for column in columns]
        return Series(
            name=name,
            y=tuple(None if one is None else one.mean for one in known),
            error=tuple(None if one is None else one.error for one in known),
        )


@dataclass(frozen=True, kw_only=True)
class Panel:
    """One pair of axes: values over numbers (a line) or over names (bars)."""

    title: str
    kind: Kind
    x_label: str
    y_label: str
    x: tuple[float | str, ...]
    series: tuple[Series, ...]

    def __post_init__(self) -> None:
        for one in self.series:
            if len(one.y) != len(self.x) or len(one.error) not in (0, len(self.x)):
                raise UsageError(f"{self.title}: {one.name} has {len(one.y)} values")

    def line(self, name: str) -> dict[float | str, float | None]:
        """A series by name: its values by x."""
        one = next(series for series in self.series if series.name == name)
        return dict(zip(self.x, one.y, strict=True))

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "title": self.title,
            "kind": self.kind,
            "x_label": self.x_label,
            "y_label": self.y_label,
            "x": list(self.x),
            "series": [
                {"name": one.name, "y": list(one.y)}
                | ({"standard_error": list(one.error)} if one.error else {})
                for one in self.series
            ],
        }


@dataclass(frozen=True, kw_only=True)
class PaperFigure:
    """A figure: its panels, and the words of the paper about what it shows.

    Examples
    --------
    >>> panel = Panel(title="A", kind="line", x_label="x", y_label="y", x=(1.0, 2.0),
    ...     series=(Series(name="ours", y=(3.0, 4.0)),))
    >>> figure = PaperFigure(name="Figure 1", title="Two points", panels=(panel,))
    >>> [(row["x"], row["y"]) for row in figure.flat()]
    [(1.0, 3.0), (2.0, 4.0)]
    """

    name: str
    title: str
    panels: tuple[Panel, ...]
    says: str = ""
    note: str = ""

    def panel(self, title: str) -> Panel:
        """A panel by its title."""
        return next(panel for panel in self.panels if panel.title == title)

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "name": self.name,
            "title": self.title,
            "paper_says": self.says,
            "note": self.note,
            "panels": [panel.as_dict() for panel in self.panels],
        }

    def flat(self) -> Iterator[dict[str, Any]]:
        """A line per point, for a CSV file."""
        for panel in self.panels:
            for one in panel.series:
                for at, (x, y) in enumerate(zip(panel.x, one.y, strict=True)):
                    yield {
                        "panel": panel.title,
                        "series": one.name,
                        "x": x,
                        "y": y,
                        "standard_error": one.error[at] if one.error else None,
                    }
