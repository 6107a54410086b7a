"""What a jail does not show: places of sockets, credentials, browser profiles; and what has to stay visible there.

The rule: a place is hidden for what it is for, not for what is in it. `hide` and `folders` of a profile adjust it.
"""

from __future__ import annotations

import os
import stat
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path

from drumline.isolation.homes import LOGINS, SUBMODULES, find_repository
from drumline.ports.processes import Job

SHARED = ("/tmp", "/var/tmp", "/run", "/var/run", "/dev/shm")  # noqa: S108 - nothing is written there: they are replaced
RUNTIME = "XDG_RUNTIME_DIR"
KEPT = ("/run/current-system", "/run/booted-system", "/run/opengl-driver", "/etc/resolv.conf")
"""What stays visible: how NixOS finds its programs, and how names of machines are looked up."""
OWN = ("HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME", "XDG_STATE_HOME", "VIRTUAL_ENV")
SOURCES = Path(__file__).resolve().parents[2]

CREDENTIALS = (
    # other machines
    ".ssh",
    ".netrc",
    ".git-credentials",
    ".config/git/credentials",
    ".config/gh",
    ".config/glab-cli",
    ".config/hub",
    ".config/tea",
    # clouds, clusters and containers
    ".aws",
    ".azure",
    ".config/gcloud",
    ".boto",
    ".s3cfg",
    ".config/rclone",
    ".oci",
    ".aliyun",
    ".bluemix",
    ".config/doctl",
    ".config/hcloud",
    ".config/scw",
    ".fly",
    ".config/.wrangler",
    ".config/netlify",
    ".local/share/com.vercel.cli",
    ".kube",
    ".docker",
    ".config/containers/auth.json",
    ".config/helm",
    ".terraform.d/credentials.tfrc.json",
    ".pulumi/credentials.json",
    ".vault-token",
    ".databrickscfg",
    ".snowflake",
    # keys, passwords, mail
    ".gnupg",
    ".password-store",
    ".config/sops",
    ".config/op",
    ".config/Bitwarden",
    ".config/Bitwarden CLI",
    ".config/keepassxc",
    ".local/share/keyrings",
    ".local/share/kwalletd",
    ".thunderbird",
    # registries and databases
    ".cargo/credentials",
    ".cargo/credentials.toml",
    ".gem/credentials",
    ".local/share/uv/credentials",
    ".config/pypoetry/auth.toml",
    ".composer/auth.json",
    ".config/composer/auth.json",
    ".m2/settings-security.xml",
    ".cache/huggingface/token",
    ".kaggle",
    ".pgpass",
    ".mylogin.cnf",
    # browsers
    ".mozilla",
    ".librewolf",
    ".config/google-chrome",
    ".config/google-chrome-beta",
    ".config/chromium",
    ".config/BraveSoftware",
    ".config/microsoft-edge",
    ".config/vivaldi",
    ".config/opera",
    "snap/firefox",
    "snap/chromium",
    ".var/app/org.mozilla.firefox",
    ".var/app/org.chromium.Chromium",
    ".var/app/com.google.Chrome",
    ".var/app/com.brave.Browser",
    # what was typed
    ".bash_history",
    ".zsh_history",
    ".local/share/fish/fish_history",
    ".psql_history",
    ".mysql_history",
)
"""In a home: files and folders that are for secrets alone."""
CONFIGURING = (
    ".npmrc",
    ".yarnrc",
    ".yarnrc.yml",
    ".bunfig.toml",
    ".pip/pip.conf",
    ".config/pip/pip.conf",
    ".pypirc",
    ".config/uv/uv.toml",
    ".condarc",
    ".gemrc",
    ".cargo/config.toml",
    ".gradle/gradle.properties",
    ".m2/settings.xml",
    ".nuget/NuGet/NuGet.Config",
    ".config/NuGet/NuGet.Config",
    ".terraformrc",
    ".my.cnf",
    ".curlrc",
    ".wgetrc",
    ".gitconfig",
    ".config/git/config",
)
"""In a home: files that configure programs and may hold secrets, too."""
OF_OTHERS = (*CREDENTIALS, *CONFIGURING, *(name[2:] for name in LOGINS if name.startswith("~/")))
"""In the home of somebody else: nothing there is needed, neither settings nor logins of agent programs."""
ELSEWHERE: Mapping[str, str] = {
    ".config/": "XDG_CONFIG_HOME",
    ".local/share/": "XDG_DATA_HOME",
    ".cache/": "XDG_CACHE_HOME",
}
POINTERS = (
    "AWS_SHARED_CREDENTIALS_FILE",
    "AZURE_CONFIG_DIR",
    "CLOUDSDK_CONFIG",
    "DOCKER_CONFIG",
    "GH_CONFIG_DIR",
    "GNUPGHOME",
    "KUBECONFIG",
    "NETRC",
    "PASSWORD_STORE_DIR",
    "PGPASSFILE",
)
"""Variables that say where such files and folders are instead."""
SHOWN_FOR: Mapping[str, str] = {
    "AWS_PROFILE": ".aws",
    "CLAUDE_CODE_USE_BEDROCK": ".aws",
    "CLAUDE_CODE_USE_VERTEX": ".config/gcloud",
    "GOOGLE_GENAI_USE_VERTEXAI": ".config/gcloud",
}
"""Variables by which an agent uses a cloud's models, and where its credentials for that are."""
OF_ROOT = ("/etc/shadow", "/etc/shadow-", "/etc/gshadow", "/etc/gshadow-", "/sys/kernel/debug", "/sys/kernel/tracing")
PASSWD, FIRST = Path("/etc/passwd"), 1000
"""Where users are listed, read as a text: a directory service may take seconds. People have numbers from here on."""
HOST_KEYS = "ssh_host_*_key"
NEIGHBOURS = 1000
"""How many folders beside a checkout are looked at."""


def find_areas() -> list[Path]:
    """Folders that a jail has of its own: those for temporary files, for sockets and for shared memory."""
    runtime = os.environ.get(RUNTIME, "")
    found = [Path(place) for place in (*SHARED, tempfile.gettempdir(), runtime) if place]
    real = dict.fromkeys(Path(os.path.realpath(place)) for place in found)
    home = Path.home()
    return [place for place in real if str(place) in SHARED or not home.is_relative_to(place)]


def find_needed(job: Job) -> list[Path]:
    """What a program finds even where an area lies over it: itself, its home, and what its variables name."""
    ours = _choose(os.environ, job.keep)
    environ = {name: value for name, value in ours.items() if name not in job.unset} | dict(job.env)
    named = [*KEPT, *(environ[name] for name in OWN if environ.get(name)), *environ.get("PATH", "").split(os.pathsep)]
    named += [str(SOURCES), sys.prefix, sys.base_prefix, *environ.values()]
    found = [Path(text) for text in dict.fromkeys(named) if text.startswith("/") and "\0" not in text]
    program = Path(job.argv[0])
    if program.is_absolute():
        found += [program.parent, Path(os.path.realpath(program)).parent]
    found += [Path.home() / place for name, place in SHOWN_FOR.items() if environ.get(name)]
    return [path for path in found if _is_plain(path)]


def find_hidden() -> Iterator[Path]:
    """What there is for secrets alone: of the user, and of everybody whom root could read."""
    yield from _list_places(Path.home(), CREDENTIALS)
    pointed = (place for name in POINTERS for place in os.environ.get(name, "").split(os.pathsep) if place)
    yield from _list_present(pointed)
    if os.geteuid() == 0:
        yield from _list_present(OF_ROOT)
        yield from Path("/etc/ssh").glob(HOST_KEYS)
        for home in list_homes(PASSWD):
            yield from _list_present(f"{home}/{name}" for name in OF_OTHERS)


def list_homes(passwd: Path) -> list[Path]:
    """The homes of other people, by this list of users and below `/home`; services have low numbers and keep no keys.

    The user's own home may be among them: `sudo` can keep `HOME`, and its settings and logins are needed.
    """
    try:
        rows = [line.split(":") for line in passwd.read_text(encoding="utf-8", errors="surrogateescape").splitlines()]
    except OSError:
        rows = []
    people = [row for row in rows if len(row) == 7 and row[2].isdecimal() and int(row[2]) >= FIRST]
    named = (Path(row[5]) for row in people if row[5].startswith("/"))
    own = os.path.realpath(Path.home())
    homes = (home for home in dict.fromkeys((*Path("/home").glob("*"), *named)) if home.name)
    # Not `Path.is_dir`: it raises where root may not look, as at a home that its user has mounted.
    return [home for home in homes if os.path.isdir(home) and os.path.realpath(home) != own]  # noqa: PTH112


def find_configuring() -> Iterator[Path]:
    """The user's files that configure programs and may hold secrets."""
    yield from _list_places(Path.home(), CONFIGURING)


def find_git_configs(workspace: Path) -> Iterator[Path]:
    """The configuration of the repository that a workspace belongs to, and of repositories beside it."""
    top = next(iter(find_repository(workspace)), workspace)
    try:
        beside = sorted(top.parent.iterdir())[:NEIGHBOURS]
    except OSError:
        beside = []
    for folder in (top, *beside):
        for git in (folder / ".git", folder):
            own = [git / "config", git / "config.worktree"] if _is_git(git / "config") else []
            inner = [path for pattern in SUBMODULES for path in git.glob(pattern)] if own else []
            yield from (path for path in (*own, *inner) if _is_git(path))


def _is_git(config: Path) -> bool:
    return (config.parent / "HEAD").is_file() and config.is_file()


def _list_places(home: Path, names: Sequence[str]) -> Iterator[Path]:
    """Where files of a home are, also where the user keeps a kind of them elsewhere."""
    moved = [(start, place) for start, variable in ELSEWHERE.items() if (place := os.environ.get(variable))]
    for name in names:
        other = (f"{place}/{name.removeprefix(start)}" for start, place in moved if name.startswith(start))
        yield from _list_present((f"{home}/{name}", *other))


def _list_present(places: Iterable[str]) -> Iterator[Path]:
    """Those that are there: few of the many that are known, and a path costs more than a look."""
    return (Path(place) for place in places if os.path.lexists(place))


def _choose(environ: Mapping[str, str], keep: Sequence[str] | None) -> dict[str, str]:
    if keep is None:
        return dict(environ)
    return {name: value for name, value in environ.items() if any(fnmatchcase(name, kept) for kept in keep)}


def _is_plain(path: Path) -> bool:
    """Whether there is a file or a folder; a socket that a variable names is not granted by that."""
    try:
        kind = path.stat().st_mode
    except OSError:
        return False
    return stat.S_ISDIR(kind) or stat.S_ISREG(kind)
