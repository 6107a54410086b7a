"""`drumline flow`: the commands about flows, each imported only when it is asked for."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from types import MappingProxyType

import click

MODULES: Mapping[str, str] = MappingProxyType(
    {"run": "flowrun", "validate": "flowvalidate", "graph": "flowdrawing", "skills": "flowskills"}
)


class FlowCommands(click.Group):
    """Walking a flow needs a lot more than looking at one: none pays for another."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """All commands, in the order people meet them."""
        return list(MODULES)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of that name, or None."""
        if cmd_name not in MODULES:
            return None
        found: click.Command = import_module(f"drumline.cli.{MODULES[cmd_name]}").command
        return found


@click.group("flow", cls=FlowCommands)
def command() -> None:
    """Walk flows, the graphs of nodes that work goes through, or look at them."""
