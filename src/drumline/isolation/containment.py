"""Where a path in a workspace really is. The rule: nothing outside the workspace is reached, and nothing of git's."""

from __future__ import annotations

from pathlib import Path

from drumline.errors import InvalidInput

HINT = "give a path inside the workspace"


def contain(workspace: Path, path: str, *, through: bool = True, top: bool = False) -> Path:
    """The place of `path`, or InvalidInput if it leads, by links or dots, out of the workspace or into git's folder.

    `through` follows a link at the end of the path as well; `top` allows the workspace itself.
    """
    if not path or "\0" in path:
        raise InvalidInput(f"{path!r} is not a path", hint=HINT)
    root = workspace.resolve()
    place = _resolve(root / path, path, through=through)
    if not place.is_relative_to(root) or (place == root and not top):
        raise InvalidInput(f"{path!r} leaves the workspace", hint=HINT)
    # File systems that ignore case would open `.GIT` as well.
    if any(part.casefold() == ".git" for part in place.relative_to(root).parts):
        raise InvalidInput(f"{path!r} belongs to git", hint=HINT)
    return place


def _resolve(target: Path, path: str, *, through: bool) -> Path:
    try:
        return target.resolve() if through else target.parent.resolve() / target.name
    except (OSError, RuntimeError) as error:
        raise InvalidInput(f"{path!r} leads nowhere: {error}", hint=HINT) from error
