"""A waiting job with its predicted start: what is answered, and kept for who asks later."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from shadowtime import plain, private
from shadowtime.errors import InputError

if TYPE_CHECKING:
    from shadowtime.eta.ranges import Estimate


@dataclass(frozen=True)
class Eta:
    """A predicted start and its range, in seconds since 1970."""

    expected: int
    earliest: int
    latest: int
    soon: float | None = None
    """The probability that it starts within an hour, where it is known."""
    drawn: tuple[int, int] | None = field(default=None, repr=False)
    """The ends as they were drawn, before experience moves them; None where it never does."""

    @staticmethod
    def of(one: Estimate, now: int) -> Eta:
        """An estimate as times of day; an end that is not known lies a year ahead."""
        from shadowtime.eta.present import LONGEST  # who reads an answer loads no simulator

        latest = one.latest if math.isfinite(one.latest) else LONGEST
        expected, first, last = (round(now + at) for at in (one.expected, one.earliest, latest))
        return Eta(expected, first, last, one.within_hour)


@dataclass(frozen=True)
class Row:
    """A waiting job."""

    job: str
    user: str
    procs: int
    since: int
    eta: Eta
    why: str = ""
    """What stands in its way, where it is known."""


FRESH = 300
"""Seconds: what was predicted earlier is predicted anew."""


def starts_of(state: Path) -> Path:
    """The last predictions beside a state file.

    Examples
    --------
    >>> from pathlib import Path
    >>> str(starts_of(Path("/var/lib/shadowtime/slurm-batch.json")))
    '/var/lib/shadowtime/slurm-batch.json.starts'
    """
    return state.with_name(f"{state.name}.starts")


def write_starts(path: Path, now: int, policy: str, rows: Iterable[Row]) -> None:
    """Replace what was predicted before; OSError if that cannot be written."""
    found = {
        row.job: [row.eta.expected, row.eta.earliest, row.eta.latest, row.eta.soon, row.why]
        for row in rows
    }
    text = json.dumps({"now": now, "policy": policy, "starts": found})
    private.replace_whole(path, text.encode(), flush=False)


def read_start(path: Path, job: str, *, now: float, policy: str) -> tuple[int, Row] | None:
    """A job's last prediction and when it was made; None if there is none, or none that is fresh.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> row = Row("7", "eva", 4, 0, Eta(400, 200, 900, 0.5), "job 6 is before it")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "s.starts"
    ...     write_starts(path, 100, "slurm", [row])
    ...     made, found = read_start(path, "7", now=130, policy="slurm")
    ...     late = read_start(path, "7", now=130 + FRESH, policy="slurm")
    >>> made, found.eta, found.why, late
    (100, Eta(expected=400, earliest=200, latest=900, soon=0.5), 'job 6 is before it', None)
    """
    try:
        with os.fdopen(private.open_plain(path, os.O_RDONLY), "rb") as file:
            known = plain.load(file.read())
        made = plain.whole(plain.entry(known, "now"), "now")
        values = plain.mapping(plain.entry(known, "starts"), "starts").get(job)
        if values is None or known.get("policy") != policy or not 0 <= now - made <= FRESH:
            return None
        expected, earliest, latest, soon, why = values
        first, mid, last = (plain.whole(one, "a start") for one in (earliest, expected, latest))
        eta = Eta(mid, first, last, None if soon is None else float(soon))
        return made, Row(job, "", 0, 0, eta, plain.text(why, "why"))
    except (OSError, ValueError, TypeError, InputError):
        return None  # as if nothing had been predicted: it is predicted now
