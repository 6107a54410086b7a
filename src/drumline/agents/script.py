"""The file a scripted agent plays. The rule: a script is wrong when it is opened or never, and then all of it is told.

rules:                       # the first rule whose `match` fits is played; every key of `match` is optional
  - match: {step: step-2, node: implement, attempt: 1}   # in a flow also `scope` and `visit`
    sleep: 0.2
    patch: |                 # what `git diff --binary` prints, from the workspace; !!binary for other than UTF-8
      diff --git a/x b/x …
    write: {src/a.py: "x = 1\\n"}
    delete: [old.py]
    run: "python -m compileall -q src"
    say: "what the agent answers"
    usage: {input: 1200, output: 300}
    session: "s-1"           # the id of its session
    ask: "a question to a person"
    fail: {class: quota, message: "429", resets_in: 60}   # `resets_in`: seconds until a quota resets
default: {say: "done"}       # played when no rule fits
"""

from __future__ import annotations

import base64
import binascii
import dataclasses
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import ClassVar

import yaml

from drumline.core.taxonomy import Failure
from drumline.errors import InvalidInput
from drumline.record import Record, field

_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
PATCH = b"diff --git "
"""What every patch of git's begins with; others cannot say which files are new, gone or binary."""


class Act(Record):
    """What the agent does for one assignment, in the order of the fields."""

    sleep: float = 0.0
    patch: bytes = b""
    write: Mapping[str, str] = field(default_factory=dict)
    delete: tuple[str, ...] = ()
    run: str = ""
    say: str = ""
    usage: Mapping[str, float] = field(default_factory=dict)
    session: str = ""
    ask: str = ""
    failure: Failure | None = None
    message: str = ""
    resets_in: float | None = None


class Rule(Record):
    """An act and when it fits; what is None fits everything."""

    act: Act
    step: str | None = None
    node: str | None = None
    attempt: int | None = None
    scope: str | None = None
    visit: int | None = None

    def fits(self, step: str, node: str, attempt: int, *, scope: str, visit: int) -> bool:
        """Whether this rule is meant for the assignment."""
        wanted = (self.step, self.node, self.attempt, self.scope, self.visit)
        given = (step, node, attempt, scope, visit)
        return all(want in (None, is_) for want, is_ in zip(wanted, given, strict=True))


class Script(Record):
    """Rules in order, and what to do when none fits."""

    rules: tuple[Rule, ...] = ()
    default: Act | None = None

    def choose(self, step: str, node: str, attempt: int, *, scope: str = "", visit: int = 1) -> Act | None:
        """The act of the first rule that fits, else the default."""
        fitting = (rule.act for rule in self.rules if rule.fits(step, node, attempt, scope=scope, visit=visit))
        return next(fitting, self.default)


def read_script(path: Path) -> Script:
    """Read and check a script, or raise InvalidInput naming every problem with its line."""
    hint = f"correct {path} and try again"
    try:
        text = path.read_bytes().decode("utf-8-sig")
        root = _compose(text)
    except OSError as error:
        raise InvalidInput(f"{path}: cannot be read: {error.strerror}", hint=hint) from error
    except (UnicodeDecodeError, RecursionError) as error:
        raise InvalidInput(f"{path}:1: not a readable YAML file: {error}", hint=hint) from error
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = mark.line + 1 if mark else 1
        said = getattr(error, "problem", None) or getattr(error, "reason", None) or "malformed"
        raise InvalidInput(f"{path}:{line}: not YAML: {said}", hint=hint) from error
    reader = _Reader(file=str(path))
    script = reader.read(root)
    if reader.problems:
        raise InvalidInput("\n".join(reader.problems), hint=hint)
    return script


def _compose(text: str) -> yaml.Node | None:
    """The root of a document; the loader that is in C is fast, the other one takes more and says where it stops."""
    root: yaml.Node | None
    try:
        root = yaml.compose(text, Loader=_LOADER)
    except (yaml.YAMLError, UnicodeEncodeError):
        root = yaml.compose(text, Loader=yaml.SafeLoader)
    return root


def refuse_path(path: str) -> str:
    """Why a path may not be written or deleted in a workspace, or nothing."""
    parts = PurePosixPath(path).parts
    if not parts or "\0" in path:
        return "is not a path"
    if path.startswith("/") or ".." in parts:
        return "leaves the workspace"
    return "belongs to git" if parts[0] == ".git" else ""


@dataclass(kw_only=True, slots=True)
class _Reader:
    """Turns YAML nodes into a script; keeps every problem and goes on."""

    file: str
    problems: list[str] = dataclasses.field(default_factory=list)

    _ACT: ClassVar = ("sleep", "patch", "write", "delete", "run", "say", "usage", "session", "ask", "fail")

    def read(self, root: yaml.Node | None) -> Script:
        if root is None:
            self.problems.append(f"{self.file}:1: is empty (legal: rules, default)")
            return Script()
        found = self._entries(root, "the script", ("rules", "default"))
        rules = [self._rule(node) for node in self._items(found.get("rules"), "rules")]
        default = self._act(self._entries(found["default"], "default", self._ACT)) if "default" in found else None
        return Script(rules=tuple(rules), default=default)

    def _rule(self, node: yaml.Node) -> Rule:
        found = self._entries(node, "a rule", ("match", *self._ACT))
        match = self._entries(found.get("match"), "match", ("step", "node", "attempt", "scope", "visit"))
        return Rule(
            act=self._act(found),
            step=self._name(match["step"], "step") if "step" in match else None,
            node=self._name(match["node"], "node") if "node" in match else None,
            attempt=self._count(match["attempt"], "attempt") if "attempt" in match else None,
            scope=self._text(match["scope"], "scope") if "scope" in match else None,
            visit=self._count(match["visit"], "visit") if "visit" in match else None,
        )

    def _act(self, found: Mapping[str, yaml.Node]) -> Act:
        fail = self._entries(found.get("fail"), "fail", ("class", "message", "resets_in"))
        return Act(
            sleep=self._number(found["sleep"], "sleep") if "sleep" in found else 0.0,
            patch=self._patch(found["patch"]) if "patch" in found else b"",
            write=self._writes(found.get("write")),
            delete=tuple(
                self._path(node, self._text(node, "delete")) for node in self._items(found.get("delete"), "delete")
            ),
            run=self._text(found["run"], "run") if "run" in found else "",
            say=self._text(found["say"], "say") if "say" in found else "",
            usage={
                k: self._number(node, f"usage {k}") for k, node in self._entries(found.get("usage"), "usage").items()
            },
            session=self._text(found["session"], "session") if "session" in found else "",
            ask=self._text(found["ask"], "ask") if "ask" in found else "",
            failure=self._failure(found["fail"], fail.get("class")) if "fail" in found else None,
            message=self._text(fail["message"], "message") if "message" in fail else "",
            resets_in=self._number(fail["resets_in"], "resets_in") if "resets_in" in fail else None,
        )

    def _patch(self, node: yaml.Node) -> bytes:
        if isinstance(node, yaml.ScalarNode) and node.tag == "tag:yaml.org,2002:binary":
            try:
                patch = base64.b64decode(node.value)
            except (ValueError, binascii.Error):
                patch = b""
        else:
            patch = self._text(node, "patch").encode("utf-8", "replace")
        if not patch.startswith(PATCH):
            self._tell(node, f"patch must begin with {PATCH.decode()!r}, as git prints it")
        return patch

    def _writes(self, node: yaml.Node | None) -> Mapping[str, str]:
        entries = self._entries(node, "write")
        return {self._path(value, path): self._text(value, path) for path, value in entries.items()}

    def _failure(self, place: yaml.Node, node: yaml.Node | None) -> Failure:
        legal = ", ".join(f.value for f in Failure)
        try:
            return Failure(node.value if isinstance(node, yaml.ScalarNode) else None)
        except ValueError:
            said = (
                f"class: {node.value!r} is not a failure class"
                if isinstance(node, yaml.ScalarNode)
                else "class is missing"
            )
            self._tell(node or place, f"{said} (legal: {legal})")
            return Failure.PERMANENT

    def _entries(self, node: yaml.Node | None, what: str, legal: Sequence[str] = ()) -> dict[str, yaml.Node]:
        """A mapping's values by key; unknown keys are told when `legal` names the known ones."""
        found: dict[str, yaml.Node] = {}
        if node is None:
            return found
        if not isinstance(node, yaml.MappingNode):
            self._tell(node, f"{what} must be a mapping")
            return found
        for key, value in node.value:
            name = key.value if isinstance(key, yaml.ScalarNode) else ""
            if not name or (legal and name not in legal):
                self._tell(key, f"{what} has no key {name!r}" + (f" (legal: {', '.join(legal)})" if legal else ""))
            elif name in found:
                self._tell(key, f"{what} has the key {name!r} twice")
            else:
                found[name] = value
        return found

    def _items(self, node: yaml.Node | None, what: str) -> Sequence[yaml.Node]:
        if node is None:
            return ()
        if isinstance(node, yaml.SequenceNode):
            return list(node.value)
        self._tell(node, f"{what} must be a list")
        return ()

    def _text(self, node: yaml.Node, what: str) -> str:
        if isinstance(node, yaml.ScalarNode) and node.tag == "tag:yaml.org,2002:str" and _is_unicode(node.value):
            return str(node.value)
        self._tell(node, f"{what} must be text")
        return ""

    def _name(self, node: yaml.Node, what: str) -> str:
        """Text, or a number as it is written: the id 3 need not be quoted."""
        if isinstance(node, yaml.ScalarNode) and node.tag == "tag:yaml.org,2002:int":
            return str(node.value)
        return self._text(node, what)

    def _count(self, node: yaml.Node, what: str) -> int:
        value = node.value if isinstance(node, yaml.ScalarNode) else ""
        if value.isascii() and value.isdigit() and len(value) < 10 and int(value) > 0:
            return int(value)
        self._tell(node, f"{what} must be a whole number of at least 1")
        return 0

    def _number(self, node: yaml.Node, what: str) -> float:
        tags = ("tag:yaml.org,2002:int", "tag:yaml.org,2002:float")
        try:
            number = float(node.value) if isinstance(node, yaml.ScalarNode) and node.tag in tags else math.nan
        except ValueError:
            number = math.nan
        if 0 <= number < math.inf:
            return number
        self._tell(node, f"{what} must be a number of at least 0")
        return 0.0

    def _path(self, node: yaml.Node, path: str) -> str:
        if reason := refuse_path(path):
            self._tell(node, f"{path!r} {reason}")
        return path

    def _tell(self, node: yaml.Node, problem: str) -> None:
        self.problems.append(f"{self.file}:{node.start_mark.line + 1}: {problem}")


def _is_unicode(text: str) -> bool:
    """False for half of a surrogate pair, which an escape in a script can write but no file can hold."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
