"""Manual pages, one for each command, written from the same text as --help.

python distribution/man.py [FOLDER]      # build/man by default
"""

from __future__ import annotations

import sys
from inspect import cleandoc
from pathlib import Path
from typing import TYPE_CHECKING

import click

import shadowtime
from shadowtime.cli import app

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parent.parent


def commands(
    command: click.Command, parent: click.Context | None = None, name: str = "shadowtime"
) -> Iterator[click.Context]:
    """A command and those below it, each with its context."""
    context = click.Context(command, info_name=name, parent=parent)
    yield context
    if isinstance(command, click.Group):
        for each in command.list_commands(context):
            found = command.get_command(context, each)
            assert found is not None
            yield from commands(found, context, each)


def quoted(text: str) -> str:
    """Text for troff: a backslash or a leading dot would be a request, a hyphen breaks a line.

    Examples
    --------
    >>> quoted(".swf -o")
    '\\\\&.swf \\\\-o'
    """
    lines = text.replace("\\", "\\e").replace("-", "\\-").split("\n")
    return "\n".join("\\&" + line if line.startswith((".", "'")) else line for line in lines)


def page(context: click.Context) -> str:
    """The page of one command."""
    command, path = context.command, context.command_path
    name = path.replace(" ", "-")
    lines = [
        f'.TH "{name.upper()}" 1 "" "Shadowtime {shadowtime.__version__}" "Shadowtime"',
        ".SH NAME",
        f"{quoted(name)} \\- {quoted(command.get_short_help_str(200).rstrip('.'))}",
        ".SH SYNOPSIS",
        f".B {quoted(path)}",
        quoted(" ".join(command.collect_usage_pieces(context))),
        ".SH DESCRIPTION",
        *described(command.help or ""),
    ]
    options = [record for p in command.params if (record := p.get_help_record(context))]
    if options:
        lines.append(".SH OPTIONS")
        for flags, text in options:
            lines += [".TP", f".B {quoted(flags)}", quoted(text) or "\\&"]
    if isinstance(command, click.Group):
        lines.append(".SH COMMANDS")
        for each in command.list_commands(context):
            found = command.get_command(context, each)
            assert found is not None
            lines += [".TP", f".B {quoted(path)} {quoted(each)}"]
            lines.append(quoted(found.get_short_help_str(200)))
    return "\n".join(lines) + "\n"


def described(text: str) -> Iterator[str]:
    """Paragraphs; what click leaves as it is (\\b) stays as it is here too."""
    for paragraph in cleandoc(text).split("\n\n"):
        if paragraph.startswith("\b"):
            yield f".PP\n.nf\n{quoted(paragraph.removeprefix(chr(8)).strip(chr(10)))}\n.fi"
        else:
            yield f".PP\n{quoted(' '.join(paragraph.split()))}"


def main(folder: str | Path = ROOT / "build" / "man") -> int:
    """Write every page."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    pages = {each.command_path.replace(" ", "-"): page(each) for each in commands(app)}
    for name, text in pages.items():
        (folder / f"{name}.1").write_text(text, encoding="utf-8")
    print(f"wrote {len(pages)} manual pages to {folder}")
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
