"""A flow file becomes a flow. Everything that is wrong is collected with its line; nothing is guessed.

A file with errors gives no flow to run, but a draft of it, so that the rules about the graph can be told as well.
"""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path

from drumline.core.flow.edges import Place
from drumline.core.flow.fields import FLOW_FIELDS, NODE_FIELDS, KindRule
from drumline.core.flow.inspection import Locate, Surroundings
from drumline.core.flow.kinds import KINDS
from drumline.core.flow.model import VERSION, Flow, Node, NodeId
from drumline.core.flow.validation import validate
from drumline.core.plan import Problem, Severity
from drumline.flowfiles.tree import Flaw, Item, parse_tree
from drumline.flowfiles.values import Findings, closest, read_fields, warn_of_misspellings
from drumline.record import Record, replace

MAX_BYTES = 16 * 1024 * 1024
KEPT = 16
"""How many flows a process remembers as it has read them."""
LONGEST_ID = 128

_FLOW_KEYS = [rule.name for rule in FLOW_FIELDS]
_SHARED_KEYS = ["type", *(rule.name for rule in NODE_FIELDS)]


def _first_line(_owner: str, _place: Place) -> int:
    return 1


class FlowReading(Record):
    """What one file holds. `flow` is None if it has errors; `draft` is what could be made out of it nevertheless.

    `data` is the file as it was read, so that a copy is exactly what was judged.
    """

    flow: Flow | None
    problems: tuple[Problem, ...] = ()
    draft: Flow | None = None
    data: bytes = b""
    locate: Locate = _first_line

    @property
    def errors(self) -> tuple[Problem, ...]:
        """The problems that stop a run."""
        return tuple(p for p in self.problems if p.severity is Severity.ERROR)


def read_flow(path: Path, *, data: bytes | None = None) -> FlowReading:
    """The flow in a file as it is written; whether its graph makes sense is `check_flow`'s to say.

    With `data`, that is what the file is taken to hold.
    """
    found = Findings(str(path))
    data = _read_bytes(path, found) if data is None else data
    return FlowReading(flow=None, problems=tuple(found.problems)) if data is None else _parse(path, data)


def read_copy(path: Path, *, at: Path) -> Flow | None:
    """The flow that a file `at` another place holds, as if it stood at `path`; None if it holds none."""
    data = _read_bytes(at, Findings(str(at)))
    return None if data is None else read_flow(path, data=data).flow


@lru_cache(maxsize=KEPT)
def _parse(path: Path, data: bytes) -> FlowReading:
    """What the file holds; kept, since a process looks at the flow of its run again and again."""
    found = Findings(str(path))
    text = _decode(data, found)
    tree = parse_tree(text) if text is not None else None
    if isinstance(tree, Flaw):
        found.error(tree.line, code=tree.code, message=tree.message)
    if tree is None or isinstance(tree, Flaw):
        return FlowReading(flow=None, problems=tuple(found.problems))
    for flaw in tree.flaws:
        found.error(flaw.line, code=flaw.code, message=flaw.message)
    draft = _read_root(tree.root, found)
    if draft is not None:
        draft = replace(draft, path=str(path), digest=hashlib.blake2b(data, digest_size=16).hexdigest())
    problems = tuple(found.problems)
    sound = all(problem.severity is Severity.WARNING for problem in problems)
    flow = draft if sound else None
    return FlowReading(flow=flow, problems=problems, draft=draft, data=data, locate=_locator(tree.root))


def check_flow(path: Path, *, around: Surroundings | None = None) -> FlowReading:
    """Read a flow and apply every rule to it. Scripts are looked for on disk, whatever else `around` knows or not.

    `flow` is None if there is any error; where a flow says `validate_before_run: false`, use `read_flow`.
    """
    reading = read_flow(path)
    if reading.draft is None:
        return reading
    known = replace(around or Surroundings(), find_script_fault=script_finder(path.parent))
    told = validate(reading.draft, around=known, locate=reading.locate)
    sound = reading.flow is not None and all(problem.severity is Severity.WARNING for problem in told)
    return replace(reading, flow=reading.flow if sound else None, problems=(*reading.problems, *told))


def script_finder(folder: Path) -> Callable[[str], str]:
    """Tells what is wrong with a script's path relative to the flow's folder; "" if the file is there."""

    def find_script_fault(script: str) -> str:
        try:
            return "" if (folder / script).is_file() else "is not there"
        except (OSError, ValueError):
            return "cannot be looked for"

    return find_script_fault


def _read_bytes(path: Path, found: Findings) -> bytes | None:
    try:
        # Without O_NONBLOCK a named pipe would hang the reader.
        with open(path, "rb", opener=lambda name, flags: os.open(name, flags | os.O_NONBLOCK)) as file:
            data = file.read(MAX_BYTES + 1) if stat.S_ISREG(os.fstat(file.fileno()).st_mode) else None
    except IsADirectoryError:
        data = None
    except FileNotFoundError:
        found.error(1, code="missing_file", message="does not exist; name the flow's YAML file")
        return None
    except (OSError, ValueError) as error:
        message = f"cannot be read ({getattr(error, 'strerror', None) or error}); look at its name and permissions"
        found.error(1, code="unreadable", message=message)
        return None
    if data is None:
        found.error(1, code="not_a_file", message="is not a regular file; name the flow's YAML file")
        return None
    if len(data) > MAX_BYTES:
        message = f"has more than {MAX_BYTES:,} bytes, which no flow needs; move texts into files that scripts read"
        found.error(1, code="file_too_large", message=message)
        return None
    return data


def _decode(data: bytes, found: Findings) -> str | None:
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        message = f"byte {data[error.start]:#04x} is not UTF-8; save the file as UTF-8"
        found.error(line, code="not_utf8", message=message)
        return None


def _read_root(root: Item, found: Findings) -> Flow | None:
    if not isinstance(root.value, dict):
        message = "is not a flow: it must be a mapping; start with `name:`, `start:` and `nodes:`"
        found.error(root.line, code="not_a_mapping", message=message)
        return None
    warn_of_misspellings(root, _FLOW_KEYS, found, of="the flow")
    values = read_fields(root, FLOW_FIELDS, found, of="the flow")
    _check_head(root.value, values, found)
    listing = root.value.get("nodes")
    nodes = _read_nodes(listing, found) if listing is not None and listing.value is not None else {}
    if not nodes:
        return None
    if values["start"] and values["start"] not in nodes:
        start = str(values["start"])
        message = f"the flow starts at {start!r}, which is not a node; {_suggest(start, list(nodes))}"
        found.error(root.value["start"].line, code="unknown_start", message=message)
    make: Callable[..., Flow] = Flow
    return make(**(values | {"nodes": nodes}))


def _suggest(word: str, names: list[NodeId]) -> str:
    meant = closest(word, tuple(names)) if len(names) <= 500 else ""
    return f"did you mean {meant!r}?" if meant else "write the id of the node that comes first"


def _check_head(pairs: dict[str, Item], values: dict[str, object], found: Findings) -> None:
    version = values.get("version", VERSION)
    if version != VERSION:
        message = f'the version {version!r} of the format is not known; write version: "{VERSION}"'
        found.error(pairs["version"].line, code="bad_version", message=message)
    name = pairs.get("name")
    if name is not None and isinstance(name.value, str) and not name.value.strip():
        found.error(name.line, code="empty_name", message="the flow's `name` is empty; give it one")


def _read_nodes(listing: Item, found: Findings) -> dict[NodeId, Node]:
    if not isinstance(listing.value, dict):
        message = "`nodes` must be a mapping from ids to nodes; write `id:` with the node's keys below it"
        found.error(listing.line, code="bad_value", message=message)
        return {}
    if not listing.value:
        found.error(listing.line, code="no_nodes", message="the flow has no nodes; add at least one of `type: end`")
    for name, item in listing.value.items():
        if not name.strip() or not name.isprintable() or len(name) > LONGEST_ID:
            message = f"the id {name[:LONGEST_ID]!r} is not legal; use up to {LONGEST_ID} printable characters"
            found.error(item.line, code="bad_id", message=message)
    return {NodeId(name): _read_node(NodeId(name), item, found) for name, item in listing.value.items()}


def _read_node(node_id: NodeId, item: Item, found: Findings) -> Node:
    of = f"node {node_id!r}"
    shared = read_fields(item, NODE_FIELDS, found, of=of)
    said = shared.pop("id", node_id)
    if said != node_id:
        message = f"{of} calls itself {said!r}; make its `id` the same as its key, or remove it"
        found.error(_line_of(item, "id"), code="id_mismatch", message=message)
    make: Callable[..., Node] = Node
    kind = _read_kind(item, found, of=of) if isinstance(item.value, dict) else None
    if kind is not None:
        warn_of_misspellings(item, [*_SHARED_KEYS, *(rule.name for rule in kind.fields)], found, of=of)
        shared |= read_fields(item, kind.fields, found, of=f"{of} ({kind.name})")
        make = kind.make
    return make(id=node_id, line=item.line, **shared)


def _read_kind(item: Item, found: Findings, *, of: str) -> KindRule | None:
    word = item.value.get("type") if isinstance(item.value, dict) else None
    known = ", ".join(KINDS)
    if word is None or word.value is None:
        message = f"{of} lacks `type`; say what it is: {known}"
        found.error(item.line, code="missing_field", message=message)
        return None
    if not isinstance(word.value, str) or word.value not in KINDS:
        _refuse_kind(word, found, of=of)
        return None
    return KINDS[word.value]


def _refuse_kind(word: Item, found: Findings, *, of: str) -> None:
    meant = closest(word.value, tuple(KINDS)) if isinstance(word.value, str) else ""
    advice = f"did you mean {meant!r}?" if meant else f"use one of {', '.join(KINDS)}"
    shown = repr(word.value) if isinstance(word.value, str) else "that is not a text"
    found.error(word.line, code="unknown_type", message=f"{of} has the unknown type {shown}; {advice}")


def _line_of(item: Item, key: str) -> int:
    pair = item.value.get(key) if isinstance(item.value, dict) else None
    return pair.line if pair else item.line


def _locator(root: Item) -> Locate:
    def locate(owner: str, place: Place) -> int:
        here = root
        for step in ("nodes", owner, *place) if owner else place:
            value = here.value
            if isinstance(value, dict) and step in value:
                here = value[str(step)]
            elif isinstance(value, list) and isinstance(step, int) and step < len(value):
                here = value[step]
            else:
                break
        return here.line

    return locate
