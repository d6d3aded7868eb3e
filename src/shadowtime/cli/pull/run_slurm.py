"""Fetch a site's folder with Slurm's commands."""

from __future__ import annotations

import os
from datetime import date, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from shadowtime.cli.common.console import note
from shadowtime.cli.common.outputs import check_outputs
from shadowtime.errors import UsageError
from shadowtime.live.runner import Commands
from shadowtime.live.slurm.pull import PullError, ask_folder, ask_slurm, pull
from shadowtime.printable import printable
from shadowtime.slurmtext.sacct_export import columns_for, drawn_delimiter
from shadowtime.slurmtext.sacct_rows import RECOMMENDED
from shadowtime.slurmtext.version import installed_version
from shadowtime.trace.anonymise import Names, key_path, load_key
from shadowtime.trace.site_commands import (
    CONFIGURATION,
    DAYS,
    ENVIRONMENT,
    conf_command,
    day_command,
    days_between,
    site_commands,
)

if TYPE_CHECKING:
    from shadowtime.live.slurm.pull import Pulled

PATIENCE = 600.0
"""Seconds until a command counts as hung; a busy slurmdbd may take minutes for a day."""


def pull_site(
    *,
    since: str | None,
    until: str | None,
    folder: str,
    only_print: bool,
    source: str | None,
    anonymise: bool,
    key: str | None,
) -> None:
    """Run the commands, or print them, and write the folder."""
    today = datetime.now().date()
    if key and not anonymise:
        raise UsageError("--key is the key of --anonymise: give both")
    if source and not since:
        found = sorted(path.stem for path in (Path(source) / DAYS).glob("*.psv"))
        if not found:
            raise UsageError(f"{source} has no days in {DAYS}/: run the commands of --print there")
        since, until = found[0], until or found[-1]
    if not since:
        raise UsageError("give the first day of the log, such as --since 2026-05-01")
    first = _day("--since", since)
    last = _day("--until", until) if until else today
    last = min(last, today)
    if first > last:
        raise UsageError(f"--since {first} is after {last}")
    if only_print:
        if source or anonymise:
            raise UsageError("--print only prints: use --from and --anonymise when its files exist")
        click.echo(f"mkdir -p {DAYS}")
        for one in (*site_commands(first), *map(conf_command, CONFIGURATION)):
            click.echo(f"{one.line} || rm {one.file}" if one.optional else one.line)
        for day in days_between(first, last):
            click.echo(day_command(day, today=today, delimiter=drawn_delimiter()).line)
        note(
            "run these commands in an empty folder there, then here: "
            f"shadowtime pull slurm --from THAT -o {folder}"
        )
        return
    check_outputs(folder=folder)
    _pull(Path(folder), first, last, today, source=source, anonymise=anonymise, key=key)


def _pull(
    folder: Path,
    since: date,
    until: date,
    today: date,
    *,
    source: str | None,
    anonymise: bool,
    key: str | None,
) -> None:
    names = Names(load_key(key_path(key), beside=folder)) if anonymise else None
    if source and Path(source).resolve() == folder.resolve():
        raise UsageError("--from and --output are the same folder: give another one to write to")
    env = {**os.environ, **ENVIRONMENT}
    if source:
        ask, columns = ask_folder(Path(source)), RECOMMENDED
    else:
        ask = ask_slurm(Commands(timeout=PATIENCE, env=env), datetime.now)
        columns = columns_for(installed_version("sacct"))
    done = pull(
        folder, since=since, until=until, today=today, ask=ask, names=names, tell=note,
        columns=columns, delimiter=drawn_delimiter(),
    )  # fmt: skip
    if done.left_out:
        note(f"{done.left_out} lines were omitted because the position of their names is unknown")
    if anonymise:
        note(f"the key is in {key_path(key)}: anyone who has it can test guesses of names")
    if done.failed:
        kept = f"{len(done.files)} files were fetched and are kept in {folder}"
        raise PullError(f"{'; '.join(done.failed)}; {kept}: run it again to resume")
    click.echo(printable(_summary(folder, done)))


def _summary(folder: Path, done: Pulled) -> str:
    days = f"{done.days_fetched} days fetched, {done.days_kept} already present"
    return f"{folder}: {done.rows:,} jobs; {days}. Inspect it: shadowtime doctor {folder}"


def _day(option: str, text: str) -> date:
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise UsageError(f"{option} {text!r} is not a day: write it as 2026-05-01") from None
