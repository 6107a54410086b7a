"""Options that several commands share."""

from __future__ import annotations

from pathlib import Path

import click

json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON on stdout, for scripts.")
run_argument = click.argument("run", required=False, default="")
run_option = click.option("--run", "run", default="", metavar="RUN", help="Which run; the newest if not given.")
resume_option = click.option("--resume", "drive_on", is_flag=True, help="Drive the run on afterwards.")
plan_argument = click.argument("plan", type=click.Path(path_type=Path))
