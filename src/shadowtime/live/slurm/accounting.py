"""What accounting knows beside the queue: limits, usage, and the jobs of the past weeks.

Asked rarely, as slurmdbd serves the whole site; without it estimates know less and say so.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from shadowtime.cluster.site import Site
from shadowtime.errors import InputError, ShadowtimeError
from shadowtime.eta.arrivals import DAYS
from shadowtime.eta.present import Arrived, LogAt
from shadowtime.eta.shares import Observed
from shadowtime.live.port import PortError
from shadowtime.slurmtext.conf import parse_version
from shadowtime.slurmtext.sacct_export import columns_for, drawn_delimiter, rewritten
from shadowtime.trace.sacct import parse_sacct
from shadowtime.trace.site_commands import day_command, site_commands
from shadowtime.trace.site_fit import fit_to_site
from shadowtime.workload.clean import clean

if TYPE_CHECKING:
    from shadowtime.live.slurm.answers import Answers

RUNS = "how long jobs ran in the past weeks"
EVERY = 600
"""Seconds between two queries of slurmdbd."""
USAGE = "sshare.txt"
TEXTS = {"qos.txt": "qos", "associations.txt": "associations", USAGE: "shares"}


@dataclass(frozen=True, kw_only=True)
class Learned:
    """What jobs that ended used of their limits, and what was submitted, the oldest first."""

    ended: tuple[Observed, ...] = ()
    past: tuple[Arrived, ...] = ()


@dataclass
class Accounting:
    """Remembers the last answers; :meth:`refresh` asks again where they are old.

    ``missing`` has a sentence for everything that could not be learned.
    """

    texts: dict[str, str] = field(default_factory=dict)
    sacct: str = ""
    missing: dict[str, str] = field(default_factory=dict)
    _asked: float = float("-inf")
    _learned: tuple[str, Learned] = ("", Learned())

    def refresh(self, answers: Answers, now: float, version: str) -> None:
        """Query usage, and where that was not done lately, limits and ended jobs of a Slurm.

        Usage has to be as old as the queue's priorities; slurmctld itself has it.
        """
        due = now - self._asked >= EVERY
        day = (datetime.fromtimestamp(now, UTC) - timedelta(days=DAYS)).date()
        for command in site_commands(day):
            if command.file in TEXTS and (due or command.file == USAGE):
                answer = self._ask(answers, command.argv, command.mark, command.what)
                if answer is not None:
                    self.texts[TEXTS[command.file]] = answer
        if not due:
            return
        self._asked = now
        columns = columns_for(parse_version(version))
        # Users write into names what they like, but not what they cannot guess.
        command = day_command(day, today=day, columns=columns, delimiter=drawn_delimiter())
        answer = self._ask(answers, command.argv, "", RUNS)
        if answer is not None:
            try:
                self.sacct = rewritten(answer, path="sacct")
            except InputError as error:
                self.missing[RUNS] = f"accounting does not tell {RUNS}: {error}"

    def _ask(self, answers: Answers, argv: Sequence[str], mark: str, what: str) -> str | None:
        """An answer that begins as it should, or None; the last good one stands meanwhile."""
        try:
            found = answers.text(argv)
        except PortError as error:
            self.missing[what] = f"accounting does not tell {what}: {error}"
            return None
        if mark not in found:
            self.missing[what] = f"accounting does not tell {what}: {argv[0]} did not print {mark}"
            return None
        self.missing.pop(what, None)
        return found

    def learned(self, site: Site, now: int) -> Learned:
        """The jobs that ended, as far as accounting has them."""
        if self.sacct and self._learned[0] is not self.sacct:
            try:
                raw = parse_sacct(self.sacct, name="accounting", bad_lines="drop")
                _, jobs = fit_to_site(site, clean(raw), release="eligible")
                at = LogAt(jobs, site)
                present = at.present(now - at.epoch)
                self._learned = self.sacct, Learned(ended=present.ended, past=present.past)
            except ShadowtimeError as error:
                self.missing[RUNS] = f"accounting does not tell {RUNS}: {error}"
        return self._learned[1]
