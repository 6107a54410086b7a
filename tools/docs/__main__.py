"""`python -m tools.docs`: writes the generated pages below `docs`, or says which of them are stale."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import click
from tools.docs.commands import commands_page
from tools.docs.contracts import contracts_page
from tools.docs.flowformat import flow_format_page
from tools.docs.formats import formats_page
from tools.docs.picture import board_svg
from tools.docs.tables import events_page, exit_codes_page, failures_page, life_page, problems_page, settings_page

PAGES: Mapping[str, Callable[[], str]] = {
    "reference/cli.md": commands_page,
    "reference/settings.md": settings_page,
    "reference/events.md": events_page,
    "reference/step-life.md": life_page,
    "reference/failures.md": failures_page,
    "reference/plan-problems.md": problems_page,
    "reference/format-tables.md": formats_page,
    "reference/flow-format.md": flow_format_page,
    "reference/exit-codes.md": exit_codes_page,
    "reference/json.md": contracts_page,
    "images/board.svg": board_svg,
}
NOTE = "<!-- Written by `make docs`; edit the code it comes from instead. -->\n\n"


def render(name: str) -> str:
    """The whole text of one page."""
    text = PAGES[name]()
    return NOTE + text if name.endswith(".md") else text


def find_stale(folder: Path) -> list[str]:
    """Pages that are missing or say something else than the code."""
    return [
        name
        for name in PAGES
        if not (folder / name).is_file() or (folder / name).read_text(encoding="utf-8") != render(name)
    ]


def write_pages(folder: Path) -> list[str]:
    """Write what is stale; return its names."""
    stale = find_stale(folder)
    for name in stale:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(render(name), encoding="utf-8")
    return stale


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("folder", type=click.Path(path_type=Path, file_okay=False), default="docs")
@click.option("--check", is_flag=True, help="Write nothing; fail if a page is stale.")
def command(folder: Path, check: bool) -> None:
    """Write the generated pages below FOLDER."""
    stale = find_stale(folder) if check else write_pages(folder)
    for name in stale:
        click.echo(f"{'stale' if check else 'wrote'} {folder / name}")
    sys.exit(1 if check and stale else 0)


if __name__ == "__main__":
    command()
