"""The entry point: finds the command, imports only that, and turns every deliberate error into text and exit code.

stdout is data, stderr is for people. Exit codes: 0 done, 1 failed, rejected or cancelled, 2 blocked or parked for a
person, 3 invalid plan, flow, configuration or arguments, 130 interrupted.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import TYPE_CHECKING

import click

from drumline import __version__
from drumline.cli.retyping import keep_typed
from drumline.garbage import uncollected

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

COMMANDS = {
    "do": "Do one task without a plan: an agent works, your tests decide.",
    "init": "Write .drumline/config.toml.",
    "validate": "Check a plan: its format, its problems, what would be done.",
    "checks": "Show the checks of a plan, or try lies on them.",
    "graph": "Draw a plan.",
    "convert": "Convert a plan to the native format.",
    "run": "Run a plan with a coding agent.",
    "resume": "Continue a run.",
    "runs": "List all runs, newest first.",
    "status": "Show where a run stands.",
    "why": "Explain what a step, or the run, is waiting for.",
    "diff": "Show what a step, or the run, has changed.",
    "report": "Report what came of a run, also as a page for a browser.",
    "handoff": "Show what a step leaves for those behind it.",
    "logs": "Show what agents and checks printed.",
    "answer": "Answer a question that a run asks.",
    "verify": "Prove again what a run has landed.",
    "merge": "Merge what a run has landed, or open a pull request.",
    "retry": "Try a step again.",
    "heal": "Have a blocked step diagnosed, and done in another way.",
    "skip": "Skip a step.",
    "pause": "Pause a run: what is at work ends its node, nothing new begins.",
    "cancel": "Stop a run.",
    "attach": "Watch a run.",
    "wait": "Wait until a run ends or needs a person.",
    "flow": "Run, check or draw a flow.",
    "agents": "List agents, or test one.",
    "lessons": "Show what was learned from fixes, and change it.",
    "trust": "Show and accept the commands that the repository brings.",
    "doctor": "Check git, Python, agents, the sandbox and the store.",
    "gc": "Remove what dead runs left behind.",
    "completions": "Print a script that completes commands in bash, zsh or fish.",
}
"""The commands in the order people meet them, each with what it is for: `--help` imports none of them."""
DRIVING = ("do", "run", "resume", "answer", "retry", "heal", "skip", "flow")
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
        with uncollected():
            command: click.Command = import_module(f"drumline.cli.{cmd_name}").command
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command that was typed; of one that does not exist, what may have been meant."""
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            from drumline.core.nearest import nearest

            found = nearest(args[0], COMMANDS)
            if not found:
                raise
            raise click.UsageError(f"{error.message} Did you mean {found!r}?", ctx=error.ctx) from error

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """What may be typed next, without importing every command."""
        if incomplete.startswith("-"):
            return super().shell_complete(ctx, incomplete)
        from click.shell_completion import CompletionItem

        return [CompletionItem(name, help=COMMANDS[name]) for name in COMMANDS if name.startswith(incomplete)]

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


@click.group(
    cls=Commands,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(__version__, prog_name="drumline", message="%(prog)s %(version)s")
@click.option("--debug", is_flag=True, help="Say on stderr, and in the run's folder, what this process does.")
@click.option("--json", "as_json", is_flag=True, help="Without a command: print JSON on stdout, for scripts.")
@click.pass_context
def cli(ctx: click.Context, debug: bool, as_json: bool) -> None:
    """Run an implementation plan with coding agents, and prove the result.

    Without a command: where things stand in this repository, and what to type next.
    """
    if debug or os.environ.get("DRUMLINE_DEBUG"):
        from drumline.cli.debugging import start_debugging, stop_debugging

        start_debugging()
        _open.append(stop_debugging)
    if ctx.invoked_subcommand is None:
        from drumline.cli.standing import tell_standing

        tell_standing(as_json=as_json)
    elif as_json:
        raise click.UsageError(f"--json goes after the command: drumline {ctx.invoked_subcommand} … --json", ctx=ctx)


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
        _show_usage(error, sys.argv[1:] if argv is None else argv)
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


def _show_usage(error: click.ClickException, typed: Sequence[str]) -> None:
    """Say what cannot be typed so, for people and, where that was asked for, for programs."""
    if "--json" in typed:
        from drumline.cli.output import SCHEMA_VERSION, print_json

        context = error.ctx if isinstance(error, click.UsageError) else None
        hint = f"{context.command_path} --help" if context is not None else "drumline --help"
        told = {"message": error.format_message(), "hint": hint, "exit_code": USAGE}
        print_json({"schema_version": SCHEMA_VERSION, "ok": False, "error": told, "problems": []})
    error.show(file=sys.stderr)
