"""What the checks of a flow leave behind. In a worktree of ours it is undone; in the user's own folder it is only told.

Only while a check is alone at work: what another node writes meanwhile is not the check's.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Protocol

from drumline.core.leftovers import Leftovers, name_created, sort_changes, tell_altered, tell_created


class Watch(Protocol):
    """Looks at the folder of a flow run. `ours` says whether what has changed there is undone."""

    @property
    def ours(self) -> bool:
        """Whether the folder is a worktree of ours."""
        ...

    async def begin(self) -> None:
        """Remember what is there."""
        ...

    async def find_changes(self) -> Mapping[str, str]:
        """Paths that changed since it was last looked at, each with `created`, `modified` or `deleted`."""
        ...


class NoWatch:
    """Nobody looks."""

    ours = False

    async def begin(self) -> None:
        """Remember nothing."""

    async def find_changes(self) -> Mapping[str, str]:
        """Nothing is seen."""
        return {}


NO_WATCH = NoWatch()


async def find_leftovers(watch: Watch, command: str, warn: Callable[[str], None]) -> Leftovers:
    """What a check left, told to the user."""
    left = sort_changes((await watch.find_changes()).items())
    if watch.ours:
        created, altered = tell_created(command, left.created), tell_altered(command, left.altered)
    else:
        kept = "they stay, because this is your folder"
        created = f"the check `{command}` left files that git does not ignore ({kept}): {name_created(left.created)}"
        altered = f"the check `{command}` changed files ({kept}): {', '.join(left.altered)}"
    if left.created:
        warn(created)
    if left.altered:
        warn(altered)
    return left
