"""`drumline doctor`: is everything there that a run needs? Tools are tried, not only looked for."""

from __future__ import annotations

import click

from drumline.cli.options import json_option
from drumline.cli.output import SCHEMA_VERSION, print_json
from drumline.health import Finding, examine

SIGNS = {"ok": "✓", "note": "·", "problem": "✗"}
COLOURS = {"ok": "green", "note": "yellow", "problem": "red"}


@click.command("doctor")
@json_option
def command(as_json: bool) -> int:
    """Check git, Python, agents, sandbox tools and the store of this repository."""
    findings = examine()
    bad = any(finding.level == "problem" for finding in findings)
    if as_json:
        listed = [{"name": f.name, "level": f.level, "text": f.text, "hint": f.hint} for f in findings]
        print_json({"schema_version": SCHEMA_VERSION, "ok": not bad, "findings": listed})
    else:
        for finding in findings:
            _show(finding)
    return 1 if bad else 0


def _show(finding: Finding) -> None:
    click.echo(f"{click.style(SIGNS[finding.level], fg=COLOURS[finding.level])} {finding.name}: {finding.text}")
    if finding.hint:
        click.echo(f"    next: {finding.hint}")
