"""Options of a what-if side by side in the terminal: one row each, then group by group."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich.table import Table
from rich.text import Text

from shadowtime.cli.common.tables import numbers_table
from shadowtime.cli.replay_site import by_kind, group_label
from shadowtime.report.numbers import number, span
from shadowtime.report.page.whatif import more_of, name_of, share_of
from shadowtime.study.site.changes import Change
from shadowtime.study.site.keys import bounds_a_request
from shadowtime.study.site.options import Offer
from shadowtime.study.site.whatif import Arm, GroupEffect, WhatIf

STYLE = {"shorter": "green", "longer": "red", "no clear effect": "dim"}
UNCLEAR = "unclear"


def unaffected(changes: Sequence[Change]) -> str:
    """Why a change moves no job, in words.

    Examples
    --------
    >>> from shadowtime.study.site.changes import Change
    >>> unaffected([Change("set", "partition.gpu.MaxTime=7-0")])
    'no request exceeds it'
    >>> unaffected([Change("set", "qos.normal.GrpTRES=cpu=900")])
    'the limit is never reached'
    >>> unaffected([Change("add-nodes", "gpu=1")])
    'no job of this log is affected'
    """
    bounds = {bounds_a_request(change.key) for change in changes}
    if None in bounds:
        return "no job of this log is affected"
    return "the limit is never reached" if False in bounds else "no request exceeds it"


def beside(found: WhatIf) -> list[Any]:
    """The table of options, that of the groups, and a sentence about each option."""
    parts: list[Any] = [_options(found), Text(), _groups(found.arms), Text()]
    parts += [Text(_sentence(found, arm)) for arm in found.arms]
    cells = (_cell(row).plain for arm in found.arms for row in arm.groups)
    if UNCLEAR in cells:
        text = "unclear: the interval of the difference contains zero, or it is below 1 %"
        parts.append(Text(text, "dim"))
    return parts


def _options(found: WhatIf) -> Table:
    priced = found.offer is not None and found.offer.cost is not None
    extra = ["cost"] if priced else []
    table = numbers_table(
        "option", "mean wait", "of the wait ± 95 %", "in use", "node-hours", *extra
    )
    whole = found.together.whole
    table.add_row("as it is", span(whole.baseline_s), "", *_offer(found.offer, priced))
    for arm in found.arms:
        row = arm.whole
        change = "identical" if arm.identical else share_of(row.as_dict())
        shown = Text(change, STYLE[row.effect])
        table.add_row(arm.label, span(row.changed.mean), shown, *_offer(arm.offer, priced))
    return table


def _offer(offer: Offer | None, priced: bool) -> list[str]:
    if offer is None:
        return [""] * (3 if priced else 2)
    cost = [number(offer.cost)] if priced and offer.cost is not None else []
    return [f"{100 * offer.utilisation:.0f} %", number(offer.node_hours), *cost]


def _groups(arms: Sequence[Arm]) -> Table:
    """Every group under every option: by how much of its mean wait it changes."""
    table = numbers_table("mean waits", "jobs", "as it is", *(arm.label for arm in arms))
    rows = [{(row.by, row.name): row for row in arm.groups} for arm in arms]
    first = {key: row for each in reversed(rows) for key, row in each.items()}
    keys = dict.fromkeys(key for each in rows for key in each)
    order = list(dict.fromkeys(by for by, _ in keys))
    known = [first[key] for key in sorted(keys, key=lambda key: order.index(key[0]))]
    for row in by_kind(table, known):
        cells = [_cell(each.get((row.by, row.name))) for each in rows]
        label = group_label(row.by, row.name)
        table.add_row(label, number(row.jobs), span(row.baseline_s), *cells)
    return table


def _cell(row: GroupEffect | None) -> Text:
    if row is None:
        return Text("-", "dim")
    if row.effect == "no clear effect":
        return Text(UNCLEAR if row.difference.mean else "0", STYLE[row.effect])
    return Text(share_of(row.as_dict()), STYLE[row.effect])


def _sentence(found: WhatIf, arm: Arm) -> str:
    """What a manager wants to know of an option: waits, who gains and pays, what it takes."""
    if arm.identical:
        return f"{arm.label}: the schedules are identical: {unaffected(arm.changes)}."
    row = arm.whole
    words = f"{arm.label}: "
    if row.effect == "no clear effect":
        words += "no clear effect on the mean wait"
    else:
        words += f"jobs wait {span(row.changed.mean)} instead of {span(row.baseline_s)} on average"
    for effect, verb in (("shorter", "gains"), ("longer", "pays")):
        some = [one for one in arm.groups if one.effect == effect and one.by not in ("all", "size")]
        most = max(some, key=lambda one: abs(one.difference.mean) * one.jobs, default=None)
        if most is not None:
            words += f"; {name_of(most.as_dict())} {verb} most"
    if found.offer is not None and arm.offer is not None:
        words += "".join(f"; {one}" for one in more_of(found.offer.as_dict(), arm.offer.as_dict()))
    if arm.never_started:
        words += f"; {number(arm.never_started)} jobs would never start"
    return words + "."
