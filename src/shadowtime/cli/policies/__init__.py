"""shadowtime policies: the policies, their parts and their papers."""

from __future__ import annotations

from typing import Any

import click

from shadowtime.cli.common import options
from shadowtime.cli.common.shared import policy_names


@click.command("policies")
@click.argument("name", required=False, shell_complete=policy_names)
@click.option("--parts", is_flag=True, help="List the parts that can fill each slot.")
@options.as_json
def command(**given: Any) -> None:
    """List the policies, or describe the one called NAME: slots, parameters, paper.

    A policy is made of parts, one for each slot, and any of them can be replaced:

    \b
    shadowtime policies easy
    shadowtime policies 'easy(reserve=4, order=lxfw)'
    shadowtime policies --parts
    """
    from shadowtime.cli.policies.run import show_policies

    show_policies(**given)
