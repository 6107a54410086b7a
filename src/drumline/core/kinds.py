"""Which commands judge a step, and in which order: by their kinds, and by who named them.

The rule: checks run as format, lint, build, test, then the step's own verification, then what judges every step. Of a
kind only the commands of one source count: the environment before the step, the step before the plan, the plan before
the configuration, that before what was found. A step's own verification always runs.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from drumline.core.plan import Check
from drumline.core.vocabulary import CheckKind
from drumline.record import Record, replace

ENVIRONMENT = "environment"
"""The source of a command that a variable names for one kind, for all steps of a run."""
PLAN = "plan"
"""The source of a command that the plan names for one kind, for all its steps."""
FINALLY = "final"
"""The source of commands of the plan that must succeed after its last step."""
CONFIGURED = "config"
"""The source of checks that judge every step because the configuration says so."""
DETECTED = "detected"
"""The source of checks that nobody wrote down as such."""
_LANDED = "landed "
"""What the source of a check begins with that judges work because a landed step has it, before the name of that."""
EVERYWHERE = frozenset({ENVIRONMENT, PLAN, CONFIGURED})
"""The sources of checks that judge all steps alike."""
NAMED = (CheckKind.FORMAT, CheckKind.LINT, CheckKind.BUILD, CheckKind.TEST)
"""The kinds that commands can be named for, in the order in which they run."""
VARIABLES: Mapping[CheckKind, str] = {kind: f"{kind.upper()}_CMD" for kind in NAMED}
"""The variables of the environment that name a command for a kind."""
FIELDS: Mapping[CheckKind, str] = {kind: f"{kind}_cmd" for kind in NAMED}
"""The fields of a plan's files that do."""


class Arranged(Record):
    """The checks of a step in the order in which they run, and the commands that lost to another source's."""

    checks: tuple[Check, ...] = ()
    lost: tuple[Check, ...] = ()


def arrange(own: Sequence[Check], shared: Sequence[Check]) -> Arranged:
    """Order a step's own checks and those for all steps; a command that both name runs once, as the step's."""
    every = [*own, *shared]
    kept: list[Check] = []
    lost: list[Check] = []
    for kind in NAMED:
        of = [check for check in every if check.kind is kind]
        first = min((_rank(check) for check in of), default=0)
        kept += [check for check in of if _rank(check) == first]
        lost += [check for check in of if _rank(check) != first]
    kinds = {check.command: check.kind for check in kept}
    verified = [check for check in every if check.kind is CheckKind.OWN and check.command not in kinds]
    doubled = {check.command: check for check in own if check.kind is CheckKind.OWN and check.command in kinds}
    kept = [replace(doubled.get(check.command, check), kind=check.kind) for check in kept]
    return Arranged(checks=(*kept, *verified), lost=tuple(check for check in lost if check.command not in kinds))


def judges(check: Check) -> bool:
    """Whether a check says something about the work; a formatter only changes its layout."""
    return check.kind is not CheckKind.FORMAT


def name_lander(step: str) -> str:
    """The source of a check that judges work because a landed step that shares files with it has it."""
    return f"{_LANDED}{step}"


def find_lander(check: Check) -> str:
    """The landed step whose check it is; empty if it judges the work for another reason."""
    return check.source.removeprefix(_LANDED) if is_landers(check.source) else ""


def is_landers(source: str) -> bool:
    """Whether a check with this source judges work because a landed step has it."""
    return source.startswith(_LANDED)


def name_kinds(commands: Mapping[str, object], source: str, names: Mapping[CheckKind, str]) -> tuple[Check, ...]:
    """The commands that a source names for kinds, each under its name there; what is not a text does not count."""
    found = ((kind, commands.get(names[kind])) for kind in NAMED)
    return tuple(
        Check(command=text.strip(), source=source, kind=kind)
        for kind, text in found
        if isinstance(text, str) and text.strip()
    )


def list_commands(checks: Iterable[Check]) -> tuple[str, ...]:
    """The commands of those that judge, each once."""
    return tuple(dict.fromkeys(check.command for check in checks if judges(check)))


def _rank(check: Check) -> int:
    ranks = {ENVIRONMENT: 0, PLAN: 2, CONFIGURED: 3, DETECTED: 4}
    return ranks.get(check.source, 1)
