"""What a run taught: fixes that were logged, lessons that came and went."""

from __future__ import annotations

from drumline.core.acceptance import list_red_steps
from drumline.core.events import StepFinished
from drumline.core.plaintext import count_noun
from drumline.core.state import RunState
from drumline.record import Record


class Learned(Record):
    """The figures, with how many of the `logged` fixes `worked`.

    A `clean` run needed no fix, no corrective step, no work after a review, its head is green, and every agent
    that was asked answered so that it could be used.
    """

    logged: int
    worked: int
    promoted: tuple[str, ...]
    demoted: tuple[str, ...]
    clean: bool


def describe_learned(run: RunState) -> Learned:
    """What the run's finished steps say."""
    finished = run.finished.values()
    changed = run.lessons
    return Learned(
        logged=sum(len(one.learned) for one in finished),
        worked=sum(fix.success for one in finished for fix in one.learned),
        promoted=changed.promoted if changed else (),
        demoted=changed.demoted if changed else (),
        clean=bool(finished)
        and not run.corrections
        and not any(map(_is_troubled, finished))
        and not list_red_steps(run),
    )


def _is_troubled(finished: StepFinished) -> bool:
    """Whether its work was sent back, or something of its protocol did not come about."""
    return bool(finished.fixes or finished.reviews or finished.unread or finished.unreviewed)


def learned_lines(found: Learned) -> list[str]:
    """The same for people; nothing if there is nothing to tell."""
    worked = f"{found.worked or 'none'} of which worked" if found.logged != 1 else _tell_only(worked=bool(found.worked))
    lines = [f"{count_noun(found.logged, 'fix', 'es')} logged, {worked}"] if found.logged else []
    lines += [f"promoted: {name} (drumline lessons show {name})" for name in found.promoted]
    return lines + [f"demoted: {name}, it did not help" for name in found.demoted]


def _tell_only(*, worked: bool) -> str:
    return "which worked" if worked else "which did not work"


def learned_json(found: Learned) -> dict[str, object]:
    """The same for programs."""
    return {
        "logged": found.logged,
        "worked": found.worked,
        "promoted": list(found.promoted),
        "demoted": list(found.demoted),
        "clean": found.clean,
    }
