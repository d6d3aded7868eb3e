"""Slurm's settings: slurm.conf and its like, and ``scontrol show config``.

The version is as its commands print it and its settings name it.
slurm.conf is lines of keys and values: Include, continuation, comments, quotes, any case.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping

from shadowtime.errors import ClusterError
from shadowtime.slurmtext.fields import lines_of

# A key begins where no letter stands before it: without that a long word is tried from each letter.
_PAIR = re.compile(r"(?<![\w.])([A-Za-z_][\w.]*)\s*=\s*(\"[^\"]*\"|\S*)")
_INCLUDE = re.compile(r"\s*include\s+(\S+)\s*", re.IGNORECASE)
_DEEPEST = 8
_LINE = re.compile(r"([A-Za-z][\w\[\]./-]*)\s*=\s*(.*)")
_LINES_OF_THEIR_OWN = ("nodename", "partitionname", "nodeset", "downnodes", "frontendname")


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
    for number, line in enumerate([*lines_of(text), ""], 1):
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


def parse_config(text: str) -> dict[str, str]:
    """The settings that ``scontrol show config`` lists; those that are (null) are left out.

    Examples
    --------
    >>> parse_config("Configuration data as of now\\nClusterName  = c1\\nLicenses = (null)\\n")
    {'ClusterName': 'c1'}
    """
    found: dict[str, str] = {}
    for line in lines_of(text):
        match = _LINE.fullmatch(line.strip())
        if match and match[2].strip() not in ("", "(null)"):
            found.setdefault(match[1], match[2].strip())
    return found


def conf_config(lines: Iterable[tuple[str, Mapping[str, str]]]) -> dict[str, str]:
    """The settings of slurm.conf; keys are in lower case, as slurm.conf takes any."""
    found: dict[str, str] = {}
    for _, pairs in lines:
        if not any(kind in pairs for kind in _LINES_OF_THEIR_OWN):
            found |= pairs
    return found


def consumes_memory(settings: Mapping[str, str]) -> bool | None:
    """Do jobs use up memory (CR_..._Memory)? None where the settings do not define it.

    Examples
    --------
    >>> consumes_memory({"SelectTypeParameters": "CR_CORE_MEMORY"}), consumes_memory({})
    (True, None)
    """
    low = {key.lower(): value for key, value in settings.items()}
    if "selecttypeparameters" not in low:
        return False if low.get("selecttype", "").lower().endswith("linear") else None
    return "MEMORY" in low["selecttypeparameters"].upper()


Version = tuple[int, int, int]
"""Year, month and release: 24.11.5."""


def parse_version(text: str) -> Version | None:
    """A version's numbers; the last release where the text has two. None for other texts.

    Examples
    --------
    >>> parse_version("24.11.5-4"), parse_version("24.11"), parse_version("slurm")
    ((24, 11, 5), (24, 11, 99), None)
    """
    match = re.match(r"(?:slurm(?:-wlm)?[ -])?(\d{2})\.(\d{2})(?:\.(\d{1,2}))?(?!\d)", text.strip())
    if match is None:
        return None
    return int(match[1]), int(match[2]), int(match[3] or 99)


def installed_version(program: str = "scontrol") -> Version | None:
    """The version of the Slurm whose commands are found here; None where there are none.

    Examples
    --------
    >>> installed_version("no-such-program") is None
    True
    """
    import shutil  # the settings alone need neither
    import subprocess

    if shutil.which(program) is None:
        return None
    done = subprocess.run([program, "--version"], capture_output=True, text=True, check=False)
    return parse_version(done.stdout)
