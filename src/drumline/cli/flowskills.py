"""`drumline flow skills`: the skills that flows can use here. Nothing is run and nothing written."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from drumline.cli.options import json_option
from drumline.cli.output import SCHEMA_VERSION, print_json, say
from drumline.errors import InvalidInput
from drumline.ports.skills import Skill
from drumline.wiring.flows import open_skills
from drumline.workspace.repository import find_repository


@click.command("skills")
@click.argument("name", required=False, default="")
@json_option
def command(name: str, as_json: bool) -> None:
    """List the skills that flows can use here, or print the text of the skill NAME."""
    skills = open_skills(find_top(Path.cwd()))
    if name:
        _show_one(skills.find_skill(name), skills.load(name), as_json=as_json)
        return
    found = skills.list_skills()
    if as_json:
        print_json({"schema_version": SCHEMA_VERSION, "skills": [skill_json(skill) for skill in found]})
    else:
        _show_all(found)


def find_top(here: Path) -> Path:
    """The repository around a folder, or the folder itself where there is none: flows run there, too."""
    try:
        return find_repository(here).top
    except InvalidInput:
        return here


def skill_json(skill: Skill) -> dict[str, str]:
    """A skill as scripts read it."""
    return {
        "name": skill.name,
        "description": skill.description,
        "origin": skill.origin,
        "path": str(skill.path),
        "fault": skill.fault,
    }


def _show_one(skill: Skill, text: str, *, as_json: bool) -> None:
    if as_json:
        print_json({"schema_version": SCHEMA_VERSION, "skill": {**skill_json(skill), "text": text}})
    else:
        click.echo(text)


def _show_all(found: Sequence[Skill]) -> None:
    for skill in found:
        told = f"cannot be used: {skill.fault}" if skill.fault else skill.description
        click.echo(f"{skill.name} ({skill.origin}): {told}")
    broken = [skill for skill in found if skill.fault]
    if broken:
        say(f"  next: fix {broken[0].path}, then: drumline flow skills")
