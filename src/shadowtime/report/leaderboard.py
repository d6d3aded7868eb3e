"""The leaderboard as one static page, without scripts."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from shadowtime.metrics import REGISTRY
from shadowtime.report.numbers import number

if TYPE_CHECKING:
    from shadowtime.study.sweep.leaderboard import Leaderboard, Place

STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 90rem; padding: 0 1rem;
       color-scheme: light dark }
table { border-collapse: collapse; margin: 1rem 0 }
th, td { padding: .3rem .7rem; text-align: right; border-bottom: 1px solid #8884 }
th:first-child, td:first-child { text-align: left }
small, .dim { opacity: .65 }
.best { font-weight: 700 }
code { font-size: .9em }
.scroll { overflow-x: auto }
"""
HOW = """
<h2>How to add a row</h2>
<ol>
<li>Add the policy to the plan below: a name with parameters, a TOML file, or
<code>my.py:name</code>.</li>
<li><code>shadowtime sweep plan.toml -o results</code> runs only what is new.</li>
<li><code>shadowtime leaderboard results -o leaderboard.html</code> writes this page.</li>
</ol>
"""


def leaderboard_page(found: Leaderboard, *, label: str, plan: str = "") -> str:
    """The page: a table of policies by logs, what the logs are, and how to add a row."""
    heads = "".join(f'<th colspan="2">{escape(one.name)}</th>' for one in found.subjects)
    subs = "<th>all</th><th>held out</th>" * len(found.subjects)
    best = {
        one: min(
            (places for (_, subject), places in found.places.items() if subject == one),
            key=lambda place: _order(place, found),
        )
        for one in found.subjects
    }
    rows = []
    for policy in found.policies:
        cells, proofs, runs, failed = [], 0, 0, 0
        asked = False
        for subject in found.subjects:
            place = found.places.get((policy, subject))
            if place is None:
                cells.append('<td class="dim">-</td><td></td>')
                continue
            asked = asked or place.proved is not None
            proofs, runs = proofs + (place.proved or 0), runs + place.runs
            failed += place.failed
            mark = ' class="best"' if place is best[subject] else ""
            span = f"<br><small>{_span(place)}</small>" if place.interval else ""
            held = number(place.held_out) if place.held_out is not None else ""
            cells.append(f"<td{mark}>{_value(place)}{span}</td><td>{held}</td>")
        proof = f"{proofs} of {runs}" if asked else "not asked"
        wrong = f"{failed}" if failed else ""
        rank = number(found.ranks[policy]) if policy in found.ranks else "-"
        rows.append(
            f"<tr><td>{escape(policy)}</td><td>{rank}</td>{''.join(cells)}"
            f"<td>{proof}</td><td>{wrong}</td></tr>"
        )
    logs = "".join(
        f"<tr><td>{escape(one.name)}</td><td>{escape(one.machine) or 'as in the header'}</td>"
        f"<td><code>{escape(one.trace)}</code></td></tr>"
        for one in found.subjects
    )
    versions = ", ".join(map(str, found.semantics))
    text = f"<h2>The plan</h2><pre>{escape(plan)}</pre>" if plan else ""
    return f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Leaderboard: {escape(label)}</title>
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<style>{STYLE}</style></head><body>
<h1>Leaderboard: {escape(label)}</h1>
<p>Policies by logs, best mean rank first. Below a value: the mean over shaken or resampled copies
with its 95 % interval. Held out: the last part of the log alone. Proof: runs whose schedule was
proved to keep every rule. A policy that starts fewer jobs than another is behind it. Semantics of
the engine: {versions}.</p>
<div class="scroll"><table><thead>
<tr><th rowspan="2">policy</th><th rowspan="2">mean rank</th>{heads}
<th rowspan="2">proof</th><th rowspan="2">failed runs</th></tr><tr>{subs}</tr></thead>
<tbody>{"".join(rows)}</tbody></table></div>
<h2>The logs</h2>
<table><thead><tr><th>log</th><th>machine</th><th>digest of its content</th></tr></thead>
<tbody>{logs}</tbody></table>
{HOW}{text}</body></html>
"""


def _order(place: Place, found: Leaderboard) -> tuple[float, float]:
    if place.value is None:
        return float("inf"), 0.0
    value = -place.value if REGISTRY[found.metric].better == "higher" else place.value
    return place.unstarted, value


def _value(place: Place) -> str:
    if place.value is None:
        return "failed"
    never = f"<br><small>{number(place.unstarted)} jobs never started</small>"
    return number(place.value) + (never if place.unstarted else "")


def _span(place: Place) -> str:
    inside = place.interval
    return f"{number(inside.mean)} ± {number(inside.half)}" if inside else ""
