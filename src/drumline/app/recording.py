"""A run as a script for the scripted agent, so that it can be played again without a model.

The rule: the file is whole at every moment. It is replaced in one stroke after each attempt that concluded.
"""

from __future__ import annotations

import base64
import os
import re
import time
from collections.abc import Mapping
from pathlib import Path

import yaml

from drumline.app.edits import Edits
from drumline.core.ids import RunId
from drumline.core.redaction import Redaction
from drumline.core.spending import REPLAYED
from drumline.core.taxonomy import Failure
from drumline.errors import InvalidInput
from drumline.record import Record, field

Key = tuple[str | int, ...]
"""The place of an attempt in a run: the values of its `match`."""

MARK = "# Recorded by Drumline from run "
LONGEST = 1000
"""Characters of the first line that are looked at."""
RULE = re.compile(r"^(?=- )", re.MULTILINE)
PATCH = "\n  patch: "
SHARE = 20
"""A file that takes long to write is written less often: at most one part in so many of the time goes into it."""
PLAIN = re.compile(r"[\t\n\x20-\x7e\xa0-\u2027\u202a-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]*")
"""Characters that a literal block of YAML keeps as they are."""


class Concluded(Record):
    """One assignment and what came of it; `match` says which one it was, in the words of a script.

    `resets` says that it was known when the quota would be there again: nobody has to wait for that when it is played.
    """

    match: Mapping[str, str | int]
    edits: Edits = field(default_factory=Edits)
    said: str = ""
    failure: str = ""
    question: str = ""
    resets: bool = False
    usage: Mapping[str, float] = field(default_factory=dict)


class Recording:
    """The file: one of the same run is gone on with, another is begun anew. Whatever goes into it is redacted."""

    def __init__(self, path: Path, *, run: RunId, redaction: Redaction) -> None:
        self.path = path
        self.redaction = redaction
        self.withheld: list[str] = []
        self._run = run
        self._rules: dict[Key, str] = {}
        self._written = 0.0
        self._took = 0.0
        self._waits = not self.take_up()
        self.write()

    def take_up(self) -> bool:
        """Keep the rules that are in the file by now, and tell whether it is one of this run.

        They stay as they are: whoever wrote them may have known secrets that we do not know.
        """
        if read_origin(self.path) != self._run:
            return False
        self._rules = read_rules(self.path) | self._rules
        return True

    @property
    def rules(self) -> int:
        """How many attempts are in it."""
        return len(self._rules)

    def holds(self, match: Mapping[str, str | int]) -> bool:
        """Whether there is a rule for this attempt."""
        return tuple(match.values()) in self._rules

    def add(self, concluded: Concluded) -> None:
        """Take in an attempt; one for the same place in the run replaces an earlier one."""
        edits = concluded.edits
        self.withheld += [path for path in (*edits.withheld, *edits.write) if path not in self.withheld]
        self._put(concluded.match, write_rule(concluded, self.redaction))

    def relieve(self, match: Mapping[str, str | int], failure: str) -> None:
        """Note that another agent went on where this one failed: the script that plays them all goes on by itself."""
        found = self._rules.get(tuple(match.values()))
        if found is not None and (changed := _relieve(found, failure)) != found:
            self._put(match, changed)

    def _put(self, match: Mapping[str, str | int], rule: str) -> None:
        self._rules[tuple(match.values())] = rule
        self._waits = True
        if time.monotonic() - self._written >= SHARE * self._took:
            self.write()

    def write(self) -> None:
        """Replace the file, if there is something new."""
        if not self._waits:
            return
        began = time.monotonic()
        rules = "".join(self._rules.values())
        text = f"{MARK}{self._run}; play it with --agent scripted:FILE\n" + (
            f"rules:\n{rules}" if rules else "rules: []\n"
        )
        draft = self.path.with_name(f".{self.path.name}.{os.getpid()}")
        try:
            draft.write_bytes(text.encode("utf-8"))
            draft.replace(self.path)
        except OSError as error:
            draft.unlink(missing_ok=True)
            raise InvalidInput(
                f"{self.path} cannot be written: {error.strerror}", hint="drumline run --help"
            ) from error
        self._waits = False
        self._written = time.monotonic()
        self._took = self._written - began


def read_origin(path: Path) -> str:
    """The run that a recording is of; empty if there is no file or it is not a recording."""
    try:
        with path.open("rb") as file:
            head = file.readline(LONGEST).decode("utf-8", "replace")
    except OSError:
        return ""
    return head.removeprefix(MARK).partition(";")[0] if head.startswith(MARK) else ""


def read_rules(path: Path) -> dict[Key, str]:
    """The rules of a recording, each as it is written there."""
    found: dict[Key, str] = {}
    try:
        # Every line of a rule but its first is indented or empty, those of a patch included.
        for rule in RULE.split(path.read_bytes().decode("utf-8"))[1:]:
            (head,) = yaml.safe_load(_part(rule)[0])
            found[tuple(head["match"].values())] = rule
    except (OSError, UnicodeDecodeError, yaml.YAMLError, KeyError, TypeError, ValueError, AttributeError) as error:
        raise InvalidInput(
            f"{path} cannot be gone on with, its rules are not as they were recorded: {error}",
            hint="drumline resume RUN --record OTHER-FILE",
        ) from error
    return found


def _part(rule: str) -> tuple[str, str]:
    """A rule without its patch, and the patch, which comes last."""
    head, mark, patch = rule.partition(PATCH)
    return (head + "\n", mark[1:] + patch) if mark else (rule, "")


def _relieve(rule: str, failure: str) -> str:
    """The same rule, whose failure is now one that passes at once; one that was told so already stays."""
    head, patch = _part(rule)
    (told,) = yaml.safe_load(head)
    fail = told.get("fail", {})
    said = fail.get("message", "")
    if fail.get("class") != failure or fail.get("resets_in") == 0:
        return rule
    passing = {"class": Failure.QUOTA.value, "message": f"{failure}: {said}", "resets_in": 0}
    return _dump({**told, "fail": passing}) + patch


def check_place(path: Path) -> None:
    """Refuse a file that cannot be written or is there and no recording, as it may be somebody's work."""
    hint = "drumline run PLAN --record FILE"
    if not path.parent.is_dir():
        raise InvalidInput(f"{path} cannot be recorded to: there is no folder {path.parent}", hint=hint)
    try:
        with path.open("rb") as file:
            foreign = not file.read(len(MARK)).decode("utf-8", "replace").startswith(MARK)
    except FileNotFoundError:
        return
    except OSError as error:
        raise InvalidInput(f"{path} cannot be recorded to: {error.strerror}", hint=hint) from error
    if foreign:
        raise InvalidInput(f"{path} exists and is not a recording", hint=f"rm {path}, or choose another file")


class _Dumper(yaml.SafeDumper):
    """Writes texts of several lines as such where YAML can."""

    def ignore_aliases(self, data: object) -> bool:
        """A rule refers to nothing outside of it."""
        return True


def _represent(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    block = "|" if "\n" in text else None
    # Line ends of other kinds survive only in double quotes.
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=block if PLAIN.fullmatch(text) else '"')


_Dumper.add_representer(str, _represent)


def write_rule(concluded: Concluded, redaction: Redaction) -> str:
    """An attempt as a rule of a script."""
    edits = concluded.edits
    said = _clean(concluded.said, redaction)
    rule: dict[str, object] = {"match": dict(concluded.match)}
    if edits.write:
        rule["write"] = dict(edits.write)
    if edits.delete:
        rule["delete"] = list(edits.delete)
    if concluded.failure:
        rule["fail"] = {"class": concluded.failure, "message": said} | ({"resets_in": 0} if concluded.resets else {})
    elif said:
        rule["say"] = said
    if concluded.question:
        rule["ask"] = _clean(concluded.question, redaction)
    if concluded.usage:
        rule["usage"] = {**concluded.usage, REPLAYED: 1}
    return _dump(rule) + (_write_patch(edits.patch) if edits.patch else "")


def _dump(rule: Mapping[str, object]) -> str:
    return str(yaml.dump([rule], Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=110))


def _clean(text: str, redaction: Redaction) -> str:
    """Text that a file can hold: half of a surrogate pair cannot be encoded."""
    return redaction.hide(text.encode("utf-8", "replace").decode())


def _write_patch(patch: bytes) -> str:
    """The patch as it is, if YAML keeps it byte for byte, else encoded; every line of it belongs to the rule."""
    try:
        text = patch.decode("utf-8")
    except UnicodeDecodeError:
        text = "\0"
    kind = "|+"
    if not (PLAIN.fullmatch(text) and text.endswith("\n")):
        kind, text = "!!binary |", base64.encodebytes(patch).decode()
    lines = (f"    {line}" if line else "" for line in text.removesuffix("\n").split("\n"))
    return f"  patch: {kind}\n" + "\n".join(lines) + "\n"
