"""Slurm's version, as its commands print it and its settings name it."""

from __future__ import annotations

import re
import shutil
import subprocess

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
    if shutil.which(program) is None:
        return None
    done = subprocess.run([program, "--version"], capture_output=True, text=True, check=False)
    return parse_version(done.stdout)
