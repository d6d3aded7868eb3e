"""Options of the commands that talk to a live cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from shadowtime.cli.common import options
from shadowtime.cli.common.amounts import Span
from shadowtime.cli.common.shared import policy_names
from shadowtime.live.slurm.backend import GRES, PARTITION, SHAPE_HELP, TIMEOUT

if TYPE_CHECKING:
    from collections.abc import Callable

    from shadowtime.live.backend import Option


def of_backend(option: Option) -> Callable[[Any], Any]:
    """An option that a live backend declares."""
    if option.kind == "flag":
        return click.option(option.name, option.key, is_flag=True, help=option.help)
    kinds: dict[str, Any] = {"text": str, "span": Span(), "seconds": click.FloatRange(min=0.1)}
    return click.option(
        option.name,
        option.key,
        type=kinds[option.kind],
        default=option.default,
        show_default=bool(option.default),
        multiple=option.multiple,
        metavar=option.metavar,
        help=option.help,
    )


def shape_of(shapes: tuple[str, ...], help: str) -> Callable[[Any], Any]:
    """How the policy sees the machine."""
    return click.option("--shape", type=click.Choice(shapes), help=help)


def policy_option(otherwise: str) -> Callable[[Any], Any]:
    """The policy, and what happens if none is named."""
    return click.option(
        "--policy",
        "-p",
        metavar="P",
        shell_complete=policy_names,
        help=f"A name with or without parameters, as in a simulation. [{otherwise}]",
    )


policy = policy_option("default: the loop's own, from its state file")
policy_of_loop = policy_option("required for a loop")
act = click.option(
    "--apply", "act", is_flag=True, help="Act. Without it: decide and print, change nothing."
)
partition, gres, timeout = of_backend(PARTITION), of_backend(GRES), of_backend(TIMEOUT)
shape = shape_of(("pool", "hosts", "nodes", "site"), SHAPE_HELP)
state = click.option(
    "--state",
    "state_file",
    metavar="FILE",
    type=click.Path(dir_okay=False),
    help="The loop's state file. [default: in $STATE_DIRECTORY or ~/.local/state/shadowtime]",
)
poll_of_slurm = options.all_of(policy, partition, shape, gres, state, timeout, options.as_json)
"""Options of the commands that poll Slurm once and predict starts."""
operation = options.all_of(
    click.option(
        "--for",
        "length",
        type=Span(),
        metavar="SPAN",
        help="Exit after this time, such as 90s, 5m, 1h; in shadow mode with a summary.",
    ),
    click.option(
        "--log",
        "log_file",
        metavar="FILE",
        type=click.Path(dir_okay=False),
        help="Append to FILE, which may be rotated at any time. [default: standard output]",
    ),
    click.option(
        "--log-format",
        type=click.Choice(["text", "json"]),
        default="text",
        show_default=True,
        help="Readable lines, or one JSON object per line.",
    ),
    click.option(
        "--metrics-port",
        type=click.IntRange(1, 65535),
        metavar="PORT",
        help="Prometheus metrics on http://127.0.0.1:PORT/metrics.",
    ),
    click.option(
        "--metrics-file",
        metavar="FILE",
        type=click.Path(dir_okay=False),
        help="The same in FILE, replaced at every poll, for node_exporter.",
    ),
    click.option(
        "--pass-limit",
        type=click.FloatRange(min=0, min_open=True),
        default=5.0,
        show_default=True,
        metavar="SECONDS",
        help="How long a pass of a policy from a Python file may take.",
    ),
    click.option(
        "--fallback",
        default="easy",
        show_default=True,
        metavar="P",
        shell_complete=policy_names,
        help="The catalogue policy for passes in which a policy from a Python file fails.",
    ),
)
"""Options of every loop."""
