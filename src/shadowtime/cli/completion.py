"""shadowtime completion: the script with which a shell completes our commands."""

from __future__ import annotations

from typing import Literal

import click
from click.shell_completion import get_completion_class

from shadowtime.cli import app


def completion(shell: Literal["bash", "zsh", "fish"]) -> None:
    """Print the completion script for SHELL.

    \b
    Put the line into your shell's start-up file:
      bash  ~/.bashrc   eval "$(shadowtime completion bash)"
      zsh   ~/.zshrc    eval "$(shadowtime completion zsh)"
      fish  ~/.config/fish/completions/shadowtime.fish
                        shadowtime completion fish | source
    """
    maker = get_completion_class(shell)
    assert maker is not None
    click.echo(maker(app, {}, "shadowtime", "_SHADOWTIME_COMPLETE").source())
