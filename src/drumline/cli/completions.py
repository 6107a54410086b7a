"""`drumline completions`: a script that lets a shell complete commands, options, plans, runs and steps."""

from __future__ import annotations

import click
from click.shell_completion import BashComplete, FishComplete, ZshComplete

SHELLS = {"bash": BashComplete, "zsh": ZshComplete, "fish": FishComplete}
VARIABLE = "_DRUMLINE_COMPLETE"


@click.command("completions")
@click.argument("shell", type=click.Choice([*SHELLS]))
def command(shell: str) -> None:
    """Print the completion script of SHELL.

    \b
    bash: drumline completions bash > ~/.local/share/bash-completion/completions/drumline
    zsh:  drumline completions zsh > DIR/_drumline, where DIR is in $fpath
    fish: drumline completions fish > ~/.config/fish/completions/drumline.fish
    """
    from drumline.cli.main import cli

    script = SHELLS[shell](cli, {}, "drumline", VARIABLE)
    click.echo(script.source_template % script.source_vars())
