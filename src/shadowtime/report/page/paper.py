"""Paper mode: our figure beside the published one, and the claims with their verdicts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shadowtime.report.numbers import DASH, cell, number, percent
from shadowtime.report.page.markup import section, text
from shadowtime.report.verdict import relative

if TYPE_CHECKING:
    from shadowtime.report.inputs import Claim, PaperTable, PaperValue, ReportInput

MARKS = {
    True: ("holds", "✓", "holds"),
    False: ("fails", "✗", "does not hold"),
    None: ("open", DASH, "not judged"),
}


def paper(report: ReportInput) -> str:
    """Claims first, then the tables; nothing outside paper mode."""
    if not report.paper:
        return ""
    parts = []
    if report.claims:
        held = sum(claim.holds is True for claim in report.claims)
        judged = sum(claim.holds is not None for claim in report.claims)
        parts.append(
            f'<p class="verdict small">{held} of {judged} judged claims hold.</p>'
            f'<ul class="claims">{"".join(map(_claim, report.claims))}</ul>'
        )
    parts += [_table(table) for table in report.tables]
    return section("paper", "Beside the paper", "".join(parts))


def _claim(claim: Claim) -> str:
    kind, mark, words = MARKS[claim.holds]
    numbers = [("paper", claim.paper), ("ours", claim.ours), ("where", claim.where)]
    facts = "".join(
        f"<span><small>{name}</small> {text(value)}</span>" for name, value in numbers if value
    )
    return (
        f'<li class="{kind}"><span class="mark" aria-hidden="true">{mark}</span>'
        f'<span class="words">{words}</span><div><p>{text(claim.text)}</p>'
        f'<p class="numbers">{facts}</p></div></li>'
    )


def _table(table: PaperTable) -> str:
    """Values side by side: a hollow bar for the paper's, a full one for ours."""
    tops: dict[str, float] = {}
    for value in table.values:
        tops[value.unit] = max(
            tops.get(value.unit, 0.0),
            *(abs(x) for x in (value.ours, value.paper) if x is not None),
            0.0,
        )
    rows = "".join(_row(value, tops[value.unit] or 1.0) for value in table.values)
    where = f'<span class="where">{text(table.where)}</span>' if table.where else ""
    note = f'<p class="note">{text(table.note)}</p>' if table.note else ""
    return (
        f'<figure class="beside"><figcaption>{text(table.title)}{where}</figcaption>'
        '<div class="scroll"><table class="numbers"><thead><tr>'
        '<th scope="col"></th><th scope="col">Ours</th>'
        '<th scope="col">Paper</th><th scope="col">Difference</th><th scope="col" class="bars">'
        '<i class="key ours"></i>ours <i class="key theirs"></i>paper</th></tr></thead>'
        f"<tbody>{rows}</tbody></table></div>{note}</figure>"
    )


def _row(value: PaperValue, top: float) -> str:
    change = relative(value.ours, value.paper)
    if change is not None:
        difference = percent(change, signed=True)
    elif value.ours is not None and value.paper is not None:
        difference = number(value.ours - value.paper)
    else:
        difference = DASH
    unit = {"share": "%"}.get(value.unit, value.unit)
    label = f"{value.label}, {unit}" if unit else value.label
    bars = "".join(
        f'<span class="{kind}" style="width:{100 * abs(x) / top:.1f}%"></span>'
        for kind, x in (("ours", value.ours), ("theirs", value.paper))
        if x is not None
    )
    return (
        f'<tr><th scope="row">{text(label)}</th><td>{cell(value.ours, value.unit)}</td>'
        f"<td>{cell(value.paper, value.unit)}</td><td>{difference}</td>"
        f'<td class="bars">{bars}</td></tr>'
    )
