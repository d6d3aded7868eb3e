"""shadowtime completion: the script with which a shell completes our commands."""

from __future__ import annotations

import click

from shadowtime.cli import app


@click.command("completion")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def command(shell: str) -> None:
    """Print the completion script for SHELL.

    \b
    Put the line into your shell's start-up file:
      bash  ~/.bashrc   eval "$(shadowtime completion bash)"
      zsh   ~/.zshrc    eval "$(shadowtime completion zsh)"
      fish  ~/.config/fish/completions/shadowtime.fish
                        shadowtime completion fish | source
    """
    from click.shell_completion import get_completion_class

    maker = get_completion_class(shell)
    assert maker is not None
    click.echo(maker(app, {}, "shadowtime", "_SHADOWTIME_COMPLETE").source())
