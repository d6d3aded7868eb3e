"""An option given twice: an error, unless it is one that may be repeated."""

from __future__ import annotations

from typing import Any

import click


def refuse_repeats(command: click.Command) -> click.Command:
    """The same command; it refuses a second value for an option that takes one.

    Without this the parser keeps the last value and says nothing. Works for the commands inside a
    group, too.
    """
    if isinstance(command, click.Group):
        for inner in command.commands.values():
            refuse_repeats(inner)
        return command
    if getattr(command, "refuses_repeats", False):
        return command
    make = command.make_parser

    def make_parser(ctx: click.Context) -> Any:
        parser: Any = make(ctx)
        parse = parser.parse_args

        def parse_args(args: list[str]) -> Any:
            options, rest, order = parse(args=args)
            _check(order, ctx)
            return options, rest, order

        parser.parse_args = parse_args
        return parser

    command.make_parser = make_parser  # type: ignore[method-assign]
    command.refuses_repeats = True  # type: ignore[attr-defined]
    return command


def _check(order: list[click.Parameter], ctx: click.Context) -> None:
    seen: set[str] = set()
    for one in order:
        if not isinstance(one, click.Option) or one.multiple or one.count or one.is_flag:
            continue
        name = max(one.opts, key=len)
        if name in seen:
            raise click.UsageError(
                f"{name} is given twice and takes one value.{_hint(one, ctx)}", ctx
            )
        seen.add(name)


def _hint(option: click.Option, ctx: click.Context) -> str:
    """Where several can be given: in a comparison, if that takes several."""
    root = ctx.find_root()
    if not isinstance(root.command, click.Group) or ctx.info_name == "compare":
        return ""
    compare = root.command.get_command(root, "compare")
    several = compare is not None and any(
        isinstance(other, click.Option) and other.multiple and set(other.opts) & set(option.opts)
        for other in compare.params
    )
    return " To compare several use: shadowtime compare." if several else ""
