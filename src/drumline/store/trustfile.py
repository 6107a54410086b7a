"""What people said about the commands of one repository, in a file outside it.

The rule: the file lies in the person's state folder, where no checkout, no plan and no sandboxed agent can write, and
names the repository by the path of its git folder. A file that cannot be read trusts nothing.
"""

from __future__ import annotations

import fcntl
import json
import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from drumline.core.trust import Brought
from drumline.errors import InvalidInput
from drumline.protection import ASK, AUTO, OFF
from drumline.record import Record, field

ACCEPTED, REFUSED, LISTED = "accepted", "refused", "listed"
VERSION = 1
PRIVATE = 0o700


class Verdict(Record):
    """What was said about one command: accepted or refused by a person, or listed where nobody could be asked."""

    command: Brought
    said: str
    at: float


class FileTrust(Record):
    """Judges commands by the file at `path`. `policy` is the setting `trust`.

    With `asks` a person is there, so what is new is asked about. Without, `list_new` is handed what is new to this
    repository, once, and it counts as trusted.
    """

    path: Path
    repository: str
    policy: str = AUTO
    asks: bool = False
    list_new: Callable[[Sequence[Brought]], None] = lambda found: None
    _cached: dict[str, object] = field(default_factory=dict)

    def read(self) -> Mapping[str, Verdict]:
        """Everything that was said, by digest."""
        stamp = self._stamp()
        if self._cached.get("stamp") != stamp or stamp is None:
            self._cached.update(stamp=stamp, verdicts=self._load())
        found: Mapping[str, Verdict] = self._cached["verdicts"]  # type: ignore[assignment]  # written one line above
        return found

    def find_untrusted(self, found: Iterable[Brought], *, made: bool = False) -> Sequence[Brought]:
        """What a person has to see first: all that is new where somebody is asked, else what was refused, or made."""
        if self.policy == OFF:
            return ()
        said = {digest: verdict.said for digest, verdict in self.read().items()}
        commands = list({item.digest: item for item in found}.values())
        if self.policy == ASK or self.asks:
            return [item for item in commands if said.get(item.digest) != ACCEPTED]
        new = [item for item in commands if item.digest not in said]
        if made:
            return [item for item in commands if said.get(item.digest, REFUSED) == REFUSED]
        if new:
            self.list_new(new)
            self.remember(LISTED, new)
        return [item for item in commands if said.get(item.digest) == REFUSED]

    def find_new(self, found: Iterable[Brought]) -> list[Brought]:
        """Commands about which nothing is known, not even that they were listed."""
        said = self.read()
        return [item for item in found if item.digest not in said]

    def accept(self, found: Iterable[Brought]) -> None:
        """Remember that a person accepted the commands."""
        self.remember(ACCEPTED, found)

    def refuse(self, found: Iterable[Brought]) -> None:
        """Remember that a person refused them."""
        self.remember(REFUSED, found)

    def remember(self, said: str, found: Iterable[Brought]) -> None:
        """Write what was said; an earlier word about the same command is replaced."""
        with self._locked() as verdicts:
            now = time.time()
            verdicts |= {item.digest: Verdict(command=item, said=said, at=now) for item in found}

    def forget(self, digests: Iterable[str]) -> None:
        """Forget what was said about some commands."""
        with self._locked() as verdicts:
            for digest in digests:
                verdicts.pop(digest, None)

    @contextmanager
    def _locked(self) -> Iterator[dict[str, Verdict]]:
        """What was said, to be changed by one process at a time; written whole or not at all."""
        self.path.parent.mkdir(mode=PRIVATE, parents=True, exist_ok=True)
        with self.path.with_suffix(".lock").open("a") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            verdicts = dict(self._load())
            yield verdicts
            draft = self.path.with_suffix(f".{os.getpid()}")
            try:
                with draft.open("w", encoding="utf-8") as file:
                    json.dump(self._spell(verdicts), file, ensure_ascii=False, indent=1)
                    file.flush()
                    os.fsync(file.fileno())  # else a power cut may leave an empty file, which no run accepts
                draft.replace(self.path)
            except OSError:
                draft.unlink(missing_ok=True)
                raise

    def _spell(self, verdicts: Mapping[str, Verdict]) -> dict[str, object]:
        rows = [
            {
                "said": verdict.said,
                "at": verdict.at,
                "kind": verdict.command.kind,
                "text": verdict.command.text,
                "content": verdict.command.content,
                "place": verdict.command.place,
                "slot": verdict.command.slot,
            }
            for verdict in verdicts.values()
        ]
        return {"version": VERSION, "repository": self.repository, "commands": rows}

    def _stamp(self) -> tuple[int, int, int] | None:
        try:
            found = self.path.stat()
        except OSError:
            return None
        return found.st_ino, found.st_mtime_ns, found.st_size

    def _load(self) -> dict[str, Verdict]:
        try:
            text = self.path.read_text(encoding="utf-8")
        except FileNotFoundError:
            return {}
        except (OSError, UnicodeDecodeError) as error:
            raise self._complain(str(error)) from error
        try:
            data = json.loads(text)
            if data["version"] != VERSION or data["repository"] != self.repository:
                raise ValueError(f"it is of version {data['version']!r}, for {data['repository']!r}")
            verdicts = [_read_row(row) for row in data["commands"]]
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            raise self._complain(f"it is not what Drumline wrote there ({error})") from error
        return {verdict.command.digest: verdict for verdict in verdicts}

    def _complain(self, why: str) -> InvalidInput:
        return InvalidInput(
            f"{self.path}: cannot be read: {why}", hint=f"rm {self.path}, which forgets what was accepted"
        )


def _read_row(row: Mapping[str, object]) -> Verdict:
    """A row of the file; its digest is computed again, so that a row cannot speak for another command."""
    words = {key: str(row[key]) for key in ("kind", "text", "content", "place", "slot")}
    if row["said"] not in (ACCEPTED, REFUSED, LISTED):
        raise ValueError(f"unknown word {row['said']!r}")
    at = row["at"]
    return Verdict(
        command=Brought(**words), said=str(row["said"]), at=float(at) if isinstance(at, int | float) else 0.0
    )
