"""shadowtime live: run a simulated policy on a real cluster.

A command for every backend is made from its entry in the registry.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from importlib import import_module
from inspect import cleandoc
from typing import Any

import click

from shadowtime.cli.common import declared
from shadowtime.cli.common.lazy import Entry, FunctionCommand, LazyGroup, refuse_repeats
from shadowtime.live.backend import Backend, Option, Wanted

KINDS = {"text": "str", "span": "Seconds", "seconds": "float", "flag": "bool"}
"""The types of what a backend's options take."""
NAMES = {"length": "for_", "log_file": "log"}
"""Options of a loop whose fields are called otherwise."""
CHECK = Entry("Proof", "Repeat recorded decisions and compare.", "status")


class LiveGroup(LazyGroup):
    """A command for every live backend in the registry, and the commands without a backend."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, package="shadowtime.cli.live", entries={}, **options)

    @property
    def backends(self) -> Mapping[str, Backend]:
        """Ours, and those of installed packages."""
        from shadowtime.live.registry import backends  # every backend of every package

        return backends()

    @property
    def entries(self) -> Mapping[str, Entry]:
        found = {
            name: Entry("Clusters", f"{backend.title}: shadow mode unless --apply is given.")
            for name, backend in self.backends.items()
        }
        return {**found, "check": CHECK}

    @entries.setter
    def entries(self, given: Mapping[str, Entry]) -> None:
        """The registry decides."""

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name == "check":
            return super().get_command(ctx, cmd_name)
        backend = self.backends.get(cmd_name)
        if backend is None:
            return None
        return refuse_repeats(command_of(backend))


@click.group("live", cls=LiveGroup, context_settings={"max_content_width": 100})
def command() -> None:
    """Run a policy on a real cluster, with the same code as in a simulation."""


class BackendGroup(LazyGroup):
    """The loop itself, and the backend's other commands; every backend has ``status``."""

    def __init__(self, *arguments: Any, backend: Backend, **options: Any) -> None:
        entries = {
            name: Entry("Commands", further.help) for name, further in backend.commands.items()
        }
        entries.setdefault("status", Entry("Commands", "Waiting jobs, and when each will start."))
        super().__init__(*arguments, package="", entries=entries, **options)
        self.backend = backend

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name in self.backend.commands:
            module, _, name = self.backend.commands[cmd_name].path.partition(":")
            if module.startswith("shadowtime."):
                return refuse_repeats(FunctionCommand(module, name))
            found = getattr(import_module(module), name)
            assert isinstance(found, click.Command)
            return refuse_repeats(found)
        return refuse_repeats(status_command(self.backend)) if cmd_name == "status" else None


def command_of(backend: Backend) -> click.Command:
    """The command of a backend: the options of every loop, then its own."""

    def callback(**given: Any) -> None:
        if click.get_current_context().invoked_subcommand is None:
            run_backend(backend, **given)

    loop, operation = _fields("live.backend", "Wanted"), _fields("live.operation", "Operation")
    every = loop["every"]._replace(default=backend.every)
    made = BackendGroup(
        backend.name,
        backend=backend,
        help=backend.help,
        invoke_without_command=True,
        callback=callback,
        context_settings={"max_content_width": 100},
    )
    made.params = [
        _policy("required for a loop"),
        _option(loop["act"], "apply"),
        *map(_own, backend.options),
        *_seen(backend),
        *(declared.as_click(loop[name]) for name in ("until_idle", "once", "record")),
        declared.as_click(every._replace(help=every.help.replace("it is", f"{backend.title} is"))),
        *(_option(one, NAMES.get(one.name, one.name)) for one in operation.values()),
    ]
    return made


def status_command(backend: Backend) -> click.Command:
    """The command ``status`` of a backend without its own."""

    def callback(**given: Any) -> None:
        from shadowtime.cli.live.status import look, show_status

        json = given.pop("json")
        show_status(look(backend, **given), json=json)

    asked = [_own(option) for option in backend.options if not option.prints]
    json = declared.Parameter("json", "option", "bool", False, *declared.shared()["json"])
    help = f"""The live state: what is in use, the waiting jobs, the predicted start of each.

    \b
    shadowtime live {backend.name} status
    shadowtime live {backend.name} status --policy {backend.example} --json
    """
    policy = _policy("default: the loop's own, from its state file")
    params = [policy, *asked, *_seen(backend), declared.as_click(json)]
    return click.Command("status", params=params, callback=callback, help=cleandoc(help))


def _fields(module: str, name: str) -> dict[str, declared.Parameter]:
    """The fields of a dataclass by name."""
    source = declared.source_of(f"shadowtime.{module}")
    return {one.name: one for one in declared.fields(source, source.names[name])}


def _option(one: declared.Parameter, name: str) -> click.Parameter:
    """The option ``name`` of a field that is called otherwise."""
    made = declared.as_click(one._replace(name=name))
    made.name = one.name
    return made


def _policy(otherwise: str) -> click.Parameter:
    """The policy, and what happens if none is named."""
    help = f"A name with or without parameters, as in a simulation. [{otherwise}]"
    return declared.as_click(declared.Parameter("policy", "option", "str", None, "P", help))


def _own(option: Option) -> click.Parameter:
    """An option that a backend declares."""
    kind, about = KINDS[option.kind], option.metavar
    if option.kind == "seconds":
        about += " >= 0.1"
    kind = f"tuple[{kind}, ...]" if option.multiple else kind
    about = "" if option.kind == "flag" else about
    one = declared.Parameter(option.key, "option", kind, option.default, about, option.help)
    return declared.as_click(one)


def _seen(backend: Backend) -> list[click.Parameter]:
    """How the policy sees the machine, and where the loop keeps its state."""
    shapes = f"Literal{list(backend.shapes)}"
    shape = declared.Parameter("shape", "option", shapes, None, "", backend.shape_help)
    state = declared.Parameter("state_file", "option", "File", None, *declared.shared()["state"])
    return [declared.as_click(shape), _option(state, "state")]


def run_backend(backend: Backend, *, policy: str | None, **given: Any) -> None:
    """Run the loop with these options."""
    from shadowtime.cli.common.progress import compile_notice
    from shadowtime.live.service import serve

    for option in backend.options:
        if option.prints and given[option.key]:
            click.echo(option.prints, nl=False)
            return
    if policy is None:
        raise click.UsageError(
            f"name a policy: --policy {backend.example}", ctx=click.get_current_context()
        )
    asked = wanted(backend, policy, given)
    with compile_notice("the policy's pass", "half a minute"):
        summary = serve(backend, policy, asked)
    if summary:
        print(summary, file=sys.stderr)


def wanted(backend: Backend, policy: str, given: Mapping[str, Any]) -> Wanted:
    """The options; files that could not be written are rejected now."""
    from shadowtime.cli.common.outputs import check_file
    from shadowtime.live.operation import Operation
    from shadowtime.policy import parse_policy

    own = {option.key for option in backend.options}
    operating = set(_fields("live.operation", "Operation"))
    operation = Operation(**{name: given[name] for name in operating & given.keys()})
    for option, name in (("--log", operation.log_file), ("--metrics-file", operation.metrics_file)):
        if name is not None:
            check_file(option, name)
    return Wanted(
        policy=parse_policy(policy),
        operation=operation,
        options={key: given[key] for key in own},
        **{name: value for name, value in given.items() if name not in own | operating},
    )
