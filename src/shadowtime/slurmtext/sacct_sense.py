"""Which reading of an sacct line is plausible: by the fields with a strict form."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import combinations, islice, pairwise
from typing import TYPE_CHECKING

from shadowtime.slurmtext.fields import parse_state
from shadowtime.slurmtext.hostlist import expand
from shadowtime.slurmtext.times import parse_span

if TYPE_CHECKING:
    Check = Callable[[str, Sequence[str]], bool]

FREE = ("jobname", "comment", "admincomment", "systemcomment", "submitline", "workdir",
        "constraints", "reason", "extra", "wckey")  # fmt: skip
"""Columns that may contain anything."""
_READINGS = 5_000
"""No more readings of a line than this are compared: of a line with more, those in which the
delimiters stand in few texts."""
_SUBMITTED = re.compile(r"(?:\S*/)?(?:sbatch|salloc|srun|scrontab)(?:\s.*)?", re.DOTALL)
_BEFORE_NAME = ("-J ", "-J", "job-name=", "job-name ", "/", " ")
_FEATURES = re.compile(r"[\w.:+=*&|,()\[\]-]*[^&|,]")
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


def merged(fields: list[str], columns: Sequence[str], delimiter: str) -> list[str]:
    """Put delimiters back into the free texts they came from: the most plausible reading.

    Several texts may have some: ``sbatch -C 'a|b'`` writes one into Constraints and one into
    SubmitLine.

    Examples
    --------
    >>> columns = ("jobid", "constraints", "state", "submitline", "jobname")
    >>> merged("7|a|b|FAILED|sbatch -C a|b x|x".split("|"), columns, "|")
    ['7', 'a|b', 'FAILED', 'sbatch -C a|b x', 'x']
    """
    free = [columns.index(name) for name in FREE if name in columns] or [len(columns) - 1]
    best, best_score = fields, (-1, -1)
    for shares in islice(_shares(len(fields) - len(columns), len(free)), _READINGS):
        more = {place: share for place, share in zip(free, shares, strict=True) if share}
        reading, at = [], 0
        for place in range(len(columns)):
            end = at + 1 + more.get(place, 0)
            reading.append(delimiter.join(fields[at:end]))
            at = end
        score = sense(columns, reading), _agree(dict(zip(columns, reading, strict=True)))
        if score > best_score:
            best, best_score = reading, score
    return best


def _shares(extra: int, columns: int) -> Iterator[tuple[int, ...]]:
    """How many delimiters each of the columns has, all in one first."""
    for several in range(1, min(extra, columns) + 1):
        for places in combinations(range(columns), several):
            for cuts in combinations(range(1, extra), several - 1):
                parts = [high - low for low, high in pairwise((0, *cuts, extra))]
                shares = dict(zip(places, parts, strict=True))
                yield tuple(shares.get(place, 0) for place in range(columns))


def _agree(row: Mapping[str, str]) -> int:
    """What speaks for a reading of the free texts themselves."""
    line, features = row.get("submitline", "").strip(), row.get("constraints", "").strip()
    name = row.get("jobname", "").strip()
    return (
        (not line or _SUBMITTED.fullmatch(line) is not None)
        + (not features or _FEATURES.fullmatch(features) is not None)
        + (not line or not features or features in line)
        + any(f"{before}{name} " in f"{line} " for before in _BEFORE_NAME)
    )
