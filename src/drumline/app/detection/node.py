"""JavaScript projects: the scripts of `package.json`, by npm, pnpm, yarn or bun."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from drumline.app.detection.found import BUILD, FORMAT, LINT, SETUP, TEST, Found, Tree, as_table

_UNTESTED = "no test specified"
_LOCKS: Mapping[str, str] = {"pnpm-lock.yaml": "pnpm", "yarn.lock": "yarn", "bun.lock": "bun", "bun.lockb": "bun"}
_ONLY_LOOKS = re.compile(r"\s(?:--check|-c|--list-different|-l|--dry-run)(?:\s|$)")
_SCRIPTS: Mapping[str, str] = {
    "format": FORMAT,
    "fmt": FORMAT,
    "format:check": LINT,
    "lint": LINT,
    "typecheck": LINT,
    "type-check": LINT,
    "build": BUILD,
    "test": TEST,
}


def find_node(tree: Tree) -> Iterator[Found]:
    """The scripts by their usual names, and how packages are installed."""
    package = tree.json("package.json")
    manager = _find_manager(tree, str(package.get("packageManager", "")))
    if any(package.get(key) for key in ("dependencies", "devDependencies", "workspaces")) and tree.ignores(
        "node_modules"
    ):
        lock = tree.first("package-lock.json", "npm-shrinkwrap.json", *_LOCKS)
        yield Found(kind=SETUP, command=_install(tree, manager), place=lock or "package.json", program=manager)
    scripts = as_table(package.get("scripts"))
    for name, kind in _SCRIPTS.items():
        script = scripts.get(name)
        if not isinstance(script, str) or not script.strip() or _UNTESTED in script:
            continue
        looks = kind == FORMAT and _ONLY_LOOKS.search(script)
        command = f"{manager} test" if name == "test" and manager != "bun" else f"{manager} run {name}"
        yield Found(kind=LINT if looks else kind, command=command, place="package.json", program=manager)


def _find_manager(tree: Tree, named: str) -> str:
    said = named.partition("@")[0]
    if said in ("npm", *_LOCKS.values()):
        return said
    return _LOCKS.get(tree.first(*_LOCKS), "npm")


def _install(tree: Tree, manager: str) -> str:
    if manager == "npm":
        locked = tree.first("package-lock.json", "npm-shrinkwrap.json")
        return "npm ci" if locked else "npm install --no-package-lock"
    if manager == "yarn" and "# yarn lockfile v1" not in tree.text("yarn.lock"):
        return "yarn install --immutable"
    return f"{manager} install --frozen-lockfile"
