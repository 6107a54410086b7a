"""What a shell offers when somebody presses Tab: plans, runs, steps. The rule: it never fails, and costs nothing else.

Whatever it looks at is imported when it is asked.
"""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from drumline.core.state import RunState


def complete_plans(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Files: the shell knows best what there is."""
    from click.shell_completion import CompletionItem

    return [CompletionItem(incomplete, type="file")]


def complete_runs(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """The runs of this repository, newest first, each with the plan that it runs."""
    from click.shell_completion import CompletionItem

    from drumline.app.catalog import list_runs
    from drumline.errors import DrumlineError
    from drumline.wiring import open_project

    try:
        with closing(open_project().open_store(read_only=True)) as store:
            briefs = list_runs(store)
    except (DrumlineError, OSError):
        return []
    runs = {brief.run: brief.state.begun for brief in briefs}
    return [
        CompletionItem(run, help=runs[run].plan or runs[run].plan_name) for run in runs if run.startswith(incomplete)
    ]


def complete_steps(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """The steps of the run that is named, or of the newest one."""
    from click.shell_completion import CompletionItem

    run = _read_run(str(ctx.params.get("run") or ""))
    steps = run.selected() if run is not None else ()
    return [CompletionItem(step.id, help=step.title) for step in steps if step.id.startswith(incomplete)]


def _read_run(name: str) -> RunState | None:
    from drumline.app.catalog import find_run, read_run
    from drumline.errors import DrumlineError
    from drumline.wiring import open_project

    try:
        with closing(open_project().open_store(read_only=True)) as store:
            return read_run(store, find_run(store, name))
    except (DrumlineError, OSError):
        return None
