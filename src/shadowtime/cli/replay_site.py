"""shadowtime replay on a site: mean waits by group, recorded and simulated."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from rich.table import Table
from rich.text import Text

from shadowtime.api.site import repeats_of
from shadowtime.cli.common import console, findings, progress, running, tables
from shadowtime.cluster.site import Site
from shadowtime.metrics import Window, groups
from shadowtime.metrics.where import Where
from shadowtime.report import classes
from shadowtime.report.numbers import count, number, percent, span
from shadowtime.study.expected_error import within
from shadowtime.study.site.replay import SiteReplay, replay_site
from shadowtime.study.trust import shade
from shadowtime.workload import Workload

if TYPE_CHECKING:
    from rich.console import RenderableType

SHOWN = 12
"""Groups of a kind in the table; all are in the JSON object."""


class Grouped(Protocol):
    """A row about a group of jobs."""

    @property
    def by(self) -> str:
        """The kind of group."""


Row = TypeVar("Row", bound=Grouped)


def run_site(
    workload: Workload,
    site: Site,
    policy: Any,
    window: Window,
    *,
    phases: int | None,
    where: Where | None,
    by: str,
    resume: str | None,
) -> SiteReplay:
    """Replay the site several times, with progress."""
    repeats = repeats_of(policy, phases)
    machine: Any = site
    running.print_policy_notes([policy], machine, workload)
    engine = running.prepare([policy], machine, jobs=len(workload) * repeats.count, resume=resume)
    with progress.while_simulating(steps=repeats.count) as advance:
        return replay_site(
            workload, site, policy, repeats=repeats, window=window,
            by=groups.parse_by(by) if by else groups.BY, where=where,
            engine=advance.watched(engine), advance=lambda: advance("simulating"),
        )  # fmt: skip


def replayed(found: SiteReplay) -> dict[str, Any]:
    """What a page shows of a site's replay."""
    return {
        "runs": str(found.repeats),
        "groups": [one.as_dict() for one in found.groups],
        **{key: found.as_dict()[key] for key in ("backfilled", "reasons")},
    }


def show_site(found: SiteReplay, head: Text) -> None:
    """The verdict, mean waits by group, and what scheduled them."""
    head.append(findings.left_out(found.not_modelled))
    gone = found.cancelled
    if gone is not None and gone.started:
        head.append(
            f"\n{count(gone.jobs, 'job')} were cancelled while they waited: "
            f"{gone.started:.0f} of them start before, for drawn times ({gone.core_share:.1%} of "
            f"the core-hours); to their limits, waits would change by {gone.sensitivity:+.0%}"
        )
    console.show(
        findings.trust_sentences(found.trust).append("\n"),
        head,
        Text(),
        _groups(found),
        Text(),
        *_scheduling(found),
        findings.trust_table(found.trust),
    )


def _groups(found: SiteReplay) -> Table:
    table = tables.numbers_table(
        "mean waits", "jobs", "recorded", "simulated", "range of one run", "off by", "within"
    )
    for row in by_kind(table, found.groups):
        low, high = span(row.simulated.low), span(row.simulated.high)
        table.add_row(
            group_label(row.by, row.name),
            number(row.jobs),
            span(row.recorded_s),
            span(row.simulated.mean),
            Text(f"{low} to {high}", "" if row.within else "yellow"),
            percent(row.difference, signed=True),
            "" if row.error is None else Text(within(row.error), findings.SHADE[shade(row.error)]),
        )
    return table


def by_kind(table: Table, rows: Iterable[Row]) -> Iterator[Row]:
    """The first groups of every kind, for the caller to add; a heading goes before each kind."""
    table.columns[0].no_wrap = True
    heading, listed = "", 0
    for row in rows:
        if row.by not in (heading, "all"):
            table.add_row(Text(classes.by_kind(row.by), "dim"))
            listed = 0
        heading, listed = row.by, listed + 1
        if listed <= SHOWN:
            yield row


def group_label(by: str, name: str) -> str:
    """A group in a table.

    Examples
    --------
    >>> group_label("qos", "high"), group_label("account", ""), group_label("size", "5-16")
    ('  QOS high', '  no account', '  5-16')
    """
    if by == "all":
        return "all jobs"
    if by not in groups.COLUMN:
        return f"  {name}"
    noun = classes.NOUNS.get(by, by)
    return f"  {noun} {name}" if name else f"  no {noun}"


def _scheduling(found: SiteReplay) -> list[RenderableType]:
    """Which pass started jobs, and what they waited for."""
    shown: list[RenderableType] = []
    if found.backfilled is not None:
        recorded, low, high = found.backfilled
        shown.append(
            Text(
                f"started by backfill: {percent(recorded)} recorded, "
                f"{percent(low)} to {percent(high)} simulated"
            )
        )
    if found.reasons:
        table = tables.numbers_table(
            "waited for", "jobs recorded", "simulated", "range of the runs"
        )
        for row in found.reasons:
            mean = row.simulated
            span = "" if mean is None else f"{row.low} to {row.high}"
            table.add_row(
                row.reason,
                number(row.recorded),
                "not known" if mean is None else number(mean),
                span,
            )
        shown += [Text(), table]
    return [*shown, Text()] if shown else []
