"""The first screen: who wins, by which metric, by how much, and who pays for it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from shadowtime.report.metadata import describe
from shadowtime.report.numbers import cell, number, percent, span, with_unit
from shadowtime.report.page.markup import swatch, text
from shadowtime.report.verdict import Contest, Verdict, contest, metric_names, runner_up, verdict_of

if TYPE_CHECKING:
    from shadowtime.report.inputs import PolicyRun, ReportInput


def first_screen(report: ReportInput, losers: str) -> str:
    """Title, verdict, the table of metrics and the classes that lose."""
    verdict = verdict_of(report)
    more = _more(report, verdict)
    grade = f" {report.trust.grade}" if report.replay and report.trust else ""
    return (
        f'<section id="result">{_title(report)}'
        f'<p class="verdict{grade}">{_mark(verdict)}{text(verdict.headline)}</p>'
        f'<p class="detail">{text(verdict.detail)}</p>{trust_note(report)}'
        f'<div class="columns"><div>{scoreboard(report, verdict.contests)}'
        f"{_note(report)}{more}</div><div>{losers}</div></div></section>"
    )


def _title(report: ReportInput) -> str:
    jobs = report.workload
    length = int(jobs.submit[-1] - jobs.submit[0]) if len(jobs) else 0
    facts = [jobs.name, f"{number(len(jobs))} jobs"]
    if length:
        facts.append(f"submitted over {span(length)}")
    facts.append(machine(report))
    facts.append(f"scored: {report.window}")
    joined = '<span class="dot">·</span>'.join(f"<span>{text(fact)}</span>" for fact in facts)
    return f'<h1>{text(report.title)}</h1><p class="facts">{joined}</p>'


def machine(report: ReportInput) -> str:
    """The machine in a few words."""
    cluster = report.cluster
    procs = f"{number(cluster.procs)} processors"
    if cluster.shape == "pool":
        return f"a pool of {procs}"
    return f"{number(len(cluster.hosts))} {cluster.shape} with {procs}"


def _mark(verdict: Verdict) -> str:
    return "" if verdict.winner is None else swatch(verdict.winner)


def scoreboard(report: ReportInput, contests: tuple[Contest, ...]) -> str:
    """Metrics down, policies across; the best value of each row is marked."""
    if not contests:
        return ""
    runs = report.runs
    head = '<th scope="col">Metric</th>' + "".join(
        f'<th scope="col" title="{text(run.name)}">{swatch(i)}<span class="name">{text(run.name)}'
        "</span></th>"
        for i, run in enumerate(runs)
    )
    if len(runs) > 2 and not report.replay:
        head += '<th scope="col" class="versus">Best vs<br>runner-up</th>'
    if len(runs) > 1:
        head += (
            f'<th scope="col" class="versus" title="{text(runs[0].name)}">against<br>'
            f'<span class="name">{text(runs[0].name)}</span></th>'
        )
    rows = "".join(_row(report, result) for result in contests)
    return (
        f'<div class="scroll"><table class="scores"><thead><tr>{head}</tr></thead>'
        f"<tbody>{rows}</tbody></table></div>"
    )


def group_scores(report: ReportInput, group: str) -> str:
    """The same for the metrics of one group; empty where no run has any."""
    names = [name for name in metric_names(report.runs) if describe(name).group == group]
    return scoreboard(report, _contests(report, names))


def _contests(report: ReportInput, names: list[str]) -> tuple[Contest, ...]:
    """Who wins these metrics; nobody wins against a record."""
    found = tuple(contest(report.runs, name) for name in names)
    if report.replay:
        return tuple(replace(result, winners=(), clear=None) for result in found)
    return found


def _row(report: ReportInput, result: Contest) -> str:
    info, runs = result.info, report.runs
    top = max((abs(v) for v in result.values if v is not None), default=0.0)
    cells = "".join(_cell(run, i, result, top) for i, run in enumerate(runs))
    side = {"lower": "lower is better", "higher": "higher is better"}.get(info.better, "")
    about = ": ".join(part for part in (info.name, info.definition) if part)
    rivals = [0] if len(runs) > 1 else []
    if len(runs) > 2:
        rivals.insert(0, 0 if result.winner is None else runner_up(result, result.winner))
    if report.replay:
        last = f'<td class="versus"><b>{percent(result.change(1), signed=True)}</b></td>'
    else:
        last = "".join(
            f'<td class="versus">{_versus(result, rival, first=not place)}</td>'
            for place, rival in enumerate(rivals)
        )
    return (
        f'<tr><th scope="row" title="{text(f"{about} ({side})" if side else about)}">'
        f"{text(info.heading)}</th>{cells}{last}</tr>"
    )


def _cell(run: PolicyRun, index: int, result: Contest, top: float) -> str:
    info, value = result.info, result.values[index]
    tie = len(result.winners) == sum(value is not None for value in result.values)
    best = index in result.winners and not tie
    interval = run.interval(info.name)
    spread = (
        f'<small class="interval">{cell(interval.low, info.unit)} to '
        f"{cell(interval.high, info.unit)}</small>"
        if interval is not None
        else ""
    )
    share = 100 * abs(value) / top if value is not None and top else 0
    bar = f'<span class="bar p{index % 8}" style="width:{share:.1f}%"></span>'
    human = with_unit(value, info.unit) if info.unit == "s" else ""
    if interval is not None:
        alone = with_unit(run.metrics.get(info.name), info.unit)
        human = f"{human}{'; ' if human else ''}the log as it is: {alone}"
    kind = "perhaps" if best and result.clear is False else "best" if best else ""
    return (
        f'<td class="{kind}" data-policy="{text(run.name)}" '
        f'data-metric="{text(info.name)}" data-value="{"" if value is None else repr(value)}" '
        f'title="{text(human)}"><b>{cell(value, info.unit)}</b>{spread}{bar}</td>'
    )


def _versus(result: Contest, rival: int, *, first: bool) -> str:
    """The winner against a rival; whether the win is clear is said in the first such column."""
    if len(result.winners) > 1:
        everybody = len(result.winners) == sum(value is not None for value in result.values)
        return f'<span class="muted">{"equal" if everybody else "tied"}</span>'
    if result.winner is None:
        return '<span class="muted">&ndash;</span>'
    doubt = first and result.clear is False
    unclear = ' <small class="interval">may be chance</small>' if doubt else ""
    if result.winner == rival:
        return f'<span class="muted">is best</span>{unclear}'
    return f"<b>{percent(result.change(result.winner, rival), signed=True)}</b>{unclear}"


def _note(report: ReportInput) -> str:
    if not any(run.copies for run in report.runs):
        return ""
    note = report.interval_note or "Means over copies of the log with their 95 % intervals."
    return f'<p class="note">{text(note)}</p>'


def trust_note(report: ReportInput) -> str:
    """How far to trust a what-if on this log: the reasons of a replay, a sentence elsewhere."""
    trust = report.trust
    if trust is None:
        return ""
    if not report.replay:
        return (
            f'<p class="trust"><b class="{trust.grade}">{text(trust.headline)}</b> '
            f"{text(trust.meaning)} <span>{text(trust.basis_sentence)}</span></p>"
        )
    rows = "".join(
        f'<li class="{finding.grade}"><b>{text(finding.shown)}</b> '
        f"{text(finding.rule.measures)}: {text(finding.rule.reason)}.</li>"
        for finding in trust.reasons
    )
    good = text(trust.nothing_wrong)
    return f'<ul class="trust">{rows}{f"<li>{good}</li>" if good else ""}</ul>'


def _more(report: ReportInput, verdict: Verdict) -> str:
    """All other metrics, folded away."""
    shown = {result.info.name for result in verdict.contests}
    rest = [name for name in metric_names(report.runs) if name not in shown]
    if not rest:
        return ""
    grouped = sorted(rest, key=lambda name: describe(name).group)
    contests = _contests(report, grouped)
    return (
        f'<details class="more"><summary>{number(len(rest))} more metrics</summary>'
        f"{scoreboard(report, contests)}</details>"
    )
