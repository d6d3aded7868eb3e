"""The frame of the schedule figure; the page's script fills it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shadowtime.report.page.markup import section, text
from shadowtime.report.verdict import verdict_of

if TYPE_CHECKING:
    from shadowtime.report.inputs import ReportInput

MODES = (
    ("reason", "why it started"),
    ("size", "size class"),
    ("user", "user"),
    ("slowdown", "bounded slowdown"),
    ("penalty", "penalty"),
)

HELP = (
    "Drag to move. Wheel or pinch to zoom (click the figure first), Shift with the wheel to zoom "
    "the rows. Keys: arrows move, + and - zoom, 0 shows everything, / searches, Esc lets go. "
    "Click a job to keep it and see it under both policies."
)


def schedule_figure(report: ReportInput, *, penalties: bool, lead: str) -> str:
    """Toolbar, overview, one or two panels of rows, the strips over time and the job's card.

    The baseline and the winner are shown first.
    """
    winner = verdict_of(report).winner
    names = [run.name for run in report.runs]
    modes = "".join(
        f'<option value="{key}">{label}</option>'
        for key, label in MODES
        if key != "penalty" or penalties
    )
    second = _policies("policy-b", names, winner or 1, none=True) if len(names) > 1 else ""
    body = f"""
<div class="toolbar" role="toolbar" aria-label="Schedule">
  <label>Policy {_policies("policy-a", names, 0)}</label>
  {f"<label>beside {second}</label>" if second else ""}
  <label>Colour by <select id="colour">{modes}</select></label>
  <form id="search" role="search"><label>Job <input id="job" type="search" inputmode="numeric"
    placeholder="id" autocomplete="off" aria-describedby="found"></label>
    <button type="submit">Find</button></form>
  <span class="zoom"><button type="button" data-zoom="in" aria-label="zoom in">+</button
  ><button type="button" data-zoom="out" aria-label="zoom out">&minus;</button
  ><button type="button" data-zoom="all">All</button></span>
  <output id="found" aria-live="polite"></output>
</div>
<ul class="legend" id="legend"></ul>
<div class="figure" id="figure">
  <canvas id="overview" aria-hidden="true"></canvas>
  <div class="panel" data-panel="0"><h4></h4><canvas class="rows" tabindex="0"
    aria-label="Gantt chart, first policy"></canvas></div>
  <div class="panel" data-panel="1"><h4></h4><canvas class="rows" tabindex="0"
    aria-label="Gantt chart, second policy"></canvas></div>
  <canvas id="axis" aria-hidden="true"></canvas>
  <p class="hint" id="hint" hidden></p>
</div>
<div class="strips" id="strips">
  <h4>Jobs waiting</h4><canvas class="strip" data-series="queue"></canvas>
  <h4>Utilisation, %</h4><canvas class="strip" data-series="utilisation"></canvas>
  <h4>Free processors</h4><canvas class="strip" data-series="free"></canvas>
</div>
<ul class="legend" id="policies"></ul>
<div id="card" class="card" hidden></div>
<div id="tip" class="tip" hidden></div>
<p class="note help">{text(HELP)}</p>
<noscript><p class="empty">The schedule is drawn by a script, which is switched off here.</p>
</noscript>
"""
    return section("schedule", "The schedule", body, lead=lead)


def _policies(name: str, names: list[str], chosen: int, *, none: bool = False) -> str:
    options = "".join(
        f'<option value="{i}"{" selected" if i == min(chosen, len(names) - 1) else ""}>'
        f"{text(policy)}</option>"
        for i, policy in enumerate(names)
    )
    empty = '<option value="-1">nothing</option>' if none else ""
    return f'<select id="{name}" class="policy">{options}{empty}</select>'
