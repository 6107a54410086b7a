"""`drumline lessons`: what earlier runs learned from their fixes, and what people make of it."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path

import click

from drumline.app.lessons import LEDGER, export_lessons, import_lessons
from drumline.cli.options import json_option
from drumline.cli.output import SCHEMA_VERSION, print_json, say
from drumline.core.learned import Lesson
from drumline.errors import InvalidInput
from drumline.store.lessonfiles import find_state, write_lesson
from drumline.walltimes import write_iso
from drumline.wiring import Project, open_project


@click.group("lessons", invoke_without_command=True)
@json_option
@click.pass_context
def command(ctx: click.Context, as_json: bool) -> None:
    """Show what was learned from fixes, and change it.

    A fix that put the same failure right three times and never failed becomes a lesson, a file in .drumline/lessons.
    The next agent that meets this failure reads it. A lesson that does not help is demoted.
    """
    if ctx.invoked_subcommand is None:
        ctx.invoke(list_all, as_json=as_json)


@command.command("list")
@json_option
def list_all(as_json: bool = False) -> int:
    """List all lessons."""
    project, now = open_project(), time.time()
    found = [(lesson, find_state(lesson, now)) for lesson, _ in project.lessons.read().values()]
    if as_json:
        print_json({"schema_version": SCHEMA_VERSION, "lessons": [_spell(lesson, state) for lesson, state in found]})
        return 0
    for lesson, state in found:
        click.echo(f"{lesson.name}  {state}, {lesson.successes} successes, helped {lesson.helped}: {lesson.remedy}")
    if not found:
        click.echo("no lessons yet: a fix that works three times, and never fails, becomes one")
    return 0


@command.command("show")
@click.argument("name")
@json_option
def show(name: str, as_json: bool) -> int:
    """Show one lesson."""
    lesson, body = _find(open_project(), name)
    if as_json:
        print_json({"schema_version": SCHEMA_VERSION, "lesson": _spell(lesson, find_state(lesson, time.time()))})
    else:
        click.echo(write_lesson(lesson, body), nl=False)
    return 0


@command.command("forget")
@click.argument("name")
@json_option
def forget(name: str, as_json: bool) -> int:
    """Remove a lesson; what was learned until now does not bring it back."""
    project = open_project()
    project.check_speaker()
    project.lessons.forget(name, at=write_iso(time.time()))
    _tell(as_json, f"forgot {name}", forgotten=name)
    return 0


@command.command("import")
@click.argument("source", type=click.Path(path_type=Path))
@json_option
def import_(source: Path, as_json: bool) -> int:
    """Take over lessons from a file or a folder.

    SOURCE is a lesson's .md file, a folder of them, or a ledger fixes.jsonl, from which lessons are promoted.
    """
    project = open_project()
    project.check_speaker()
    names = import_lessons(project.lessons, project.here / source, at=write_iso(time.time()))
    nothing = "its fixes count now, and no new lesson came of them" if source.suffix == LEDGER else "nothing new"
    _tell(as_json, f"imported {', '.join(names)}" if names else nothing, imported=list(names))
    return 0


@command.command("export")
@click.option("--to", required=True, help="A folder such as .claude/rules, or a file such as AGENTS.md.")
@json_option
def export(to: str, as_json: bool) -> int:
    """Write the lessons that count where other tools read them.

    A folder gets a file learned-fix-NAME.md for each, a file gets one block, which is replaced the next time.
    """
    project = open_project()
    project.check_speaker()
    lessons: Sequence[Lesson] = project.lessons.load(time.time())
    written = export_lessons(lessons, top=project.repository.top, to=to)
    _tell(as_json, f"wrote {', '.join(written) or 'nothing: there are no lessons'}", written=list(written))
    return 0


def _find(project: Project, name: str) -> tuple[Lesson, str]:
    known = project.lessons.read()
    if name not in known:
        raise InvalidInput(
            f"there is no lesson {name!r} (known: {', '.join(known) or 'none'})", hint="drumline lessons list"
        )
    return known[name]


def _tell(as_json: bool, text: str, **data: object) -> None:
    if as_json:
        print_json({"schema_version": SCHEMA_VERSION, "ok": True, **data})
    else:
        say(text)


def _spell(lesson: Lesson, state: str) -> dict[str, object]:
    return {
        "name": lesson.name,
        "state": state,
        "signature": lesson.signature,
        "remedy": lesson.remedy,
        "successes": lesson.successes,
        "helped": lesson.helped,
        "promoted": lesson.promoted or None,
        "used": lesson.used or None,
    }
