"""What of a person's environment a check sees. The rule: nothing that looks like a credential, and no way by which
code of the person's checkout is found in place of the code that is judged.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Mapping, Sequence
from fnmatch import fnmatchcase

from drumline.core.redaction import NAMES
from drumline.patterns import compile_late
from drumline.record import Record, field

LISTS = ("PATH", "PYTHONPATH", "NODE_PATH")
"""Variables with folders in which programs and modules are looked for."""
SINGLE = ("VIRTUAL_ENV",)
"""Variables with one such folder."""
WHERE = ("PWD", "OLDPWD")
"""Where Drumline was started; a shell sets its own."""
_MORE = compile_late(
    r"PASSWORD|PASSWD|AUTH_?TOKEN|CREDENTIALS?$|_AUTH$|^SSH_AUTH_SOCK$|^GPG_AGENT_INFO$"
    r"|^AWS_PROFILE$|^CLAUDE_CODE_USE_|^GOOGLE_GENAI_USE_VERTEXAI$",
    re.IGNORECASE,
)


class CheckEnv(Record):
    """What is taken from the environment: variables that are not set, and lists of folders as they are instead.

    `withheld` are the names that look like credentials, `left_out` the folders of the checkout by variable.
    """

    unset: tuple[str, ...] = ()
    changed: Mapping[str, str] = field(default_factory=dict)
    withheld: tuple[str, ...] = ()
    left_out: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


def looks_like_credential(name: str) -> bool:
    """Whether a variable of this name may hold a secret, or lead to one."""
    return bool(NAMES.search(name) or _MORE.search(name))


def choose_environment(
    environ: Mapping[str, str],
    *,
    allowed: Sequence[str] = (),
    checkout: str = "",
    resolve: Callable[[str], str] = posixpath.normpath,
) -> CheckEnv:
    """What checks do not see of an environment; variables that an entry of `allowed` matches stay as they are.

    `resolve` tells where a path leads to.
    """

    def is_inside(folder: str) -> bool:
        # An empty entry, or one such as `bin`, is looked for where a check runs: in the tree that it judges.
        return bool(checkout) and posixpath.isabs(folder) and f"{resolve(folder)}/".startswith(f"{checkout}/")

    open_ = {name: value for name, value in environ.items() if not any(fnmatchcase(name, one) for one in allowed)}
    withheld = sorted(name for name in open_ if looks_like_credential(name))
    lists = {name: open_[name].split(":") for name in LISTS if name in open_}
    left_out = {name: tuple(filter(is_inside, folders)) for name, folders in lists.items()}
    alone = {name: (open_[name],) for name in SINGLE if name in open_ and is_inside(open_[name])}
    changed = {name: ":".join(one for one in lists[name] if not is_inside(one)) for name in lists if left_out[name]}
    return CheckEnv(
        unset=(*withheld, *alone, *WHERE),
        changed=changed,
        withheld=tuple(withheld),
        left_out={name: folders for name, folders in (left_out | alone).items() if folders},
    )


def tell_left_out(left_out: Mapping[str, Sequence[str]]) -> str:
    """What to say of folders of the checkout in which checks do not look; empty if there are none."""
    if not left_out:
        return ""
    named = "; ".join(f"{name}: {', '.join(folders)}" for name, folders in left_out.items())
    return (
        f"checks do not look for programs and modules in your checkout ({named}): it is not the tree that they judge; "
        "if they need what is installed there, configure a setup command"
    )
