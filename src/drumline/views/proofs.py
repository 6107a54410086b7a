"""The level of a step in words and as data. The rule: every view shows the one that the journal has."""

from __future__ import annotations

from drumline.core.ids import StepId
from drumline.core.proof import Level, Proof
from drumline.core.state import RunState


def find_proof(run: RunState, step: StepId) -> Proof | None:
    """How much is known about a step; None if it is not done."""
    finished = run.finished.get(step)
    if finished is not None:
        return finished.proof
    return Proof(level=Level.DECLARED) if step in run.declared else None


def describe_proof(proof: Proof) -> str:
    """The level with its reasons, in one word each."""
    if proof.level is Level.DECLARED and not proof.why:
        return "declared in its file"
    level = proof.level.value.replace("_", " ")
    return f"{level}: {', '.join(reason.words for reason in proof.why)}" if proof.why else level


def proof_json(proof: Proof | None) -> dict[str, object] | None:
    """The level for programs."""
    return None if proof is None else {"level": proof.level.value, "why": [reason.value for reason in proof.why]}
