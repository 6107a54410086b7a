"""What checks say about the trees that the work is compared with, and what follows from it.

A check that passes without the work proves nothing about it. The rule: red counts only if the work can explain it;
whatever else makes a check fail leaves its colour unknown, and an unknown colour never raises a level.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import islice

from drumline.core.checklist import arrange_checks
from drumline.core.heldout import HELD_OUT, HIDDEN, SHOWN
from drumline.core.ids import Tree
from drumline.core.judge import is_doubtful, names_new_test
from drumline.core.kinds import CONFIGURED, ENVIRONMENT, EVERYWHERE, find_lander, judges
from drumline.core.plan import Check, Step
from drumline.core.proof import Against, Colour, Compared, Level
from drumline.core.state import RunState
from drumline.core.stepstate import StepState
from drumline.patterns import compile_late

LONGEST = 300.0
"""Seconds: a check that takes longer is run on no other tree than that of the work."""
RECENT = 50
"""How many finished steps are looked at for one that landed the tree in question."""
SHARED = HELD_OUT | EVERYWHERE
"""The sources of checks that no step has as its own."""

_NOTHING = compile_late(
    r"^(?:=+ )?no tests ran in |^NO TESTS RAN|^collected 0 items$|^ERROR: (?:file or directory )?not found: "
    r"|No rule to make target[^\n]*|Missing script: |^No tests? (?:files )?found\b"
    r"|[Nn]o (?:justfile|test files) found|does not contain recipe",
    re.MULTILINE,
)
_NEEDED = compile_late(r"needed by")
"""A file that a target needs is not a target that is missing."""


def finds_nothing(output: str) -> bool:
    """Whether a check failed because there are no tests or there is no target that it could run."""
    found = _NOTHING.search(output)
    return found is not None and not _NEEDED.search(found[0])


def list_counting(checks: Sequence[Check]) -> list[int]:
    """The checks that can show that the work did something: those of the step and its plan, or all if it has none.

    What is held out counts as well, unless an agent could read it.
    """
    own_kind = (n for n, check in enumerate(checks) if check.source != SHOWN and not find_lander(check))
    found = {n: checks[n].source for n in own_kind if judges(checks[n])}
    own = [number for number, source in found.items() if source not in (CONFIGURED, ENVIRONMENT)]
    return own if any(found[number] != HIDDEN for number in own) else list(found)


def choose_base(state: StepState) -> Against:
    """The tree without the work: where the work changed what judges it, that judge belongs to it."""
    return Against.BASE_SOURCE if state.touched else Against.BASE


def list_pending(step: Step, checks: Sequence[Check], state: StepState, run: RunState) -> tuple[int, ...]:
    """The checks that are to be run on the tree without the work before the step lands."""
    if step.not_run or state.void() or state.tree == state.ready:
        return ()  # whatever they say, it is not proved
    told = _list_told(state)
    counting = [n for n in list_counting(checks) if n not in told and not _is_long(n, state)]
    return tuple(n for n in counting if _foretell(checks[n], state, run) is None)


def list_unknown(checks: Sequence[Check], state: StepState, *, last: bool = False) -> tuple[int, ...]:
    """The failing checks of which nobody knows whether they failed before, if that decides whose failure it is."""
    suspects = _list_suspects(checks, state, last=last)
    known = _list_known(checks, state) if suspects else {}
    return tuple(n for n in suspects if n not in known and not _is_long(n, state))


def list_inherited(checks: Sequence[Check], state: StepState, *, last: bool = False) -> list[int]:
    """The checks that fail as they did before the work."""
    suspects = _list_suspects(checks, state, last=last)
    known = _list_known(checks, state) if suspects else {}
    return [n for n in suspects if n in known and is_inherited(known[n])]


def _list_known(checks: Sequence[Check], state: StepState) -> dict[int, Compared]:
    """What these very checks say about the base: with other landed steps, other checks had these numbers."""
    known = state.compared.get(Against.BASE, {})
    return {n: found for n, found in known.items() if n < len(checks) and checks[n].command == found.command}


def look_up(number: int, check: Check, state: StepState, run: RunState) -> Colour | None:
    """What one check says about the tree without the work; None if nobody has looked."""
    found = _list_told(state).get(number)
    return found.colour if found is not None else _foretell(check, state, run)


def _list_told(state: StepState) -> Mapping[int, Compared]:
    """What checks have said about the tree without the work."""
    against = choose_base(state)
    return state.at_first if against is Against.BASE else state.compared.get(against, {})


def _foretell(check: Check, state: StepState, run: RunState) -> Colour | None:
    """What a check that was not run there would say, if the run knows."""
    known = choose_base(state) is Against.BASE and _has_passed(check, state.ready, run)
    return Colour.GREEN if known else None


def list_rejudged(checks: Sequence[Check], state: StepState) -> tuple[int, ...]:
    """The checks that the judge of the base has to be asked about and was not."""
    if not is_doubtful(state.touched) or state.void():
        return ()
    known = state.compared.get(Against.BASE_JUDGE, {})
    every = [n for n, check in enumerate(checks) if judges(check) and n not in known]
    passed = [n for n in every if state.proves(n) and not _is_long(n, state)]
    return tuple(n for n in passed if not names_new_test(checks[n].command, state.touched))


def foresee(number: int, step: Step, checks: Sequence[Check], state: StepState, run: RunState) -> list[Against]:
    """The trees that a check will be compared on if it passes on the work, as far as nobody has looked there.

    Only where the work changed what judges it: what is asked of the base itself is known before there is work.
    """
    check = checks[number]
    if not state.touched or not judges(check):
        return []
    asked = is_doubtful(state.touched) and not names_new_test(check.command, state.touched)
    found = [Against.BASE_JUDGE] if asked and number not in state.compared.get(Against.BASE_JUDGE, {}) else []
    counts = not step.not_run and number in list_counting(checks)
    return [*found, Against.BASE_SOURCE] if counts and look_up(number, check, state, run) is None else found


def _list_suspects(checks: Sequence[Check], state: StepState, *, last: bool) -> list[int]:
    """The failing checks, if the step may have found them so: none is its own, and all judge the work.

    What is held out is about all of the plan: the `last` step has to pass it.
    """
    shared = EVERYWHERE if last else SHARED
    failing = [number for number, verdict in sorted(state.verdicts.items()) if verdict.ended.failed]
    if not failing:
        return []
    own = any(checks[n].source not in shared and not find_lander(checks[n]) for n in failing if n < len(checks))
    return [] if own or len(state.faults()) < len(failing) else failing


def is_inherited(found: Compared) -> bool:
    """Whether nothing fails that did not fail before the work, as far as the tests of a check tell."""
    return found.colour is Colour.RED and not (found.difference is not None and found.difference.broken)


def _is_long(number: int, state: StepState) -> bool:
    verdict = state.verdicts.get(number)
    return verdict is not None and verdict.ended.seconds > LONGEST


def _has_passed(check: Check, tree: Tree | None, run: RunState) -> bool:
    """Whether a step landed this very tree with this check: what proves it is the verdict for who begins there."""
    for finished in islice(reversed(run.finished.values()), RECENT):
        if finished.tree == tree and finished.level in (Level.PROVED, Level.KEPT):
            step = run.plan.by_id.get(finished.step)
            judged = {each.command for each in arrange_checks(run, step).checks} if step else set()
            passed = finished.checks_passed == finished.checks_total
            return passed and (check.source in HELD_OUT or check.command in judged)
    return False
