"""shadowtime live: run a simulated policy on a real cluster.

A command for every backend is made from its entry in the registry.
"""

from __future__ import annotations

import sys
from dataclasses import fields
from importlib import import_module
from typing import TYPE_CHECKING, Any

import click

from shadowtime.cli.common.lazy import Entry, LazyGroup, refuse_repeats
from shadowtime.cli.common.options import all_of
from shadowtime.cli.live import options as live
from shadowtime.live.backend import Wanted

if TYPE_CHECKING:
    from collections.abc import Mapping

    from shadowtime.live.backend import Backend

CHECK = Entry("Proof", "Repeat recorded decisions and compare.")


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
            found = getattr(import_module(module), name)
            assert isinstance(found, click.Command)
            return refuse_repeats(found)
        if cmd_name != "status":
            return None
        from shadowtime.cli.live.status import status_command

        return refuse_repeats(status_command(self.backend))


def command_of(backend: Backend) -> click.Command:
    """The command of a backend: the options of every loop, then its own."""

    def callback(**given: Any) -> None:
        if click.get_current_context().invoked_subcommand is None:
            run_backend(backend, **given)

    all_options = all_of(
        live.policy_of_loop,
        live.act,
        *map(live.of_backend, backend.options),
        live.shape_of(backend.shapes, backend.shape_help),
        live.state,
        click.option("--until-idle", is_flag=True, help="Exit when no job waits or runs."),
        click.option("--once", is_flag=True, help="Exit after one poll."),
        click.option(
            "--record",
            metavar="FILE",
            type=click.Path(dir_okay=False),
            help="Append every pass: the snapshot, the memory and the decisions.",
        ),
        click.option(
            "--every",
            type=click.FloatRange(min=0.05),
            default=backend.every,
            show_default=True,
            metavar="SECONDS",
            help=f"How often {backend.title} is polled while things happen; less often while they "
            "do not.",
        ),
        live.operation,
    )
    made: click.Command = click.group(
        backend.name,
        cls=BackendGroup,
        backend=backend,
        help=backend.help,
        invoke_without_command=True,
        context_settings={"max_content_width": 100},
    )(all_options(callback))
    return made


def run_backend(backend: Backend, *, policy: str | None, **given: Any) -> None:
    """Run the loop with these options."""
    from shadowtime.cli.common.compiling import compile_notice
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
    operating = {one.name for one in fields(Operation)}
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
