"""shadowtime doctor: is a site's folder complete?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from rich.table import Table
from rich.text import Text

from shadowtime.api.load import READ, Reading
from shadowtime.cli.common import console, outputs, progress
from shadowtime.printable import printable
from shadowtime.report.numbers import number, percent
from shadowtime.study.site.doctor import EXIT, examine
from shadowtime.types import FileOrFolder
from shadowtime.workload.clean import explain

if TYPE_CHECKING:
    from rich.console import RenderableType

SINGLE = {f"{one}s": one for one in ("job", "user", "account", "partition", "node", "cpu")}
SHOWN = 8
"""The number of lines or ids of a list that are printed; --json has them all."""


def doctor(site: FileOrFolder, *, reading: Reading = READ, json: bool = False) -> int:
    """Inspect a site's folder: counts, repairs, bursts, outages, what cannot be modelled.

    Missing files are listed with the command that creates them. Exit code: 0 the folder is
    complete, 1 it is usable but has gaps, 2 it is unusable.

    \b
    shadowtime doctor site/
    shadowtime doctor site/ --json | jq .missing
    """
    with progress.while_reading(site):
        found = examine(Path(site), today=datetime.now().date(), **reading.reader())
    if json:
        outputs.print_json(found)
    else:
        console.show(*_parts(found))
        _show_missing(found["missing"])
    return EXIT[found["verdict"]]


def _parts(found: Mapping[str, Any]) -> Iterator[RenderableType]:
    verdicts = {
        "fine": ("fine: nothing is missing", "green"),
        "gaps": ("usable, with gaps", "yellow"),
        "unusable": (f"unusable: {found['problem']}", "red"),
    }
    yield Text.assemble((f"{found['folder']}: ", "bold"), verdicts[found["verdict"]])
    if "counts" in found:
        yield from _contents(found)


def _show_missing(missing: list[Mapping[str, str]]) -> None:
    """Commands are not wrapped, so that they can be copied."""
    if missing:
        click.echo("\nMissing, and the command that creates it:")
    for one in missing[:SHOWN]:
        click.echo(printable(f"  {one['file']}: {one['what']}"))
        click.echo(printable(f"    {one['command']}"))
    if len(missing) > SHOWN:
        click.echo(f"  and {len(missing) - SHOWN} more (--json lists them)")


def _contents(found: Mapping[str, Any]) -> Iterator[RenderableType]:
    counts = found["counts"].items()
    words = (f"{number(n)} {what if n != 1 else SINGLE.get(what, what)}" for what, n in counts)
    yield Text(", ".join(words))
    if found["from"]:
        yield Text(f"submitted from {found['from']} to {found['to']}")
    kinds = [
        (one["count"], f"{one['names']}: " + ", ".join(
            f"{number(amount)} {'KB memory' if name == 'memory' else name}"
            for name, amount in one.items()
            if name not in ("count", "names", "weight", "features") and amount
        ) + (f" ({','.join(one['features'])})" if one["features"] else ""))
        for one in found["nodes"]
    ]  # fmt: skip
    yield from _list("Nodes by kind", kinds)
    yield from _list("Repaired", [(n, explain(rule)) for rule, n in found["repaired"].items()])
    yield from _list(
        "Inferred from the log and the site (see the reference of sites)",
        [(n, rule) for rule, n in found["inferred"].items() if n],
    )
    yield from _list(
        "Flurries: bursts of one user; compare results without them",
        [
            (
                one["jobs"],
                f"of {one['user']}, {percent(one['jobs_share'])} of all, jobs {one['first_id']} to "
                f"{one['last_id']}, from {one['from']}",
            )
            for one in found["flurries"]
        ],
    )
    yield from _list(
        "Changes of the machine (nodes)",
        [
            (
                one["count"],
                f"{one['kind']} from {one['from']} to {one['to'] or 'the end'}: {one['nodes']}"
                + (f" ({one['reason']})" if one["reason"] else ""),
            )
            for one in found["machine_changes"]
        ],
    )
    yield from _list(
        "Jobs that the model cannot express",
        [
            (
                one["jobs"],
                f"{one['reason']} ({one['core_share']:.1%} of the core-hours"
                f"{'' if one['runs'] else ', never starts'}): {_ids(one['ids'])}",
            )
            for one in found["not_expressed"]
        ],
    )
    yield from _list(
        "Present but not modelled, with the jobs that each concerns",
        [
            (one["jobs"], f"{one['what']} ({one['core_share']:.1%} of the core-hours)")
            for one in found["not_modelled"]
        ],
    )
    if found["notes"] or found["remarks"]:
        yield Text("\nNotes:", "bold")
        for line in (*found["notes"], *(one["text"] for one in found["remarks"])):
            yield _indented("  ", line)


def _list(title: str, lines: list[tuple[int, str]]) -> Iterator[RenderableType]:
    if lines:
        yield Text(f"\n{title}:", "bold")
        for count, text in lines[:SHOWN]:
            yield _indented(f"  {count:>9,}  ", text)
        yield from _more(lines)


def _indented(head: str, text: str) -> RenderableType:
    """A line whose continuation stands below its text."""
    made = Table.grid()
    made.add_row(Text(head), Text(text))
    return made


def _more(lines: list[Any]) -> Iterator[RenderableType]:
    if len(lines) > SHOWN:
        yield Text(f"  and {len(lines) - SHOWN} more (--json lists them)")


def _ids(ids: list[int]) -> str:
    return ", ".join(map(str, ids[:SHOWN])) + (" ..." if len(ids) > SHOWN else "")
