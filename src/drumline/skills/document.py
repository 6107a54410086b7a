"""One SKILL.md: a name and a description between `---` lines, then the text. Nothing in it is ever executed.

A file without a `name` has that of its folder.

Files come with repositories, so they are read as text of a stranger: bounded, safe YAML, no links out of the folder.
"""

from __future__ import annotations

import re
import stat
from pathlib import Path

import yaml

from drumline.core.flow.noderules import SKILL_NAME
from drumline.datatext import Refused, yaml_events
from drumline.record import Record

FILE = "SKILL.md"
MAX_FILE = 256 * 1024
MAX_BODY = 32 * 1024
MAX_DESCRIPTION = 1024
MAX_FRONTMATTER = 16 * 1024
MAX_DEPTH = 16

_MARK = "---"
_BOM = "\ufeff"
_PAIR = re.compile(r"(?P<key>[\w-]+):(?P<value>(?: +[^\[{&*!|>%@'\"`#].*)?)")


class Document(Record):
    """What a file says. With a `fault` nothing else in it counts."""

    description: str = ""
    body: str = ""
    fault: str = ""


def read_document(folder: Path) -> Document:
    """The skill in a folder, or what is wrong with it."""
    try:
        text = _read_text(folder)
        head, body = _split(text)
        return Document(description=_read_description(head, folder.name), body=_cut(body.strip()))
    except (OSError, ValueError) as error:
        return Document(fault=_explain(error))


def _read_text(folder: Path) -> str:
    path = folder / FILE
    if not path.resolve().is_relative_to(folder.resolve()):
        raise ValueError(f"{FILE} is a link that leads out of its folder")
    # Opening a pipe would wait for somebody who writes into it.
    if not stat.S_ISREG(path.stat().st_mode):
        raise ValueError(f"{FILE} is not a file")
    with path.open("rb") as file:
        data = file.read(MAX_FILE + 1)
    if len(data) > MAX_FILE:
        raise ValueError(f"{FILE} has more than {MAX_FILE // 1024} KiB")
    return data.decode("utf-8").removeprefix(_BOM)


def _split(text: str) -> tuple[str, str]:
    """The lines between the marks, and everything after them."""
    lines = text.splitlines()
    if not lines or lines[0].rstrip() != _MARK:
        raise ValueError(f"{FILE} does not begin with a `{_MARK}` line; write `name` and `description` between two")
    for number, line in enumerate(lines[1:], 1):
        if line.rstrip() == _MARK:
            return "\n".join(lines[1:number]), "\n".join(lines[number + 1 :])
    raise ValueError(f"{FILE} begins with `{_MARK}`, but a second such line never comes")


def _read_description(head: str, folder: str) -> str:
    if len(head) > MAX_FRONTMATTER:
        raise ValueError(f"the lines between the `{_MARK}` lines have more than {MAX_FRONTMATTER // 1024} KiB")
    found = _read_mapping(head)
    name = found.get("name") or folder
    if not isinstance(name, str) or not SKILL_NAME.fullmatch(name):
        raise ValueError(f"the `name` {name!r} is not legal; use small letters, digits and '-', at most 64")
    if name != folder:
        raise ValueError(f"the `name` {name!r} is not that of the folder, {folder!r}; make them the same")
    description = found.get("description")
    if not isinstance(description, str) or not description.strip():
        raise ValueError("there is no `description`; say in a sentence what the skill is for")
    return " ".join(description.split())[:MAX_DESCRIPTION]


def _read_mapping(head: str) -> dict[object, object]:
    try:
        _refuse_costly(head)
        found = yaml.safe_load(head)
    except (Refused, yaml.YAMLError) as error:
        if isinstance(error, Refused) and error.flaw.code == "yaml_alias":
            raise ValueError(f"anchors and aliases of YAML are not followed: {error}") from error
        found = _read_lines(head)
        if found is None:
            told = " ".join(str(error).split())
            raise ValueError(f"the lines between the `{_MARK}` lines are not YAML: {told}") from error
    if not isinstance(found, dict):
        raise ValueError(f"the lines between the `{_MARK}` lines are not `key: value` lines")
    return found


def _read_lines(head: str) -> dict[object, object] | None:
    """Plain `key: value` lines as people write them, with colons in a value; None if there are others."""
    found: dict[object, object] = {}
    for line in head.splitlines():
        pair = _PAIR.fullmatch(line)
        if pair is None and line.strip():
            return None
        if pair is not None:
            found[pair["key"]] = pair["value"].strip()
    return found


def _refuse_costly(head: str) -> None:
    """Stop at what makes a short text cost much: an alias can stand for a huge value, nesting costs its square."""
    depth = 0
    for event in yaml_events(head):
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if depth > MAX_DEPTH:
            raise ValueError(f"the lines between the `{_MARK}` lines are nested more than {MAX_DEPTH} deep")


def _cut(body: str) -> str:
    data = body.encode()
    if len(data) <= MAX_BODY:
        return body
    kept = data[:MAX_BODY].decode("utf-8", "ignore")
    return f"{kept}\n\n(cut here: the skill has {len(data):,} bytes, {MAX_BODY:,} are used)"


def _explain(error: Exception) -> str:
    if isinstance(error, FileNotFoundError):
        return f"there is no {FILE} in it"
    if isinstance(error, UnicodeDecodeError):
        return f"{FILE} is not UTF-8"
    if isinstance(error, OSError):
        return f"{FILE} cannot be read: {error.strerror or error}"
    return str(error)
