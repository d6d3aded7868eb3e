"""What a comparison says, in sentences: who wins, who pays, and whether to believe it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.text import Text

from shadowtime.cli.tables import numbers_table
from shadowtime.report.metadata import describe
from shadowtime.report.numbers import MINUS, THIN, percent, short, span
from shadowtime.report.verdict import judge

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.table import Table

    from shadowtime.report import PolicyRun
    from shadowtime.study import Setting
    from shadowtime.study.losers import Change
    from shadowtime.study.ranking import Ranking

TOLD = ("bsld_mean", "wait_mean_s")
"""Metrics whose ranks are told: slowdown looks at short jobs, wait at everybody."""

DIFFERENCES = {"wait_mean_s": "mean wait", "bsld_mean": "mean bsld", "wait_p95_s": "95 % wait"}
MANY = 3
"""So many of a kind are named in a sentence."""


def winner_line(runs: Sequence[PolicyRun]) -> tuple[str | None, Text]:
    """The winner's name, None where nobody wins, and the sentences about it."""
    verdict = judge(runs)
    said = Text.assemble((verdict.headline, "bold green" if verdict.winner is not None else "bold"))
    name = None if verdict.winner is None else runs[verdict.winner].name
    return name, said.append(f" {unbroken(verdict.detail)}")


def load_warning(setting: Setting) -> Text | None:
    """What to know of a load at or above what the machine can do."""
    if not setting.offered_load >= 1:
        return None
    return Text(
        f"Warning: at an offered load of {setting.offered_load:.2f} the queue grows as long as "
        "jobs arrive, so every mean depends on the length of the log.",
        "yellow",
    )


def who_pays(setting: Setting, winner: str) -> Text:
    """The price of winning: the classes that wait longer than under the first policy."""
    first = setting.cells[0].policy
    others = [cell.policy for cell in setting.cells if cell.policy != winner]
    against = first if winner != first else next(iter(others), first)
    if against == winner:
        return Text()
    lost = setting.losers(winner, against)
    if not lost:
        return Text.assemble(
            ("Who pays: ", "bold"),
            f"nobody; no class by size, run time or user waits longer than under {short(against)}.",
        )
    kinds = {"size": "by size", "runtime": "by run time", "user": "by user"}
    parts = []
    for kind, words in kinds.items():
        worst = [change for change in lost if change.kind == kind][:MANY]
        if worst:
            parts.append(f"{words} {', '.join(_named(change) for change in worst)}")
    text = f"mean wait under {short(winner)} against {short(against)}, {'; '.join(parts)}."
    return Text.assemble(("Who pays: ", "bold"), unbroken(text))


def unbroken(text: str) -> str:
    """A sentence whose per cent signs stay with their numbers when a terminal breaks the line."""
    return text.replace(f"{THIN}%", "%")


def _named(change: Change) -> str:
    label = change.label.removeprefix("user ") if change.kind == "user" else change.label
    if change.kind == "size":
        label = "1 processor" if label == "1" else f"{label} processors"
    if change.before_s < 1:
        return f"{label} (+{span(change.wait_s)})"
    return f"{label} ({percent(change.change, signed=True)})"


def stability(setting: Setting, copies: str) -> list[Text]:
    """Whether the order of the policies holds in every copy, for the metrics that are told."""
    found = []
    for name in TOLD:
        ranking = setting.ranking(name)
        if ranking is not None:
            found.append(_stability(ranking, setting, copies))
    return found


def _stability(ranking: Ranking, setting: Setting, copies: str) -> Text:
    what = _lower(describe(ranking.metric).label)
    head = f"Rank by {what}: "
    if ranking.stable:
        order = ", ".join(short(name) for name in ranking.order)
        return Text.assemble(
            (head, "bold"), ("stable", "green"), f", the same in all {copies}: {order}."
        )
    best = ranking.order[0]
    if ranking.first_is_stable:
        swaps = sorted(ranking.swaps, key=lambda swap: -swap.times)
        pairs = ", ".join(
            f"{short(swap.ahead)} and {short(swap.behind)} ({swap.times})" for swap in swaps[:MANY]
        )
        more = f" and {len(swaps) - MANY} other pairs" if len(swaps) > MANY else ""
        return Text.assemble(
            (head, "bold"),
            (f"{short(best)} is first in all {copies}", "green"),
            (", but the rest is not stable", "yellow"),
            f": {pairs}{more} change places.",
        )
    leaders = sorted(ranking.first.items(), key=lambda item: -item[1])
    counts = ", ".join(f"{short(name)} in {times}" for name, times in leaders if times)
    text = Text.assemble(
        (head, "bold"), ("not stable", "yellow"), f": of {copies}, first is {counts}."
    )
    alone = setting.winners(ranking.metric)
    if alone and best not in alone:
        text.append(f" On the log as it is {short(alone[0])} is first, on average {short(best)}.")
    return text


def _lower(label: str) -> str:
    return label[:1].lower() + label[1:]


def differences(setting: Setting) -> Table | None:
    """Mean differences from the first policy over the copies, in per cent of its mean."""
    first = setting.cells[0]
    names = [name for name in DIFFERENCES if first.interval(name)]
    if not names or len(setting.cells) < 2:
        return None
    ranking = setting.ranking(names[0])
    table = numbers_table(
        f"against {short(first.policy, 20)}",
        *(f"{DIFFERENCES[name]}, %" for name in names),
        f"first by {DIFFERENCES[names[0]]}",
    )
    table.columns[0].style, table.columns[0].no_wrap = "cyan", True
    for cell in setting.cells:
        shown = [
            _difference(setting, cell.policy, first.policy, name)
            if cell is not first
            else Text("0", "dim")
            for name in names
        ]
        times = f"{ranking.first[cell.policy]} of {ranking.inputs}" if ranking else ""
        table.add_row(cell.policy, *shown, times)
    return table


def _difference(setting: Setting, policy: str, against: str, metric: str) -> Text:
    found = setting.difference(policy, against, metric)
    base = setting.cell(against).interval(metric)
    if found is None or base is None or not base.mean:
        return Text("-")
    scaled = found.scaled(100 / base.mean)
    style = "" if scaled.excludes_zero else "dim"
    mark = "" if scaled.excludes_zero else "?"
    digits = 1 if abs(scaled.mean) < 1000 else 0
    text = f"{scaled.mean:+,.{digits}f} ± {scaled.half:,.{digits}f}{mark or ' '}"
    return Text(text.replace("-", MINUS), style)
