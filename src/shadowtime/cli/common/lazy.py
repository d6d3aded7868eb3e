"""Groups of commands whose code is loaded only when one of them runs (as in pip)."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from itertools import takewhile
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from shadowtime.cli.common.declared import Group, as_click, parameters, sections, source_of

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem


class Entry(NamedTuple):
    """How a command appears in its group's help: its heading and summary."""

    heading: str
    help: str
    module: str = ""
    """The file below the group's package; the command's own name unless given."""


class FunctionCommand(click.Command):
    """The command of a function; its module is imported when the command runs.

    With ``ALSO = {"slurm": "check_slurm"}`` in its file, that word in place of its first argument
    means the function ``slurm`` of the file ``check_slurm.py`` beside it.
    """

    def __init__(self, module: str, function: str) -> None:
        source = source_of(module)
        node = source.function(function)
        assert node is not None
        self.module, self.function = module, function
        self.also = source.constant("ALSO", {})
        self.declared = list(parameters(source, node))
        super().__init__(
            function.rstrip("_"),
            params=[as_click(x) for one in self.declared for x in one.options],
            callback=self.call,
            help=sections(node)[0],
        )

    def make_context(
        self,
        info_name: str | None,
        args: list[str],
        parent: click.Context | None = None,
        **extra: Any,
    ) -> click.Context:
        if not args or args[0] not in self.also:
            return super().make_context(info_name, args, parent, **extra)
        file = f"{self.module.rpartition('.')[0]}.{self.also[args[0]]}"
        other = FunctionCommand(file, args[0])
        return other.make_context(f"{info_name} {args[0]}", args[1:], parent, **extra)

    def call(self, **given: Any) -> Any:
        """Call the function with what was given on the command line."""
        first: list[Any] = []
        for one in self.declared:
            if isinstance(one, Group):
                made = getattr(import_module(one.module), one.type)
                given[one.name] = made(**{x.name: given.pop(x.name) for x in one.options})
            elif one.kind == "argument":
                first.append(given.pop(one.name))
            elif one.kind == "arguments":
                first += given.pop(one.name)
            elif one.default is None and given[one.name] == ():
                given[one.name] = None  # a sequence that was not given
        return getattr(import_module(self.module), self.function)(*first, **given)


class LazyGroup(click.Group):
    """Commands by name, from the files of a package (:func:`command_in`)."""

    def __init__(
        self, *arguments: Any, package: str, entries: Mapping[str, Entry], **options: Any
    ) -> None:
        super().__init__(*arguments, **options)
        self.package, self.entries = package, entries

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.entries)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in self.entries:
            return None
        module = f"{self.package}.{self.entries[cmd_name].module or cmd_name}"
        return refuse_repeats(command_in(module, cmd_name))

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0]
        if name not in self.entries and not name.startswith("-"):
            from difflib import get_close_matches  # saves a hundredth of a second in help

            near = get_close_matches(name, self.entries, n=2, cutoff=0.6)
            guess = f", did you mean {' or '.join(near)}?" if near else "."
            ctx.fail(f"there is no command {name}{guess}")
        return super().resolve_command(ctx, args)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Names for a shell, again from the table."""
        from click.shell_completion import CompletionItem

        names = [
            CompletionItem(name, help=entry.help)
            for name, entry in self.entries.items()
            if name.startswith(incomplete)
        ]
        return names + click.Command.shell_complete(self, ctx, incomplete)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The help of every command from the table, so that none has to be loaded."""
        headings = list(dict.fromkeys(entry.heading for entry in self.entries.values()))
        width = max(len(name) for name in self.entries)
        for heading in headings:
            with formatter.section(heading):
                formatter.write_dl(
                    [
                        (name.ljust(width), entry.help)
                        for name, entry in self.entries.items()
                        if entry.heading == heading
                    ]
                )


class FileGroup(LazyGroup):
    """The group of a file: ``COMMANDS`` names them by heading, the module's docstring is its help.

    A command is a function of the file, ``store.show`` the function of a file beside it, and
    ``info`` a file beside it with a function or a group of that name. ``DEFAULT`` is the command
    that is meant by any other word: ``sweep PLAN.toml`` is ``sweep run PLAN.toml``.
    """

    def __init__(self, module: str, name: str) -> None:
        self.package, self.source = module, source_of(module)
        self.default = self.source.constant("DEFAULT", "")
        entries = {
            command.rpartition(".")[2].rstrip("_"): Entry(heading, self._summary(command), command)
            for heading, commands in self.source.constant("COMMANDS", {}).items()
            for command in commands
        }
        settings = {"help_option_names": ["-h", "--help"], "max_content_width": 100}
        super().__init__(
            name,
            package=module,
            entries=entries,
            help=sections(self.source.tree)[0],
            context_settings=settings,
        )

    def _home(self, command: str) -> tuple[str, str]:
        """The module of a command and its function there."""
        file, _, function = command.rpartition(".")
        if not file and self.source.function(function):
            return self.package, function
        return f"{self.package}.{file or function}", function

    def _summary(self, command: str) -> str:
        """The first sentence about a command."""
        module, function = self._home(command)
        source = source_of(module)
        first = sections(source.function(function) or source.tree)[0].partition("\n\n")[0]
        return " ".join(first.split()).partition(". ")[0].rstrip(".") + "."

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in self.entries:
            return None
        return refuse_repeats(command_in(*self._home(self.entries[cmd_name].module)))

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if self.default and args and args[0] not in (*self.entries, "--help", "-h"):
            args = [self.default, *args]
        return super().parse_args(ctx, args)


def command_in(module: str, name: str) -> click.Command:
    """A command of a file: its function, its group, or its object ``command``."""
    source = source_of(module)
    if "command" in source.names:
        found = import_module(module).command
        assert isinstance(found, click.Command)
        return found
    return FunctionCommand(module, name) if source.function(name) else FileGroup(module, name)


def refuse_repeats(command: click.Command) -> click.Command:
    """The same command, but it rejects a second value for an option that takes one.

    Without this the parser silently keeps the last value, or takes a second value behind an option
    for an argument. Works for groups and their commands, too.
    """
    if isinstance(command, click.Group):
        for inner in command.commands.values():
            refuse_repeats(inner)
    if getattr(command, "refuses_repeats", False):
        return command
    make = command.make_parser

    def make_parser(ctx: click.Context) -> Any:
        parser: Any = make(ctx)
        parse = parser.parse_args

        def parse_args(args: list[str]) -> Any:
            typed = list(args)
            options, rest, order = parse(args=args)
            if rest and not ctx.allow_extra_args and not ctx.resilient_parsing:
                _refuse_rest(command, typed, rest, ctx)
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


def _refuse_rest(
    command: click.Command, typed: list[str], rest: list[str], ctx: click.Context
) -> None:
    """Reject words that no argument takes; if they follow an option's value, say how to repeat it.

    ``-p easy easy++`` gives the option one value and leaves one word.
    """
    taking = {
        name: one
        for one in command.params
        if isinstance(one, click.Option) and not one.is_flag and not one.count
        for name in one.opts
    }
    for at, word in enumerate(typed):
        values = list(takewhile(lambda each: not each.startswith("-"), typed[at + 1 :]))
        if word not in taking or len(values) < 2:
            continue
        option = taking[word]
        again = f" {word} takes one value: write {word} {values[0]} {word} {values[1]}."
        hint = again if option.multiple else _hint(option, ctx)
        if hint:
            raise click.UsageError(f"Got unexpected extra argument ({' '.join(rest)}).{hint}", ctx)


def _hint(option: click.Option, ctx: click.Context) -> str:
    """Where several values can be given: in a comparison, if it accepts several."""
    root = ctx.find_root()
    if not isinstance(root.command, click.Group) or ctx.info_name == "compare":
        return ""
    compare = root.command.get_command(root, "compare")
    several = compare is not None and any(
        isinstance(other, click.Option) and other.multiple and set(other.opts) & set(option.opts)
        for other in compare.params
    )
    return " To compare several use: shadowtime compare." if several else ""
