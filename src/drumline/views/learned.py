"""What a run taught: fixes that were logged, lessons that came and went."""

from __future__ import annotations

from drumline.core.acceptance import list_red_steps
from drumline.core.state import RunState
from drumline.record import Record


class Learned(Record):
    """The figures; a `clean` run needed no fix, no corrective step, no work after a review, and its head is green."""

    logged: int
    promoted: tuple[str, ...]
    demoted: tuple[str, ...]
    clean: bool


def describe_learned(run: RunState) -> Learned:
    """What the run's finished steps say."""
    finished = run.finished.values()
    changed = run.lessons
    return Learned(
        logged=sum(len(one.learned) for one in finished),
        promoted=changed.promoted if changed else (),
        demoted=changed.demoted if changed else (),
        clean=bool(finished)
        and not run.corrections
        and not any(one.fixes or one.reviews for one in finished)
        and not list_red_steps(run),
    )


def learned_lines(found: Learned) -> list[str]:
    """The same for people; nothing if there is nothing to tell."""
    fixes = "fix" if found.logged == 1 else "fixes"
    lines = [f"{found.logged} {fixes} logged"] if found.logged else []
    lines += [f"promoted: {name} (drumline lessons show {name})" for name in found.promoted]
    return lines + [f"demoted: {name}, it did not help" for name in found.demoted]


def learned_json(found: Learned) -> dict[str, object]:
    """The same for programs."""
    return {
        "logged": found.logged,
        "promoted": list(found.promoted),
        "demoted": list(found.demoted),
        "clean": found.clean,
    }
