"""The folders that a program keeps its own things in. The rule: a variable that is empty counts as one that is not set.

Otherwise `$NAME/` would be the root of the machine, and a jail that grants it would hold nobody.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from drumline.patterns import compile_late
from drumline.record import Record

VARIABLE = re.compile(r"\$\{?(\w+)\}?")
FOLDERS = ("hooks", "info", "modules", "worktrees")
SEALED = ("drumline", "config", "config.worktree", *FOLDERS)
"""In the folder `.git` of a checkout: records of runs, and what names programs for git to start."""
GITDIR = "gitdir: "
SUBMODULES = ("modules/*/config", "modules/*/*/config", "modules/*/modules/*/config")
"""In a repository: their configurations; a submodule's name may have a slash, and it may have some of its own."""
PLACE = compile_late(r'^[ \t]*worktree[ \t]*=[ \t]*"?([^"\n]+?)"?[ \t]*$', re.MULTILINE)
"""Where the files of a submodule are, from its repository."""
VERDICTS = "bases"
"""The folder among our records with what checks said about trees."""
LOGINS = (
    *("~/.claude/.credentials.json", "$CLAUDE_CONFIG_DIR/.credentials.json"),
    *("~/.codex/auth.json", "$CODEX_HOME/auth.json", "~/.codex/.credentials.json", "$CODEX_HOME/.credentials.json"),
    *("~/.gemini/oauth_creds.json", "$GEMINI_CLI_HOME/.gemini/oauth_creds.json"),
    *("~/.gemini/mcp-oauth-tokens.json", "$GEMINI_CLI_HOME/.gemini/mcp-oauth-tokens.json"),
    *("~/.gemini/a2a-oauth-tokens.json", "$GEMINI_CLI_HOME/.gemini/a2a-oauth-tokens.json"),
    *("~/.qwen/oauth_creds.json", "$QWEN_HOME/oauth_creds.json"),
    *("~/.qwen/mcp-oauth-tokens.json", "$QWEN_HOME/mcp-oauth-tokens.json"),
    *("~/.local/share/opencode/auth.json", "$XDG_DATA_HOME/opencode/auth.json"),
    *("~/.local/share/opencode/mcp-auth.json", "$XDG_DATA_HOME/opencode/mcp-auth.json"),
    *("~/.config/goose", "$XDG_CONFIG_HOME/goose", "$GOOSE_PATH_ROOT/config"),
    *("~/.copilot/config.json", "$COPILOT_HOME/config.json"),
    *("~/.config/github-copilot", "$XDG_CONFIG_HOME/github-copilot"),
)
"""What agent programs keep tokens in: each sees its own, in its private home, and not those of the others."""


class Home(Record):
    """A folder in which an agent program has its settings, logins and sessions, and what may come back from a copy.

    `places` say where it is, with `~` and `$NAME`; the first whose variables are set counts, and one that ends with a
    slash is made. `inside` is the path of the private copy below a folder of the attempt; `variable` moves the program
    to the first part of that path where no jail can show the copy at the home's own place.

    `tokens` are patterns of JSON files in which a refreshed token is written back. `sessions` are folders that are kept
    with the run, so that a session outlives its attempt; `returned` are patterns of files in them that the user's home
    gets, too, where `{slug}` stands for the workspace. `omitted` are names that are not copied: what is large, or is of
    no use to others. `beside` are files elsewhere that belong into the home: the name in it, and the place. `env` are
    variables that the program needs in a private home.
    `apart` says that all sessions are in one database: each attempt then has its own, until it is gone on with.

    `keyring` says that a login may be in a keyring, under a name made from the place: then the home is moved only if
    it has a file with tokens.

    One that is `kept` stays with the run as a whole, for programs of which nothing is known.
    """

    places: tuple[str, ...]
    inside: str = ""
    variable: str = ""
    tokens: tuple[str, ...] = ()
    sessions: tuple[str, ...] = ()
    returned: tuple[str, ...] = ()
    omitted: tuple[str, ...] = ()
    beside: tuple[tuple[str, str], ...] = ()
    env: tuple[tuple[str, str], ...] = ()
    apart: bool = False
    keyring: bool = False
    kept: bool = False


def describe_home(home: Home | str) -> Home:
    """A home of which only the place is known: it is kept with the run, and nothing is written back."""
    if isinstance(home, Home):
        return home
    return Home(places=(home,), inside=re.sub(r"\W+", "-", home).strip("-"), kept=True)


def find_sealed(workspace: Path) -> list[Path]:
    """What of git a program that may write to a workspace must not: what makes git start programs, and our records.

    In a worktree that is the file that leads to the repository. In a whole checkout it may still commit; such files of
    its submodules are sealed, since `git status` starts a git in each. Folders that are missing there are made: only
    what is there can be sealed, and git does not mind an empty one.
    """
    git = workspace / ".git"
    if not git.is_dir():
        return [git] if git.is_file() else []
    for name in FOLDERS:
        with suppress(OSError):
            (git / name).mkdir(exist_ok=True)
    return [*(path for name in SEALED if (path := git / name).exists()), *_find_pointers(workspace)]


def _find_pointers(workspace: Path) -> Iterator[Path]:
    """The files by which the submodules of a checkout lead to their repositories, which say where the files are."""
    for config in [path for pattern in SUBMODULES for path in (workspace / ".git").glob(pattern)]:
        with suppress(OSError):
            said = PLACE.search(config.read_text(encoding="utf-8", errors="surrogateescape"))
            pointer = Path(os.path.realpath(config.parent / said[1])) / ".git" if said else None
            if pointer and pointer.is_file() and pointer.is_relative_to(os.path.realpath(workspace)):
                yield pointer


def find_repository(workspace: Path) -> list[Path]:
    """The checkout that a worktree belongs to, or its repository where that has none: git needs it to be readable."""
    found = _find_common(workspace)
    return [repository.parent if repository.name == ".git" else repository for repository in found]


def _find_common(workspace: Path) -> list[Path]:
    """The repository that a worktree belongs to."""
    try:
        text = (workspace / ".git").read_text(encoding="utf-8", errors="surrogateescape")
    except OSError:
        return []
    if not text.startswith(GITDIR):
        return []
    own = workspace / text.removeprefix(GITDIR).strip()
    # REPOSITORY/worktrees/NAME, where the repository is the folder `.git` of a checkout or stands alone.
    return [own.parent.parent]


def find_records(workspace: Path) -> list[Path]:
    """Our own records: the journal, prompts, logs and private homes of all steps, and what checks said about trees.

    The locks of drivers are among them: who may only read a file can hold its lock as well.
    """
    git = workspace / ".git"
    return [common / "drumline" for common in ([git] if git.is_dir() else _find_common(workspace))]


def find_named(words: Iterable[str]) -> list[Path]:
    """The files and folders that the words of a command name, as a word or behind an equals sign."""
    found = (Path(part) for word in words for part in (word, word.partition("=")[2]) if part.startswith("/"))
    return [path for path in found if "\0" not in str(path) and path.exists() and not path.is_socket()]


def find_homes(homes: Sequence[str]) -> list[Path]:
    """Those of the folders, with `~` and `$NAME`, that are there; one whose name ends with a slash is made.

    What is not there could not be made from inside a jail.
    """
    return [path for home in homes if (path := _find(home))]


def find_place(home: Home) -> Path | None:
    """Where the user's own home is, as the kernel sees it; None where there is none."""
    known = (place for place in home.places if all(os.environ.get(name) for name in VARIABLE.findall(place)))
    path = _find(next(known, ""))
    # A jail cannot mount over a place that a link leads to.
    return path.resolve() if path else None


def _find(home: str) -> Path | None:
    if not home or not all(os.environ.get(name) for name in VARIABLE.findall(home)):
        return None
    path = Path(os.path.expandvars(home)).expanduser()
    if path.is_absolute() and home.endswith("/"):
        path.mkdir(parents=True, exist_ok=True)
    return path if path.is_absolute() and path.exists() else None
