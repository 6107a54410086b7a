"""Options that several commands share."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from drumline.cli.completing import complete_plans, complete_runs, complete_steps
from drumline.core.proof import Require
from drumline.errors import InvalidInput

json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON on stdout, for scripts.")
run_argument = click.argument("run", required=False, default="", shell_complete=complete_runs)
run_option = click.option(
    "--run",
    "run",
    default="",
    metavar="RUN",
    help="Which run; the newest if not given.",
    shell_complete=complete_runs,
)
step_argument = click.argument("step", shell_complete=complete_steps)
some_step_argument = click.argument("step", required=False, default="", shell_complete=complete_steps)
resume_option = click.option("--resume", "drive_on", is_flag=True, help="Drive the run on afterwards.")
plan_argument = click.argument("plan", shell_complete=complete_plans)
some_plan_argument = click.argument("plan", required=False, default="", shell_complete=complete_plans)
format_option = click.option(
    "--format",
    "format",
    default="",
    metavar="FORMAT",
    help="The format of the plan, such as dag or speckit; found from the files if not given.",
)
agent_option = click.option(
    "--agent", metavar="SPEC", help="claude, codex, … (see drumline agents), command:CMD or scripted:FILE."
)
autonomy_option = click.option(
    "--autonomy", type=click.Choice(("autopilot", "critical", "verbose")), help="Which gates open by themselves."
)
require_option = click.option(
    "--require",
    type=click.Choice([level.value for level in Require]),
    help="The level that steps must reach for the run to be done without your yes.",
)
retries_option = click.option("--retries", type=int, help="How often a failing check goes back to the agent.")
dry_run_option = click.option("--dry-run", is_flag=True, help="Show what would be done and stop.")
config_option = click.option(
    "--config",
    type=click.Choice(("pinned", "new")),
    help="Use the configuration that the run began with, or the present one (the default for what is tried again).",
)
detach_option = click.option("--detach", "detached", is_flag=True, help="Drive in the background; see attach and wait.")


def read_words(typed: str, here: Path, *, what: str, hint: str) -> str:
    """A text that was typed, that of the file in `@FILE`, or for `-` that of standard input; InvalidInput names it."""
    try:
        if typed == "-":
            typed, text = "standard input", sys.stdin.read()
        else:
            text = (here / typed[1:]).read_text(encoding="utf-8") if typed.startswith("@") else typed
        text.encode()  # half of a surrogate pair cannot be written down
    except (OSError, UnicodeError) as error:
        why = (error.strerror if isinstance(error, OSError) else "") or str(error)
        raise InvalidInput(f"{what} {typed!r} cannot be read: {why}", hint=hint) from error
    return text
