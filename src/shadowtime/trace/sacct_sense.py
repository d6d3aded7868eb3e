"""Which reading of an sacct line is plausible: by the fields with a strict form."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from shadowtime.slurmtext.fields import parse_state
from shadowtime.slurmtext.hostlist import expand
from shadowtime.slurmtext.times import parse_span

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    Check = Callable[[str, Sequence[str]], bool]

_ID = re.compile(r"\d+([_.+].*)?")


def looks_like_id(text: str) -> bool:
    """Does this begin like a job id: 123, 123_7, 123.batch?"""
    return _ID.fullmatch(text.strip()) is not None


def _checks(columns: Sequence[str]) -> Iterator[tuple[int, Check]]:
    for place, name in enumerate(columns):
        if name in ("jobid", "jobidraw"):
            yield place, lambda value, _: looks_like_id(value)
        elif name == "state":
            yield place, lambda value, _: _works(parse_state, value)
        elif name in ("elapsed", "timelimit"):
            yield place, lambda value, _: _works(parse_span, value)
        elif name in ("ncpus", "reqcpus", "nnodes", "elapsedraw", "uid", "gid"):
            yield place, lambda value, _: value.strip().isdigit() or not value.strip()
        elif name in ("reqtres", "alloctres"):
            yield place, lambda value, _: "=" in value or not value.strip()
        elif name == "nodelist" and "nnodes" in columns:
            yield place, _hosts_match(columns.index("nnodes"))


def sense(columns: Sequence[str], fields: Sequence[str]) -> int:
    """How many of the fields with a strict form have it, if these are their columns."""
    return sum(check(fields[place], fields) for place, check in _checks(columns))


def most(columns: Sequence[str]) -> int:
    """The score of a line in which every field fits."""
    return sum(1 for _ in _checks(columns))


def _works(parse: Callable[[str], object], value: str) -> bool:
    try:
        parse(value)
    except ValueError:
        return False
    return True


def _hosts_match(nodes: int) -> Check:
    def check(value: str, fields: Sequence[str]) -> bool:
        try:
            hosts = expand(value)
        except ValueError:
            return False
        return str(len(hosts)) == fields[nodes].strip() if hosts else "none" in value.lower()

    return check
