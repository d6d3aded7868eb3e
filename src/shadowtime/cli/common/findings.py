"""The findings of a comparison in sentences: which policy wins, which jobs pay, how surely."""

from __future__ import annotations

from collections.abc import Sequence

from rich.table import Table
from rich.text import Text

from shadowtime.cli.common.tables import numbers_table
from shadowtime.report import ReportInput, metadata
from shadowtime.report.numbers import MINUS, THIN, short
from shadowtime.report.verdict import MAIN, verdict_of, winner_payers
from shadowtime.study import Setting, comparison
from shadowtime.study.site.coverage import NotModelled
from shadowtime.study.trust import Trust

SHADE = {"good": "green", "fair": "yellow", "poor": "red"}
"""The colour of an expected error."""
DIFFERENCES = ("wait_mean_s", "bsld_mean", "wait_p95_s")
MOST = 6
"""What is not modelled is named up to this many."""
MANY = 3
"""The number of items of a kind that a sentence names."""


def winner_line(result: ReportInput) -> tuple[str | None, Text]:
    """The winner's name, None where no policy wins, and the sentences about it."""
    verdict = verdict_of(result)
    sentence = Text.assemble(
        (unbroken(verdict.headline), "bold green" if verdict.winner is not None else "bold")
    )
    name = None if verdict.winner is None else result.runs[verdict.winner].name
    return name, sentence.append(f" {unbroken(verdict.detail)}")


def load_warning(setting: Setting) -> Text | None:
    """A warning for a load at or above the machine's capacity."""
    if not setting.offered_load >= 1:
        return None
    return Text(
        f"Warning: at an offered load of {setting.offered_load:.2f} the queue grows as long as "
        "jobs arrive, so every mean depends on the length of the log.",
        "yellow",
    )


def payers_line(result: ReportInput) -> Text | None:
    """Which classes pay, in the page's words; None for one policy."""
    found = winner_payers(result)
    if found is None:
        return None
    return Text.assemble(("Which jobs pay: ", "bold"), unbroken(found.sentence))


def trust_line(trust: Trust | None) -> Text | None:
    """How far to trust this on the log's own machine; None where it records no starts."""
    if trust is None:
        return None
    return trust_sentences(trust).append(f" {trust.basis_sentence}", "dim")


def trust_sentences(trust: Trust) -> Text:
    """The expected error, and what it says."""
    return Text.assemble((trust.headline, f"bold {SHADE[trust.shade]}"), f" {trust.meaning}")


def left_out(found: Sequence[NotModelled]) -> str:
    """A line about what is not modelled; empty where that is nothing."""
    more = f" and {len(found) - MOST} more (doctor lists them)" if len(found) > MOST else ""
    return f"\nnot modelled: {', '.join(map(str, found[:MOST]))}{more}" if found else ""


def unbroken(text: str) -> str:
    """A sentence whose per cent signs stay with their numbers when a terminal breaks the line."""
    return text.replace(f"{THIN}%", "%")


def stability(setting: Setting, copies: str) -> list[Text]:
    """Whether the order of the policies holds in every copy, for the metrics that are shown."""
    found = []
    for name in MAIN:
        ranking = setting.ranking(name)
        if ranking is not None:
            found.append(_stability(ranking, setting, copies))
    return found


def _stability(ranking: comparison.Ranking, setting: Setting, copies: str) -> Text:
    what = _lower(metadata.describe(ranking.metric).label)
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
        text.append(f" On the unmodified log {short(alone[0])} is first, on average {short(best)}.")
    return text


def _lower(label: str) -> str:
    return label[:1].lower() + label[1:]


def legend(setting: Setting) -> Text:
    """What the columns of :func:`differences` mean."""
    first, *_ = _compared(setting)
    return Text(
        "mean difference with its 95 % interval, each copy against the same copy; "
        f"? the sign is not certain; first: copies with the best {metadata.describe(first).short}",
        "dim",
    )


def _compared(setting: Setting) -> list[str]:
    return [name for name in DIFFERENCES if setting.runs[0].interval(name)]


def differences(setting: Setting) -> Table | None:
    """Mean differences from the first policy over the copies, in per cent of its mean.

    The last column counts the copies in which a policy is best by the first of the metrics.
    """
    first = setting.runs[0]
    names = _compared(setting)
    if not names or len(setting.runs) < 2:
        return None
    ranking = setting.ranking(names[0])
    table = numbers_table(
        f"against {short(first.name, 20)}",
        *(f"{metadata.describe(name).short}, %" for name in names),
        "first",
    )
    table.columns[0].style, table.columns[0].no_wrap = "cyan", True
    for run in setting.runs:
        shown = [
            _difference(setting, run.name, first.name, name)
            if run is not first
            else Text("0", "dim")
            for name in names
        ]
        times = f"{ranking.first[run.name]} of {ranking.inputs}" if ranking else ""
        table.add_row(run.name, *shown, times)
    return table


def _difference(setting: Setting, policy: str, against: str, metric: str) -> Text:
    found = setting.difference(policy, against, metric)
    base = setting.run(against).interval(metric)
    if found is None or base is None or not base.mean:
        return Text("-")
    scaled = found.scaled(100 / base.mean)
    style = "" if scaled.excludes_zero else "dim"
    mark = "" if scaled.excludes_zero else "?"
    digits = 1 if abs(scaled.mean) < 1000 else 0
    text = f"{scaled.mean:+,.{digits}f} ± {scaled.half:,.{digits}f}{mark or ' '}"
    return Text(text.replace("-", MINUS), style)


def trust_table(trust: Trust) -> Table:
    """Every cause that limits the trust, the worst first, then the others in a line."""
    table = Table(box=None, show_header=False, padding=(0, 1))
    table.add_column(no_wrap=True, justify="right")
    table.add_column()
    for finding in trust.reasons:
        text = Text.assemble((finding.rule.measures, "bold"), f": {finding.rule.reason}.")
        table.add_row(Text(finding.shown, "yellow"), text)
    if trust.nothing_wrong:
        table.add_row("", Text(trust.nothing_wrong, "dim"))
    return table
