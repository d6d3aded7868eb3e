"""The first screen: which policy wins, by which metric, by how much, and which jobs pay for it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from markupsafe import Markup

from shadowtime.metrics.policy_run import PolicyRun
from shadowtime.report.contest import Contest, contest, metric_names, runner_up
from shadowtime.report.inputs import ReportInput
from shadowtime.report.metadata import describe
from shadowtime.report.numbers import DASH, amount, number, percent, span, with_unit
from shadowtime.report.page import chart, templates
from shadowtime.report.verdict import verdict_of

MANY = 3
"""With more policies the table takes the whole width, and the classes follow below it."""


def first_screen(report: ReportInput, losers: str, frontier: str = "") -> str:
    """Title, verdict, the table of metrics and the classes that lose.

    A replay leads with how far to trust it; elsewhere that is a sentence below the verdict.
    """
    verdict = verdict_of(report)
    shown = {result.info.name for result in verdict.contests}
    rest = [name for name in metric_names(report.runs) if name not in shown]
    grouped = sorted(rest, key=lambda name: describe(name).group)
    copied = any(run.copies for run in report.runs)
    note = report.interval_note or "Means over copies of the log with their 95 % intervals."
    return templates.fill(
        "result.html",
        title=report.title,
        facts=_facts(report),
        headline=verdict.headline,
        choices=verdict.choices,
        detail=" ".join(verdict.notes),
        winner=verdict.winner,
        grade=report.trust.shade if report.replay and report.trust else "",
        trust=report.trust,
        replay=report.replay,
        stacked=len(report.runs) > MANY,
        frontier=Markup(frontier),
        names=[run.name for run in report.runs],
        scores=scoreboard(report, verdict.contests),
        note=note if copied else "",
        more_count=len(rest),
        more=scoreboard(report, _contests(report, grouped), "More metrics by policy"),
        losers=Markup(losers),
    )


def _facts(report: ReportInput) -> list[str]:
    jobs = report.workload
    length = int(jobs.submit[-1] - jobs.submit[0]) if len(jobs) else 0
    named = [jobs.name] if jobs.name != report.title else []
    facts = [*named, f"{number(len(jobs))} jobs"]
    if length:
        facts.append(f"submitted over {span(length)}")
    return [*facts, machine(report), f"scored: {report.scored}"]


def machine(report: ReportInput) -> str:
    """The machine in a few words."""
    cluster = report.cluster
    procs = f"{number(cluster.procs)} processors"
    if cluster.shape == "pool":
        return f"a pool of {procs}"
    word = "nodes" if cluster.shape == "site" else cluster.shape
    return f"{number(len(cluster.hosts))} {word} with {procs}"


def scoreboard(
    report: ReportInput, contests: tuple[Contest, ...], label: str = "Metrics by policy"
) -> Markup:
    """Metrics down, policies across; the best value of each row is marked."""
    if not contests:
        return Markup("")
    return templates.fill(
        "scores.html",
        label=label,
        names=[run.name for run in report.runs],
        versus_next=len(report.runs) > 2 and not report.replay,
        replay=report.replay,
        rows=[_row(report, result) for result in contests],
    )


def group_scores(report: ReportInput, group: str) -> str:
    """The same for the metrics of one group; empty if no run has any."""
    names = [name for name in metric_names(report.runs) if describe(name).group == group]
    found = scoreboard(report, _contests(report, names), f"Metrics of {group}")
    return str(found)  # plain: sections are joined as text


def _contests(report: ReportInput, names: list[str]) -> tuple[Contest, ...]:
    """The winners of these metrics; no policy wins against a record."""
    found = tuple(contest(report.runs, name) for name in names)
    if report.replay:
        return tuple(replace(result, winners=(), clear=None) for result in found)
    return found


def _row(report: ReportInput, result: Contest) -> dict[str, Any]:
    """One metric: its heading, a cell per policy, and the winner against others."""
    info, runs = result.info, report.runs
    top = chart.robust_top([abs(v) for v in result.values if v is not None])
    side = {"lower": "lower is better", "higher": "higher is better"}.get(info.better, "")
    about = ": ".join(part for part in (info.name, info.definition) if part)
    rivals = [0] if len(runs) > 1 else []
    if len(runs) > 2:
        rivals.insert(0, 0 if result.winner is None else runner_up(result, result.winner))
    versus = [_versus(report, result, rival, first=not k) for k, rival in enumerate(rivals)]
    if report.replay:
        change = percent(result.change(1), signed=True)
        versus = [{"shown": change, "strong": True, "doubt": False, "against": "difference"}]
    return {
        "metric": info.name,
        "heading": info.label if info.unit == "s" else info.heading,
        "about": f"{about} ({side})" if side else about,
        "cells": [_cell(run, i, result, top) for i, run in enumerate(runs)],
        "versus": versus,
    }


def _cell(run: PolicyRun, index: int, result: Contest, top: float) -> dict[str, str]:
    info, value = result.info, result.values[index]
    tie = len(result.winners) == sum(value is not None for value in result.values)
    best = index in result.winners and not tie
    interval = run.interval(info.name)
    human = f"{number(value)} s" if info.unit == "s" and value is not None else ""
    if interval is not None:
        alone = with_unit(run.metrics.get(info.name), info.unit)
        human = f"{human}{'; ' if human else ''}the unmodified log: {alone}"
    return {
        "kind": "perhaps" if best and result.clear is False else "best" if best else "",
        "policy": run.name,
        "value": "" if value is None else repr(value),
        "human": human,
        "shown": amount(value, info.unit),
        "low": amount(interval.low, info.unit) if interval else "",
        "high": amount(interval.high, info.unit) if interval else "",
        "share": f"{100 * min(1.0, abs(value) / top) if value is not None and top else 0:.1f}",
        "cut": "cut" if value is not None and top and abs(value) > top * 1.0001 else "",
    }


def _versus(report: ReportInput, result: Contest, rival: int, *, first: bool) -> dict[str, Any]:
    """The winner against a rival; the first such column states whether the win is clear."""
    against = "best vs runner-up" if first and len(report.runs) > 2 else "best vs baseline"
    found = {"strong": False, "doubt": False, "against": against}
    if len(result.winners) > 1:
        all_equal = len(result.winners) == sum(value is not None for value in result.values)
        return found | {"shown": "equal" if all_equal else "tied"}
    if result.winner is None:
        return found | {"shown": DASH}
    found["doubt"] = first and result.clear is False
    if result.winner == rival:
        return found | {"shown": "is best"}
    change = result.change(result.winner, rival)
    return found | {"shown": percent(change, signed=True), "strong": True}
