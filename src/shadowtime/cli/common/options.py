"""Options that several commands share, as decorators, from their one description."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from shadowtime.cli.common.declared import Parameter, as_click, fields, shared, source_of
from shadowtime.cli.common.shared import policy_names

Command = TypeVar("Command", bound=Callable[..., Any])
Decorator = Callable[[Command], Command]


def all_of(*decorators: Decorator[Any]) -> Decorator[Any]:
    """Several options as one decorator, in the order in which help shows them."""

    def decorate(command: Command) -> Command:
        for decorator in reversed(decorators):
            command = decorator(command)
        return command

    return decorate


def declared(one: Parameter, name: str = "") -> Decorator[Any]:
    """An option for functions whose parameter has another ``name``."""
    made = as_click(one)
    made.name = name or one.name

    def decorate(command: Any) -> Any:
        vars(command).setdefault("__click_params__", []).append(made)
        return command

    return decorate


def _shared(name: str, type: str, default: Any = None, *, into: str = "") -> Decorator[Any]:
    about, help = shared()[name]
    return declared(Parameter(name, "option", type, default, about, help), into)


def _of(name: str) -> Decorator[Any]:
    """The fields of a dataclass of :mod:`shadowtime.api.load`."""
    source = source_of("shadowtime.api.load")
    return all_of(*map(declared, fields(source, source.names[name])))


log = click.argument("log", type=click.Path())
cluster = _shared("cluster", "str")
reading, cleaning = _of("Reading"), _of("Cleaning")
window = _shared("window", "str")
where, by = _shared("where", "str", ""), _shared("by", "str", "")
as_json = _shared("json", "bool", False, into="as_json")
folder = _shared("output", "Folder", into="folder")
report, figures = _shared("report", "File"), _shared("figures", "Folder")

own_policy = click.option(
    "--policy",
    "-p",
    metavar="P",
    shell_complete=policy_names,
    help="The policy that the machine ran, as for simulate. [default on a site: slurm, with the "
    "site's own settings]",
)

phases = click.option(
    "--phases",
    type=click.IntRange(2, 100),
    metavar="N",
    help="Sites: simulate N runs, with Slurm's passes at different offsets, or for other policies "
    "on shaken copies of the log. [default: 6; policies other than slurm: 1]",
)
