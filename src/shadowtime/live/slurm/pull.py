"""Fetch a site folder from a Slurm: bounded, resumable, each file written atomically."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shadowtime.errors import InputError, UsageError
from shadowtime.live.port import PortError
from shadowtime.private import locked, write_result
from shadowtime.slurmtext.conf import conf_lines, parse_config
from shadowtime.slurmtext.sacct_export import join_days, rewritten
from shadowtime.slurmtext.sacct_rows import BY_HAND, RECOMMENDED
from shadowtime.trace.anonymise import Names, anonymise
from shadowtime.trace.site_commands import (
    CONFIGURATION,
    DAYS,
    SiteCommand,
    conf_command,
    day_command,
    days_between,
    site_commands,
)

if TYPE_CHECKING:
    from shadowtime.live.runner import Runner

    Ask = Callable[[SiteCommand], tuple[str, datetime]]

MEMORY = "pull.json"
"""The folder's record: when each day was fetched, and with which key it was anonymised."""
SETTLED = timedelta(hours=1)
"""After midnight slurmctld may still be sending the day's last records to slurmdbd."""
_NO_DBD = re.compile(
    r"slurmdbd|database|persistent conn|accounting storage|connection refused", re.IGNORECASE
)


class PullError(UsageError):
    """Something could not be fetched; what was fetched is kept."""


class NoDatabase(PullError):
    """slurmdbd does not answer: no command of accounting can be answered now."""


@dataclass
class Pulled:
    """What a pull did."""

    files: list[str] = field(default_factory=list)
    days_fetched: int = 0
    days_kept: int = 0
    rows: int = 0
    left_out: int = 0
    """Lines that were omitted because the position of their names is unknown."""
    failed: list[str] = field(default_factory=list)
    """A sentence for each cause."""


def ask_slurm(run: Runner, clock: Callable[[], datetime]) -> Ask:
    """Run the command here; the time is the one before it ran."""

    def ask(command: SiteCommand) -> tuple[str, datetime]:
        at = clock()
        try:
            done = run(command.argv)
        except PortError as error:
            raise PullError(str(error)) from None
        if done.code:
            raise _failure(command, done.err or done.out)
        return done.out, at

    return ask


def ask_folder(folder: Path) -> Ask:
    """Read the file that the command wrote elsewhere."""

    def ask(command: SiteCommand) -> tuple[str, datetime]:
        path = folder / command.file
        try:
            text = path.read_bytes().decode("utf-8", "replace")
            return text, datetime.fromtimestamp(path.stat().st_mtime)
        except OSError as error:
            raise PullError(f"{path}: {error.strerror}") from None

    return ask


def pull(
    folder: Path,
    *,
    since: date,
    until: date,
    today: date,
    ask: Ask,
    names: Names | None = None,
    tell: Callable[[str], None] = lambda _: None,
    columns: str = RECOMMENDED,
    delimiter: str = BY_HAND,
) -> Pulled:
    """Bring a site folder up to date.

    Rules
    -----
    Days are fetched one after another, and each is kept in ``days/`` at once. A day is not fetched
    again once it was fetched an hour or more after its end, with the current columns; the current
    day always is. jobs.psv is joined from all days of the folder. sshare.txt is fetched once: the
    earlier, the closer to the beginning of the log. Slurm's own files are copied where they can be
    read. Failures are reported and the rest continues, but a slurmdbd that does not answer is not
    queried again. ``columns`` are sacct's, separated by ``delimiter``, which should be drawn.
    """
    (folder / DAYS).mkdir(parents=True, exist_ok=True)
    try:
        with locked(folder / ".pull.lock"):
            job = _Pull(folder, ask=ask, names=names, tell=tell)
            job.columns, job.delimiter = columns, delimiter
            return job.run(since, until, today)
    except BlockingIOError:
        raise UsageError(f"another pull is writing to {folder}: wait for it to end") from None


class _Pull:
    """One pull: the folder's record, and the result."""

    def __init__(
        self,
        folder: Path,
        *,
        ask: Ask,
        names: Names | None,
        tell: Callable[[str], None],
    ) -> None:
        self.folder, self.ask, self.names, self.tell = folder, ask, names, tell
        self.done = Pulled()
        self.memory = _remembered(folder, names)
        self.dbd_down = False
        self.columns, self.delimiter = RECOMMENDED, BY_HAND
        self.conf = "/etc/slurm/slurm.conf"
        if names is not None:
            names.people |= set(self.memory["people"])

    def run(self, since: date, until: date, today: date) -> Pulled:
        earliest = min([since, *self._days()])
        for command in site_commands(earliest):
            if command.file != "sshare.txt" or not (self.folder / command.file).is_file():
                self._file(command)
        self._configuration()
        try:
            self._fetch_days(since, until, today)
        finally:  # also if a user interrupts
            self._join()
        if self.names is not None:
            self.done.left_out = self.names.unread
        return self.done

    def _configuration(self) -> None:
        """slurm.conf with what it includes, and the files beside it."""
        folder = self.conf.rpartition("/")[0]
        for name in CONFIGURATION:
            pending, seen = [name], set()
            while pending:
                command = conf_command(pending.pop(), folder)
                text = self._file(command) if command.file not in seen else None
                seen.add(command.file)
                if text is not None:
                    conf_includes(text, pending)

    def _fetch_days(self, since: date, until: date, today: date) -> None:
        for day in days_between(since, until):
            if self._have(day):
                self.done.days_kept += 1
            elif self._file(self._day(day, today), day=day) is not None:
                self.done.days_fetched += 1
            else:
                break  # slurmdbd is not queried repeatedly

    def _day(self, day: date, today: date) -> SiteCommand:
        return day_command(day, today=today, columns=self.columns, delimiter=self.delimiter)

    def _days(self) -> list[date]:
        found = []
        for path in (self.folder / DAYS).glob("*.psv"):
            try:
                found.append(date.fromisoformat(path.stem))
            except ValueError:
                raise UsageError(f"{path} is not named like 2026-05-01.psv: move it away") from None
        return sorted(found)

    def _have(self, day: date) -> bool:
        """Is the day present, with all of its jobs?"""
        fetched = self.memory["days"].get(day.isoformat())
        path = self.folder / DAYS / f"{day.isoformat()}.psv"
        if fetched is None or not path.is_file():
            return False
        end = datetime.combine(day + timedelta(days=1), datetime.min.time())
        with path.open(encoding="utf-8", errors="replace") as file:
            head = file.readline().rstrip("\n")
        return datetime.fromisoformat(fetched) >= end + SETTLED and head == self._day(day, day).mark

    def _file(self, command: SiteCommand, *, day: date | None = None) -> str | None:
        """Fetch one file; None if that failed, else its text."""
        if (self.dbd_down and command.accounting) or (self.names and _private(command)):
            return None
        self.tell(f"{command.argv[0]}: {command.file}")
        try:
            text, at = self.ask(command)
            if day is not None and text.strip():
                text = rewritten(text, path=command.file)
            head = text.partition("\n")[0] if "|" in command.mark or day is not None else text
            if command.mark not in head:
                raise PullError(f"{command.argv[0]} did not print what {command.file} needs")
        except (PullError, InputError) as error:
            sentence = str(error)
            if sentence not in self.done.failed and not command.optional:
                self.done.failed.append(sentence)
            self.dbd_down = self.dbd_down or isinstance(error, NoDatabase)
            return None
        if command.file == "config.txt":
            self.conf = parse_config(text).get("SLURM_CONF", self.conf)
        shown = text if self.names is None else anonymise(command.file, text, self.names)
        if self.names is not None:
            self.memory["people"] = sorted(self.names.people)
        write_result(self.folder / command.file, shown)
        self.done.files.append(command.file)
        self.memory["files"][command.file] = at.isoformat(timespec="seconds")
        if day is not None:
            self.memory["days"][day.isoformat()] = at.isoformat(timespec="seconds")
        write_result(self.folder / MEMORY, json.dumps(self.memory, indent=1) + "\n")
        return text

    def _join(self) -> None:
        days = self._days()
        if not days:
            return
        paths = [self.folder / DAYS / f"{day.isoformat()}.psv" for day in days]
        joined = join_days(
            (str(path), path.read_bytes().decode("utf-8", "replace")) for path in paths
        )
        write_result(self.folder / "jobs.psv", joined.text)
        self.done.rows = joined.rows


def _private(command: SiteCommand) -> bool:
    """Tables for people, in which the place of names is not known."""
    return command.file in ("sprio.txt", "sdiag.txt")


def conf_includes(text: str, found: list[str]) -> None:
    """Add the files that a text of Slurm's configuration includes.

    Examples
    --------
    >>> names = []
    >>> conf_includes("Include nodes.conf\\ninclude /x/parts.conf # all\\n", names)
    >>> names
    ['nodes.conf', '/x/parts.conf']
    """

    def include(name: str) -> str:
        found.append(name)
        return ""

    for _ in conf_lines(text, path="", include=include):
        pass


def _remembered(folder: Path, names: Names | None) -> dict[str, Any]:
    """The folder's record, if it was anonymised in the way requested now."""
    mark = "" if names is None else names.mark
    path = folder / MEMORY
    if not path.is_file():
        return {"anonymised": mark, "days": {}, "files": {}, "people": []}
    try:
        memory = json.loads(path.read_text())
        if not all(isinstance(memory[key], dict) for key in ("days", "files")):
            raise TypeError
        known = str(memory["anonymised"])
        memory["people"] = [str(one) for one in memory["people"]]
    except (ValueError, KeyError, TypeError):
        raise InputError(
            "this is not the record of a pull", path=str(path), hint="Delete it to start over."
        ) from None
    if known != mark:
        how = {True: "without --anonymise", False: "with --anonymise and another key"}
        raise UsageError(
            f"{folder} was pulled {how[not known] if mark else 'with --anonymise'}: use the same "
            "options, or name another folder"
        )
    return dict(memory)


def _failure(command: SiteCommand, output: str) -> PullError:
    """What went wrong, from the line in which the command names an error."""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    wrong = [line for line in lines if "error" in line.lower() or "fatal" in line.lower()]
    line = (wrong or lines or ["it printed nothing"])[0]
    program = command.argv[0]
    line = re.sub(rf"^{program}: (error|fatal): ", "", line)[:200]
    if command.accounting and _NO_DBD.search(output):
        return NoDatabase(f"slurmdbd does not answer ({program}: {line})")
    return PullError(f"{program} failed: {line}")
