"""The entry point: finds the command, imports only that, and turns every deliberate error into text and exit code.

stdout is data, stderr is for people. Exit codes: 0 done, 1 failed, rejected or cancelled, 2 blocked or parked for a
person, 3 invalid plan, flow, configuration or arguments, 130 interrupted.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from importlib import import_module

import click

from drumline import __version__
from drumline.cli.retyping import keep_typed

COMMANDS = (
    "do",
    "init",
    "validate",
    "checks",
    "graph",
    "convert",
    "run",
    "resume",
    "runs",
    "status",
    "why",
    "logs",
    "answer",
    "retry",
    "skip",
    "cancel",
    "attach",
    "wait",
    "flow",
    "agents",
    "trust",
    "doctor",
    "gc",
)
DRIVING = ("do", "run", "resume", "answer", "retry", "skip", "flow")
DEBUG = "--debug"
USAGE = 3
_open: list[Callable[[], None]] = []
"""What is closed when a command is over."""
INTERRUPTED = 130


class Commands(click.Group):
    """Commands imported when they are asked for, so that none pays for another."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse as usual, and remember what was typed."""
        keep_typed(ctx, args)
        return super().parse_args(ctx, args)

    def list_commands(self, ctx: click.Context) -> list[str]:
        """All commands, in the order people meet them."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of that name, or None."""
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = import_module(f"drumline.cli.{cmd_name}").command
        return command


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="drumline", message="%(prog)s %(version)s")
@click.option("--debug", is_flag=True, help="Say on stderr, and in the run's folder, what this process does.")
def cli(debug: bool) -> None:
    """Run an implementation plan with coding agents, and prove the result."""
    if debug or os.environ.get("DRUMLINE_DEBUG"):
        from drumline.cli.debugging import start_debugging, stop_debugging

        start_debugging()
        _open.append(stop_debugging)


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command line; return its exit code. A reader that goes away stops no command that may drive a run."""
    if argv is None:
        from drumline.cli.streams import settle_streams, speak_utf8

        speak_utf8()
        settle_streams()
    words = [word for word in (sys.argv[1:] if argv is None else argv) if word != DEBUG]
    try:
        if not words or words[0] not in DRIVING:
            return _main(argv)
        from drumline.cli.output import outlive_readers

        with outlive_readers():
            return _main(argv)
    finally:
        while _open:
            _open.pop()()


def _main(argv: Sequence[str] | None) -> int:
    try:
        found = cli.main(args=argv, prog_name="drumline", standalone_mode=False)
        return found if isinstance(found, int) else 0
    except click.exceptions.Exit as leaving:
        return leaving.exit_code
    except click.ClickException as error:
        error.show(file=sys.stderr)
        return USAGE
    except (click.Abort, KeyboardInterrupt):
        click.echo("interrupted", err=True)
        return INTERRUPTED
    except BrokenPipeError:
        sys.stderr.close()
        return 1
    except Exception as error:
        from drumline.cli.output import show_error

        return show_error(error, typed=sys.argv[1:] if argv is None else argv)
