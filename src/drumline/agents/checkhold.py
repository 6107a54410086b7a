"""How checks are held: what an agent wrote runs in them, so they reach no more than an agent does.

The rule: a check can write to its workspace, and to layers over the person's home, caches and repository of which
nothing stays. The person's checkout is not there: what is found in it would be judged in place of the work.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path

from drumline.agents.jail import Jail
from drumline.agents.kills import was_killed
from drumline.agents.layers import SHOWN, find_way, make_layers
from drumline.core.checkenv import LISTS, CheckEnv
from drumline.isolation.homes import LOGINS, find_homes, find_records, find_sealed
from drumline.isolation.scratch import open_temp
from drumline.isolation.transcripts import OWN
from drumline.ports.jail import Bounds, Outside
from drumline.ports.processes import Ended, Job
from drumline.record import replace

LAYERS, TEMP = "layers", "tmp"
KEPT_IN = (
    *("XDG_CACHE_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CONFIG_HOME"),
    *("CARGO_HOME", "RUSTUP_HOME", "GOPATH", "GOCACHE", "GOMODCACHE", "SCCACHE_DIR", "CCACHE_DIR"),
    *("PIP_CACHE_DIR", "UV_CACHE_DIR", "PYENV_ROOT", "POETRY_CACHE_DIR", "HF_HOME"),
    *("npm_config_cache", "NPM_CONFIG_CACHE", "YARN_CACHE_FOLDER", "PNPM_HOME", "NVM_DIR", "BUN_INSTALL"),
    *("GRADLE_USER_HOME", "MAVEN_USER_HOME", "NUGET_PACKAGES", "DOTNET_CLI_HOME"),
    *("GEM_HOME", "BUNDLE_PATH", "MIX_HOME", "HEX_HOME", "PLAYWRIGHT_BROWSERS_PATH"),
)
"""Variables that say where tools keep what they write, which may be outside of the home."""
CACHES = (
    *("~/.cache", "~/.npm", "~/.yarn", "~/.local/share/pnpm", "~/.bun/install"),
    *("~/.cargo/registry", "~/.cargo/git", "~/go", "~/.m2/repository", "~/.gradle", "~/.nuget/packages"),
    *("~/.gem", "~/.bundle", "~/.mix", "~/.hex"),
)
"""What is granted where no layer can be made, so that tools work as they do for the person."""


class CheckHold:
    """The `Hold` port. Without a `jail` only the environment differs from the person's own.

    `checkout` is the person's, `common` its git directory; `folders` may be written to as well, `hide` is not shown,
    both with `~` and `$NAME`. Only checks that are shown `held_out` see it. `provide` are paths of the checkout
    that they find in their workspace, to be read. `choose_jail` is asked when the first check runs.
    """

    def __init__(
        self,
        environment: CheckEnv,
        *,
        checkout: Path,
        common: Path,
        choose_jail: Callable[[], Jail | None],
        folders: Sequence[str] = (),
        hide: Sequence[str] = (),
        held_out: Sequence[Path] = (),
        provide: Sequence[str] = (),
    ) -> None:
        self._environment = environment
        self._checkout = checkout.resolve()
        self._common = common.resolve()
        self._choose_jail = choose_jail
        self._folders = tuple(folders)
        self._held_out = tuple(held_out)
        self._provide = tuple(provide)
        self._hide = tuple(path.rstrip("/") for path in hide)

    @contextmanager
    def hold(self, job: Job, *, scratch: Path, shown: Sequence[Path] = ()) -> Iterator[Job]:
        """The job in the jail, with layers and a temporary folder that go when the block is left."""
        stripped = self._strip(job, self._environment.unset)
        jail = self._jail
        if jail is None:
            yield stripped
            return
        with open_temp(scratch) as temp:
            own = temp / TEMP
            own.mkdir(mode=OWN)
            prepared = replace(stripped, env={**stripped.env, "TMPDIR": str(own)})
            way = find_way(jail.list_words())
            if way is None:
                yield jail.wrap(prepared, self._bound(job, {}, writable=[scratch, own], shown=shown))
                return
            layers = self._make_layers(job.cwd, temp / LAYERS)
            within = replace(jail, users=(*jail.users, *way.users))
            held = within.wrap(prepared, self._bound(job, layers, writable=[scratch, own], shown=shown))
            yield replace(held, argv=way.lead(layers, held.argv))

    def strip(self, job: Job) -> Job:
        """The job without ways into the checkout; credentials stay, for what is installed may need them."""
        environment = self._environment
        return self._strip(job, [name for name in environment.unset if name not in environment.withheld])

    def find_outside(self, folder: Path) -> Outside | None:
        """The checkout, unless a check works in it; worktrees in it, and what is granted of it, are not meant."""
        ground = self._find_ground(folder)
        if ground == self._checkout:
            return None
        granted = [ground, self._common, *(place.resolve() for place in find_homes(self._folders))]
        return Outside(checkout=self._checkout, granted=[place for place in granted if place != self._checkout])

    def links(self) -> bool:
        """Whether there is a jail, which can show one path in place of another."""
        return self._jail is not None

    def was_killed(self, ended: Ended) -> bool:
        """Whether a check did not end by itself: a jail tells a signal that ended it as an exit code."""
        return ended.killed if self._jail is None else was_killed(ended)

    def _strip(self, job: Job, unset: Sequence[str]) -> Job:
        env = dict(self._environment.changed)
        for name, value in job.env.items():
            # What leads test runners to us stands before what the person has there.
            ours = os.environ.get(name)
            known = name in LISTS and name in env and ours and value.endswith(ours)
            env[name] = value.removesuffix(ours) + env[name] if known and ours else value
        return replace(job, env=env, unset=(*job.unset, *unset))

    @cached_property
    def _jail(self) -> Jail | None:
        jail = self._choose_jail()
        return jail and replace(jail, hide=self._hide)

    def _make_layers(self, workspace: Path, inside: Path) -> dict[Path, Path]:
        """Layers over what tools write to outside of a workspace, but for what is granted."""
        own = [self._find_ground(workspace), *(folder.resolve() for folder in find_homes(self._folders))]
        named = [Path.home(), *(Path(os.environ[name]) for name in KEPT_IN if os.environ.get(name))]
        tools = [one.resolve() for one in named if one.is_absolute()]

        def is_free(folder: Path) -> bool:
            return not any(folder.is_relative_to(granted) for granted in own)

        return make_layers(filter(is_free, tools), inside, apart=filter(is_free, [self._common]))

    def _find_ground(self, folder: Path) -> Path:
        """What a check in this folder writes to: the whole checkout where a flow works in a part of it."""
        real = folder.resolve()
        return self._checkout if real.is_relative_to(self._checkout) else real

    def _bound(
        self, job: Job, layers: Mapping[Path, Path], *, writable: Sequence[Path], shown: Sequence[Path]
    ) -> Bounds:
        workspace, home = self._find_ground(job.cwd), Path.home().resolve()
        granted = () if home in layers else find_homes(CACHES)
        # A flow may work in the checkout itself, and a home may be one.
        elsewhere = not any(place.is_relative_to(self._checkout) for place in (workspace, home))
        return Bounds(
            writable=[workspace, *writable, *granted, *find_homes(self._folders)],
            sealed=find_sealed(workspace),
            layers={folder: place / SHOWN for folder, place in layers.items()},
            readable=[self._common, *shown],
            hidden=[
                *find_records(workspace),
                *find_homes(LOGINS),
                *((self._checkout,) if elsewhere else ()),
                *(folder for folder in self._held_out if folder not in shown),
            ],
            provided=self._find_provided(workspace),
        )

    def _find_provided(self, workspace: Path) -> dict[Path, Path]:
        """What is shown of the checkout in place of what is empty in the workspace."""
        found = {workspace / path: self._checkout / path for path in self._provide}
        return {place: source for place, source in found.items() if is_empty(place) and source.exists()}


def is_empty(place: Path) -> bool:
    """Whether a folder with nothing in it, or a file without content, is at a place, and no link on the way."""
    if Path(os.path.realpath(place)) != place:
        return False
    if place.is_dir():
        return not any(place.iterdir())
    return place.is_file() and place.stat().st_size == 0
