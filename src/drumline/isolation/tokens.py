"""Logins between a user's home and private copies of it. The rule: only tokens that the user has come back, renewed.

A file that the user does not have is never made, and no entry is added to one: some entries name programs to run. Both
directions count while a program works, as a token that was refreshed in one place is worthless in all others.
"""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from io import BytesIO
from pathlib import Path
from typing import Any

from drumline.isolation.contained import (
    Fingerprint,
    fingerprint,
    fingerprint_contained,
    lock_folder,
    name_draft,
    read_contained,
    write_at,
    write_contained,
)
from drumline.record import Record

FIELDS = frozenset(
    {
        *("access_token", "refresh_token", "id_token", "expires_at", "expiry_date", "expires_in", "last_refresh"),
        *("accessToken", "refreshToken", "idToken", "expiresAt", "refreshTokenExpiresAt", "expiresIn"),
        *("access", "refresh", "expires", "refresh_expires_at", "expiry", "token_expires_at"),
    }
)
"""What programs call a token, and when it ends."""
LIMIT = 1 << 20
LONGEST = 1 << 16
MOST = 1 << 53
"""A number from here on is not a time, and one that not every program reads as it was written."""
LOOK = 1.0
MANIFEST = "homes.json"
"""In the folder of private homes, out of the programs' reach: whose copies they are, for who clears up after a kill."""


class Login(Record):
    """A file with tokens: the user's, and its copy below a private home."""

    own: Path
    root: Path
    name: str


def refresh(own: Any, found: Any) -> Any:
    """What the user has, with the tokens that were found at the same places."""
    if isinstance(own, dict) and isinstance(found, dict):
        new = {key: _choose(key, value, found) for key, value in own.items()}
        if own.keys() & FIELDS:
            new |= {key: found[key] for key in FIELDS & found.keys() - own.keys() if _is_token(found[key])}
        return new
    if isinstance(own, list) and isinstance(found, list) and len(own) == len(found):
        return [refresh(*pair) for pair in zip(own, found, strict=True)]
    return own


def _choose(key: str, own: Any, found: Mapping[str, Any]) -> Any:
    if key not in found:
        return own
    if key not in FIELDS or isinstance(own, dict | list):
        return refresh(own, found[key])
    same = isinstance(own, str) == isinstance(found[key], str)
    return found[key] if same and _is_token(found[key]) else own


def _is_token(value: Any) -> bool:
    if isinstance(value, str):
        return 0 < len(value) <= LONGEST and value.isprintable()
    # Python reads and writes NaN and Infinity; the program that owns the file could not read it any more.
    return isinstance(value, int | float) and not isinstance(value, bool) and -MOST < value < MOST


class Keeper:
    """Keeps the user's logins and the copies of them in step."""

    def __init__(self, logins: Sequence[Login], *, fresh: bool = True) -> None:
        """With `fresh` the copies were made just now; else it is not known who has changed what."""
        self._logins = logins
        self._seen: dict[Path, tuple[Fingerprint | None, Fingerprint | None]] = {}
        for login in logins if fresh else ():
            self._note(login)

    def settle(self) -> None:
        """Bring what changed on one side to the other; where both did, the newer one counts."""
        for login in self._logins:
            with suppress(OSError, ValueError, RecursionError):
                self._settle(login)

    def _settle(self, login: Login) -> None:
        own, copy = _look(login)
        before = self._seen.get(login.own, (None, None))
        if (own, copy) == before or own is None or copy is None:
            return
        # A time to come is a lie, and would win for ever.
        newer = min(copy.mtime, time.time_ns()) > own.mtime
        if copy != before[1] and (own == before[0] or newer):
            _bring_back(login)
        elif own != before[0]:
            _hand_over(login)
        self._note(login)

    def _note(self, login: Login) -> None:
        self._seen[login.own] = _look(login)


@contextmanager
def keep_in_step(logins: Sequence[Login]) -> Iterator[None]:
    """Keep logins in step with their copies for as long as a program works, and once more when it has ended."""
    if not logins:
        yield
        return
    _clear_drafts(logins)
    keeper, over = Keeper(logins), threading.Event()

    def look_on() -> None:
        while not over.wait(LOOK):
            keeper.settle()

    thread = threading.Thread(target=look_on, name="drumline-logins", daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
        keeper.settle()


def write_manifest(folder: Path, logins: Sequence[Login]) -> None:
    """Write down whose copies are in a folder."""
    rows = [{"own": str(login.own), "root": str(login.root), "name": login.name} for login in logins]
    (folder / MANIFEST).write_text(json.dumps(rows), encoding="utf-8")


def salvage_logins(folder: Path) -> None:
    """Bring back the tokens that a killed attempt had refreshed, unless the user's own are newer."""
    try:
        rows = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
        logins = [Login(own=Path(row["own"]), root=Path(row["root"]), name=row["name"]) for row in rows]
    except (OSError, ValueError, KeyError, TypeError):
        return
    inside = [login for login in logins if login.root.is_relative_to(folder)]
    _clear_drafts(inside)
    Keeper(inside, fresh=False).settle()


def _clear_drafts(logins: Sequence[Login]) -> None:
    """Remove what a killed process had written of a user's file."""
    for place in {login.own.resolve() for login in logins}:
        with suppress(OSError), lock_folder(place.parent) as folder:
            os.unlink(name_draft(place.name), dir_fd=folder)


def _look(login: Login) -> tuple[Fingerprint | None, Fingerprint | None]:
    return fingerprint(login.own), fingerprint_contained(login.root, login.name)


def _bring_back(login: Login) -> None:
    content = read_contained(login.root, login.name, limit=LIMIT)
    if content is None:
        return
    found = json.loads(content)
    place = login.own.resolve()
    with lock_folder(place.parent) as folder:
        own = json.loads(place.read_bytes())
        new = refresh(own, found)
        if new != own:
            write_at(folder, place.name, BytesIO(json.dumps(new, indent=2, ensure_ascii=False).encode()))


def _hand_over(login: Login) -> None:
    content = login.own.read_bytes()
    if len(content) <= LIMIT:
        write_contained(login.root, login.name, content)
