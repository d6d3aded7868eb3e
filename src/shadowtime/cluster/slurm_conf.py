"""slurm.conf as lines of keys and values: Include, continuation, comments, quotes, any case."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from shadowtime.errors import ClusterError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

# A key begins where no letter stands before it: without that a long word is tried from each letter.
_PAIR = re.compile(r"(?<![\w.])([A-Za-z_][\w.]*)\s*=\s*(\"[^\"]*\"|\S*)")
_INCLUDE = re.compile(r"\s*include\s+(\S+)\s*", re.IGNORECASE)
_DEEPEST = 8


def conf_lines(
    text: str, *, path: str, include: Callable[[str], str] | None = None, depth: int = 0
) -> Iterator[tuple[str, dict[str, str]]]:
    """Each line with content: its place, and its pairs with keys in lower case.

    ``include`` returns the text of an included file; without it an Include line is an error.

    Examples
    --------
    >>> list(conf_lines('NodeName=n[1-2] CPUs=4 \\\\\\n  Reason="a b" # note\\n', path="s.conf"))
    [('s.conf, line 1', {'nodename': 'n[1-2]', 'cpus': '4', 'reason': 'a b'})]
    """
    whole, first = "", 0
    for number, line in enumerate([*text.splitlines(), ""], 1):
        first = first if whole else number
        plain = re.sub(r"(?<!\\)#.*", "", line)
        if plain.rstrip().endswith("\\"):
            whole += plain.rstrip()[:-1] + " "
            continue
        whole += plain
        where = f"{path}, line {first}"
        included = _INCLUDE.fullmatch(whole)
        if included:
            if include is None or depth >= _DEEPEST:
                raise ClusterError(f"{where}: cannot include {included[1]}: give it in one file")
            yield from conf_lines(
                include(included[1]), path=included[1], include=include, depth=depth + 1
            )
        elif whole.strip():
            pairs = {match[1].lower(): match[2].strip('"') for match in _PAIR.finditer(whole)}
            if pairs:
                yield where, pairs
        whole = ""


def with_defaults(
    lines: Iterator[tuple[str, dict[str, str]]], kind: str
) -> Iterator[tuple[str, dict[str, str]]]:
    """Lines that begin with ``kind`` (nodename, partitionname), filled up from DEFAULT lines."""
    defaults: dict[str, str] = {}
    for where, pairs in lines:
        if kind not in pairs:
            continue
        if pairs[kind].upper() == "DEFAULT":
            defaults |= pairs
        else:
            yield where, {**defaults, **pairs}
