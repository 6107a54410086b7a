"""Packages of others that a check did not find. The rule: what the work declares and is not installed is not the work's
failure; what it uses and does not declare is, and so is a module of its own.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from types import MappingProxyType

from drumline.patterns import compile_late
from drumline.record import Record

MANIFESTS = (
    *("pyproject.toml", "setup.cfg", "setup.py", "requirements.txt", "requirements-dev.txt", "Pipfile", "uv.lock"),
    *("package.json", "Gemfile", "mix.exs"),
)
"""Files in which a project says what it needs, at its top."""
SOURCES = ("src", "lib", "python")
"""Folders from which a package can be imported only once it is installed."""
_PYTHON = compile_late(r"^(?P<where>.*?)No module named ['\"]?(?P<name>\w[\w.]*)['\"]?", re.MULTILINE)
_NODE = compile_late(r"^.*?Cannot find (?:module|package) '(?P<name>@?[a-z0-9][^'\s:]*)'", re.MULTILINE)
_RUBY = compile_late(r"^.*?cannot load such file -- (?P<name>[a-z][\w/-]*)", re.MULTILINE)
_ASKS = compile_late(
    r"^.*?(?:Run `bundle install` to install missing gems|Could not find .* in locally installed gems"
    r"|the dependency is not available, run \"mix deps\.get\""
    r"|This package doesn't seem to be present in your lockfile)",
    re.MULTILINE,
)
"""How a tool itself says that packages have to be installed first."""
_OTHERWISE: Mapping[str, str] = MappingProxyType(
    {
        "yaml": "pyyaml",
        "pil": "pillow",
        "cv2": "opencv",
        "sklearn": "scikit-learn",
        "bs4": "beautifulsoup4",
        "dateutil": "python-dateutil",
        "dotenv": "python-dotenv",
        "jwt": "pyjwt",
        "attr": "attrs",
        "google": "google-",
        "serial": "pyserial",
        "magic": "python-magic",
    }
)
"""Python modules whose package has another name."""


_OWN_NAME = compile_late(r"^\s*\"?name\"?\s*[=:].*$|\bapp:\s*:\w+", re.MULTILINE)


class Missing(Record):
    """A package that was not found, and the line that says so; without a name a tool asked for an installation.

    `part` says that only a module in it was not found.
    """

    line: str
    name: str = ""
    part: bool = False


def find_missing(output: str) -> list[Missing]:
    """The packages that the output of a check names as missing, each once."""
    found = {match[0].strip(): Missing(line=match[0].strip()) for match in _ASKS.finditer(output)}
    for pattern in (_PYTHON, _NODE, _RUBY):
        for match in pattern.finditer(output):
            line = match[0].strip()
            found[line] = Missing(line=line, name=_name_package(match["name"]), part="." in match["name"])
    return [*{one.name or one.line: one for one in reversed(found.values())}.values()][::-1]


def list_own_places(name: str) -> Iterator[str]:
    """Where a module of this name would be in a work tree: from where it is found, and where it has to be installed."""
    for folder in ("", *(f"{source}/" for source in SOURCES)):
        yield f"{folder}{name}"
        yield f"{folder}{name}.py"


def is_foreign(missing: Missing, *, command: str, declared: str, own: Collection[str], linked: bool = False) -> bool:
    """Whether a missing package is not the work's failure.

    `declared` is the text of the manifests, `own` are those of the module's own places that the work tree has. `linked`
    says that packages of the project are found by a link that does not lead to the work tree.
    """
    if not missing.name:
        return True
    if own:
        return (linked and not missing.part) or all(
            place.startswith(tuple(f"{source}/" for source in SOURCES)) for place in own
        )
    asked_for = re.search(rf"-m\s+{re.escape(missing.name)}\b", command)
    return bool(asked_for) or is_declared(missing.name, declared)


def leave_own_name(manifest: str, text: str) -> str:
    """The text of a manifest without the line that names the project itself: it does not declare what it is."""
    return text if manifest.endswith(".lock") else _OWN_NAME.sub("", text)


def is_declared(name: str, manifests: str) -> bool:
    """Whether manifests name a package, however it is spelled."""
    wanted = _OTHERWISE.get(name.lower(), name.lower())
    pattern = re.escape(re.sub(r"[-_.]+", "-", wanted))
    return bool(re.search(rf"(?<![\w-]){pattern}(?![\w])", re.sub(r"[-_]+", "-", manifests.lower())))


def _name_package(module: str) -> str:
    if module.startswith("@"):
        return "/".join(module.split("/")[:2])
    return re.split(r"[./]", module)[0]
