"""Fetch a site's folder from a cluster."""

from __future__ import annotations

import os
from datetime import date, datetime
from pathlib import Path

import click

from shadowtime.cli.common.console import note
from shadowtime.cli.common.outputs import check_outputs
from shadowtime.errors import UsageError
from shadowtime.live.runner import Commands
from shadowtime.live.slurm.pull import Pulled, PullError, ask_folder, ask_slurm, pull
from shadowtime.printable import printable
from shadowtime.slurmtext import conf, sacct_export, sacct_rows
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
from shadowtime.types import Folder

COMMANDS = {"Commands": ("slurm",)}
PATIENCE = 600.0
"""Seconds until a command counts as hung; a busy slurmdbd may take minutes for a day."""


def slurm(
    *,
    since: str | None = None,
    until: str | None = None,
    output: Folder,
    print_: bool = False,
    from_: Folder | None = None,
    anonymise: bool = False,
    key: str | None = None,
) -> None:
    """Fetch everything that a simulation needs from a Slurm with accounting, day by day.

    Runs sacct for one day at a time, scontrol show, sacctmgr show and sshare; nothing is changed on
    the cluster. If interrupted or run again, it resumes: days already fetched are skipped, except
    the current day.

    \b
    shadowtime pull slurm --since 2026-05-01 -o site/
    shadowtime pull slurm --since 2026-05-01 -o site/ --print > pull.sh
    shadowtime pull slurm --from raw/ -o shared/ --anonymise
    shadowtime doctor site/

    Parameters
    ----------
    since : DAY
        First day of the log, such as 2026-05-01.
    until : DAY
        Last day. [default: today]
    output : DIR
        The site's folder; files of an earlier pull are kept.
    print_
        Print the commands to run elsewhere; do nothing.
    from_ : DIR
        Read the output of the printed commands from this folder instead of running them.
    anonymise
        Replace users, accounts, job names and reservations with keyed hashes; omit free text.
    key : FILE
        The key of the hashes, created if missing; keep it secret, and keep it for later pulls.
        [default: ~/.config/shadowtime/anonymise.key]
    """
    today = datetime.now().date()
    if key and not anonymise:
        raise UsageError("--key is the key of --anonymise: give both")
    if from_ and not Path(from_).is_dir():
        raise UsageError(f"--from {from_}: there is no such folder")
    if from_ and not since:
        found = sorted(path.stem for path in (Path(from_) / DAYS).glob("*.psv"))
        if not found:
            raise UsageError(f"{from_} has no days in {DAYS}/: run the commands of --print there")
        since, until = found[0], until or found[-1]
    if not since:
        raise UsageError("give the first day of the log, such as --since 2026-05-01")
    first = _day("--since", since)
    last = _day("--until", until) if until else today
    last = min(last, today)
    if first > last:
        raise UsageError(f"--since {first} is after {last}")
    if print_:
        if from_ or anonymise:
            raise UsageError("--print only prints: use --from and --anonymise when its files exist")
        click.echo(f"mkdir -p {DAYS}")
        for one in (*site_commands(first), *map(conf_command, CONFIGURATION)):
            click.echo(f"{one.line} || rm {one.file}" if one.optional else one.line)
        for day in days_between(first, last):
            click.echo(day_command(day, today=today, delimiter=sacct_export.drawn_delimiter()).line)
        note(
            "run these commands in an empty folder there, then here: "
            f"shadowtime pull slurm --from THAT -o {output}"
        )
        return
    check_outputs(folder=output)
    _pull(Path(output), first, last, today, source=from_, anonymise=anonymise, key=key)


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
        ask, columns = ask_folder(Path(source)), sacct_rows.RECOMMENDED
    else:
        ask = ask_slurm(Commands(timeout=PATIENCE, env=env), datetime.now)
        columns = sacct_export.columns_for(conf.installed_version("sacct"))
    done = pull(
        folder, since=since, until=until, today=today, ask=ask, names=names, tell=note,
        columns=columns, delimiter=sacct_export.drawn_delimiter(),
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
