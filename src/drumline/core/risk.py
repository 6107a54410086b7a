"""Why work on a step deserves a reviewer: facts that the engine knows about its change. Pure.

The rule: a reason is a fact about files, lines, checks or the plan, and no model says it. What changes documentation
only has no reason but the flag of its step.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from drumline.core.plaintext import count_noun
from drumline.patterns import compile_late
from drumline.record import Record

MANY_FILES = 5
"""From how many files on a change is reviewed for its size."""

_PROSE = frozenset({".md", ".mdx", ".rst", ".txt", ".adoc"})
_NAMES: Mapping[str, frozenset[str]] = {
    "authentication": frozenset({"auth", "authn", "authz", "login", "oauth", "permissions", "acl", "rbac", "sso"}),
    "cryptography": frozenset({"crypto", "cipher", "encryption", "signing", "keystore", "tls"}),
    "payments": frozenset({"payment", "payments", "billing", "checkout", "invoice", "invoices"}),
    "migrations": frozenset({"migration", "migrations", "alembic", "flyway", "liquibase"}),
    "public API": frozenset({"openapi", "swagger", "graphql", "api"}),
    "concurrency": frozenset({"concurrency", "locking", "mutex", "scheduler"}),
}
"""Words of a path that stand for a boundary."""
_ENDINGS: Mapping[str, str] = {".proto": "public API", ".graphql": "public API", ".sql": "migrations"}
_SYMBOLS: Mapping[str, re.Pattern[str]] = {
    "authentication": compile_late(r"\b(?:authenticate|authori[sz]e|check_password|set_password|verify_token)\w*\b"),
    "cryptography": compile_late(r"\b(?:hmac|bcrypt|scrypt|argon2|Fernet|createCipheriv|crypto\.subtle|PBKDF2)\b"),
    "payments": compile_late(r"\b(?:stripe|paypal|charge_card|PaymentIntent)\b"),
    "migrations": compile_late(r"\b(?:ALTER|DROP|CREATE)\s+TABLE\b"),
    "concurrency": compile_late(
        r"\b(?:threading\.|asyncio\.(?:Lock|Semaphore|Event)|Mutex\b|RwLock\b|sync\.(?:Mutex|RWMutex|WaitGroup)"
        r"|synchronized\b|go func\b|select_for_update|AtomicInteger)"
    ),
}
"""Added lines that stand for a boundary."""
_WORD = compile_late(r"[A-Z]?[a-z0-9]+|[A-Z]+(?![a-z])")


class Change(Record):
    """What is known of the work on one step. `lines` are those that it adds, `flag` is what its plan says of review,
    `foreign` are the files of other steps that it changes.
    """

    files: tuple[str, ...]
    lines: tuple[str, ...] = ()
    flag: str = ""
    judges: tuple[str, ...] = ()
    survivors: int = 0
    foreign: tuple[str, ...] = ()


def list_reasons(change: Change) -> tuple[str, ...]:
    """Why another agent looks at the work before it lands; empty if nothing speaks for it."""
    flagged = (f"its plan asks for a review ({change.flag})",) if change.flag else ()
    if is_documentation(change.files):
        return flagged
    files = [path for path in change.files if not is_prose(path)]
    size = (f"it changes {count_noun(len(files), 'file')}",) if len(files) >= MANY_FILES else ()
    judges = (f"it changes what judges it ({', '.join(change.judges[:3])})",) if change.judges else ()
    missed = (f"its tests do not notice {count_noun(change.survivors, 'mutant')}",) if change.survivors else ()
    foreign = (f"it changes files of other steps ({', '.join(change.foreign[:3])})",) if change.foreign else ()
    return (*flagged, *size, *_list_boundaries(files, change.lines), *judges, *missed, *foreign)


def is_prose(path: str) -> bool:
    """Whether a file is documentation and nothing that is executed."""
    return _find_ending(path) in _PROSE


def _find_ending(path: str) -> str:
    name = path.rpartition("/")[2]
    stem, dot, ending = name.rpartition(".")
    return f".{ending.lower()}" if stem and dot else ""


def is_documentation(files: Iterable[str]) -> bool:
    """Whether all of these files are documentation."""
    return all(is_prose(path) for path in files)


def _list_boundaries(files: Iterable[str], lines: Iterable[str]) -> list[str]:
    """The boundaries that a change touches, each with the first file or line that shows it."""
    found: dict[str, str] = {}
    for path in files:
        words = {word.lower() for word in _WORD.findall(path)}
        named = [name for name, known in _NAMES.items() if known & words]
        ending = _ENDINGS.get(_find_ending(path))
        for name in (*named, *([ending] if ending else [])):
            found.setdefault(name, path)
    for line in lines:
        for name, pattern in _SYMBOLS.items():
            if name not in found and (seen := pattern.search(line)):
                found[name] = f"`{seen.group(0).strip()}`"
    return [f"it touches {name} ({shown})" for name, shown in found.items()]
