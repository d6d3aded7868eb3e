"""The starts that a watch predicted last, in a file beside its state, for who asks meanwhile."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from pathlib import Path

from shadowtime import plain, private
from shadowtime.errors import InputError
from shadowtime.live.predicted import Eta, Row

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
