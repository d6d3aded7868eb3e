"""Hints that name an option: a reader does not know which command suggests it."""

from __future__ import annotations

import re
from collections.abc import Sequence

import click

INSTEAD = {
    "--bad-lines": "trace convert",
    "--max-size": "trace convert",
    "--slurm-cluster": "trace convert",
    "--rule": "simulate, compare and replay",
}
"""Options that readers and cleaning suggest, and a command that has them."""
_OPTION = re.compile(r"--[a-z][a-z-]*")


def command_of(root: click.Command, arguments: Sequence[str]) -> tuple[click.Command, str]:
    """The command that a line of arguments names, and its name."""
    found, name = root, "shadowtime"
    with click.Context(root) as context:
        for word in arguments:
            if not isinstance(found, click.Group):
                break
            inner = found.get_command(context, word)
            if inner is not None:
                found, name = inner, f"{name} {word}"
    return found, name


def options_in(text: str) -> list[str]:
    """The options of readers and cleaning that a text names.

    Examples
    --------
    >>> options_in("a.swf, line 7: no number. Drop such lines with --bad-lines drop.")
    ['--bad-lines']
    """
    return [option for option in _OPTION.findall(text) if option in INSTEAD]


def about_missing_options(root: click.Command, arguments: Sequence[str], text: str) -> str:
    """What to add to an error that suggests an option which the command does not have."""
    named = options_in(text)
    if not named:
        return ""
    command, name = command_of(root, arguments)
    own = {option for parameter in command.params for option in parameter.opts}
    missing = next((option for option in named if option not in own), "")
    if not missing:
        return ""
    return f"({missing} is an option of shadowtime {INSTEAD[missing]}, not of {name}.)"
