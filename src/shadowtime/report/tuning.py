"""The tables of a tuning experiment as text, for the terminal and the page; and the page."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from shadowtime.metrics.intervals import Interval
from shadowtime.report.numbers import count, number
from shadowtime.report.page import html, templates

if TYPE_CHECKING:
    from shadowtime.study.tune import Tuned

SCRIPTS = ("format.js", "colours.js", "model.js", "download.js", "page.js", "grid.js")


@dataclass(frozen=True)
class TextTable:
    """A heading for each column, rows of as many cells, and what the reader has to know."""

    headings: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    legend: str = ""


def rivals_table(found: Tuned) -> TextTable:
    """Every policy on the last part of every period, the best first."""
    columns = [part for name in found.objectives for part in (name, "gain of tuning")]
    rows = []
    for one in found.rivals:
        cells = [one.name, "" if one.kind == "tuned" else one.kind]
        for name in found.objectives:
            gained = "" if one.kind == "tuned" else _share(one.gain(name))
            cells += [number(one.mean(name)), gained]
        rows.append(tuple(cells))
    legend = (
        "gain of tuning: advantage of the tuned policies, as a share of the larger value, with "
    )
    legend += "its 95 % interval over the periods"
    return TextTable(
        (f"mean over {count(len(found.periods), 'period')}", "", *columns), tuple(rows),
        f"{legend}; ? may be chance",
    )  # fmt: skip


def periods_table(found: Tuned) -> TextTable:
    """What was tuned at each cut of the log, and what the policies gave after it."""
    first = found.objectives[0]
    values = {one.kind: one.values[first] for one in found.rivals if one.kind != "catalogue"}
    rows = [
        (
            one.chosen, *(f"{jobs:,}" for jobs in one.jobs),
            *(number(values[kind][place]) for kind in values),
        )
        for place, one in enumerate(found.periods)
    ]  # fmt: skip
    names = {"tuned": "tuned", "template": "template", "baseline": found.baseline}
    heads = ("chosen", "tuned on", "selected on", "reported on")
    return TextTable((*heads, *(f"{first}, {names[kind]}" for kind in values)), tuple(rows))


def trials_in_words(found: Tuned) -> str:
    """Every candidate is counted, also those that did not reach the end."""
    one = found.trials
    left_out = [
        f"{many} {what}"
        for many, what in (
            (one.asked - one.different, "drawn again"),
            (one.pruned, "left out early"),
            (one.failed, "rejected by the engine"),
        )
        if many
    ]
    return f"{one.asked} candidates" + (f" ({', '.join(left_out)})" if left_out else "")


def tuning_page(found: Tuned, *, title: str, versions: Mapping[str, str], command: str = "") -> str:
    """One page: the answer, the rivals, the periods."""
    section = templates.fill(
        "tuning.html", title=title, headline=found.verdict.sentence, chosen=found.chosen,
        trials=trials_in_words(found), rivals=rivals_table(found), periods=periods_table(found),
        command=command,
    )  # fmt: skip
    return html.whole_page(title, [str(section)], [], versions=versions, scripts=SCRIPTS)


def _share(inside: Interval | None) -> str:
    if inside is None:
        return ""
    doubt = "" if inside.excludes_zero else " ?"
    return f"{100 * inside.mean:.1f} % ± {100 * inside.half:.1f} %{doubt}"
