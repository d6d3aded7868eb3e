"""What a policy improves and what that costs, in one sentence."""

from __future__ import annotations

from collections.abc import Sequence

from shadowtime.metrics.policy_run import PolicyRun
from shadowtime.report.contest import Contest, clearly
from shadowtime.report.numbers import THIN, short, with_unit
from shadowtime.report.payers import Payers, class_words
from shadowtime.study.losers import WORSE, Change

COSTS = (
    "wait_max_s",
    "wait_mean_s",
    "wait_p95_s",
    "lost_work",
    "killed",
    "goodput",
    "bsld_mean",
    "mwbs",
    "awrt_s",
    "bsld_p95",
    "loss_of_capacity",
)
"""Metrics that may be a cost, in the order in which the sentence looks for them."""
NAMED_COSTS = 2
"""Metrics that the sentence names; a class of jobs comes on top."""
POINT = 0.01
"""Where the other policy has none of something, a share from here on is a cost."""


def balance(
    runs: Sequence[PolicyRun],
    contests: Sequence[Contest],
    decided: Contest,
    run: int,
    against: int,
    price: Payers | None,
) -> str:
    """What ``run`` improves against another by the deciding metric, and what it costs.

    Costs are the first two metrics of ``COSTS`` that are worse by more than 5 % (over copies:
    clearly) and the class of jobs with the largest clear loss.
    """
    words = [_gain(decided, run, against, short(runs[against].name))]
    wait = next((c for c in contests if c.info.name == "wait_mean_s" and c is not decided), None)
    if wait is not None and clearly(runs, wait.info.name, run, against) is not False:
        change = wait.change(run, against)
        if change is not None and change <= -POINT:
            words.append(f"mean wait {rough(-change)} shorter")
    costs = [
        f"the {lower(c.info.label)} is {with_unit(c.values[run], c.info.unit)} instead of "
        f"{with_unit(c.values[against], c.info.unit)}"
        for name in COSTS
        for c in contests
        if c.info.name == name and c is not decided and is_worse(runs, c, run, against)
    ][:NAMED_COSTS]
    loser = None if price is None else worst(price)
    if loser is not None:
        costs.append(_loses(loser))
    gained = " and ".join(words)
    if costs:
        return f"{gained}, but {listed(costs)}"
    classes = "" if price is None or not price.changes else " and no class of jobs"
    return f"{gained}, with no metric{classes} worse by more than {100 * WORSE:g}{THIN}%"


def is_worse(runs: Sequence[PolicyRun], result: Contest, run: int, against: int) -> bool:
    """Worse by more than 5 %, and by more than chance where there are copies."""
    mine, theirs = result.values[run], result.values[against]
    if mine is None or theirs is None or clearly(runs, result.info.name, run, against) is False:
        return False
    loss = mine - theirs if result.info.better == "lower" else theirs - mine
    least = POINT if result.info.unit == "share" else 0.0
    return loss > max(WORSE * abs(theirs), least)


def worst(price: Payers) -> Change | None:
    """The class with the largest loss: by size or run time, else of any other kind."""
    lost = price.losers
    return next((one for one in lost if one.kind in ("size", "runtime")), next(iter(lost), None))


def rival_sentence(
    runs: Sequence[PolicyRun], contests: Sequence[Contest], decided: Contest, leader: int
) -> list[str]:
    """The policy with the shortest mean wait, if it is another one, and why it does not lead."""
    by_name = {c.info.name: c for c in contests}
    wait, longest = by_name.get("wait_mean_s"), by_name.get("wait_max_s")
    if wait is None or wait is decided or wait.sure in (None, leader):
        return []
    rival = wait.sure
    assert rival is not None
    reasons = [decided]
    if longest is not None and is_worse(runs, longest, rival, leader):
        reasons.append(longest)
    why = [f"a {lower(c.info.label)} of {with_unit(c.values[rival], c.info.unit)}" for c in reasons]
    return [
        f"{short(runs[rival].name)} has the shortest mean wait, "
        f"{with_unit(wait.values[rival], 's')} ({short(runs[leader].name)} "
        f"{with_unit(wait.values[leader], 's')}), but {listed(why)}."
    ]


def equal_sentence(
    runs: Sequence[PolicyRun], contests: Sequence[Contest], decided: Contest, leader: int
) -> str:
    """Why the policy with the best value does not lead: another is as good there and costs less."""
    best = decided.winner
    assert best is not None
    label, unit = lower(decided.info.label), decided.info.unit
    mine, theirs = (with_unit(decided.values[place], unit) for place in (leader, best))
    worse = [
        f"a {lower(c.info.label)} of {with_unit(c.values[best], c.info.unit)} instead of "
        f"{with_unit(c.values[leader], c.info.unit)}"
        for c in contests
        if c.info.name in ("wait_mean_s", "wait_max_s") and is_worse(runs, c, best, leader)
    ]
    return (
        f"{short(runs[best].name)} is about equal in {label} ({theirs}, "
        f"{short(runs[leader].name)} {mine}), but has {listed(worse)}."
    )


def _gain(result: Contest, run: int, against: int, name: str) -> str:
    change = result.change(run, against)
    label = lower(result.info.label)
    if change is None or change == 0:
        mine, theirs = (with_unit(result.values[i], result.info.unit) for i in (run, against))
        return f"{label} {mine} instead of {theirs} under {name}"
    return f"{label} {rough(abs(change))} {'below' if change < 0 else 'above'} {name}"


def _loses(change: Change) -> str:
    if change.before_s < 1:
        return f"{class_words(change)} {with_unit(change.wait_s, 's')} instead of not at all"
    return f"{class_words(change)} {rough(change.change)} longer"


def rough(share: float) -> str:
    """A share for a sentence: whole per cents from ten on.

    Examples
    --------
    >>> [rough(x).replace(THIN, " ") for x in (0.3094, 1.862, 0.0512)]
    ['31 %', '186 %', '5.1 %']
    """
    points = 100 * share
    return f"{points:,.{0 if points >= 10 else 1}f}{THIN}%"


def listed(words: Sequence[str]) -> str:
    """Words in a sentence.

    Examples
    --------
    >>> listed(["a"]), listed(["a", "b", "c"])
    ('a', 'a, b and c')
    """
    *before, last = words
    return f"{', '.join(before)} and {last}" if before else last


def lower(label: str) -> str:
    """A label inside a sentence."""
    return label[:1].lower() + label[1:]
