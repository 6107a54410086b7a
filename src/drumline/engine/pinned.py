"""The text of a step as it was when work on it began: an edit in mid-work counts only after its gate."""

from __future__ import annotations

from hashlib import blake2b

from drumline.core.plan import Step
from drumline.engine.kit import Kit
from drumline.isolation.transcripts import OWN


def read_pinned(kit: Kit, step: Step) -> str:
    """The pinned text; it is read from the plan's file and kept with the run the first time."""
    folder = kit.logs / step.id
    name = blake2b(step.text_digest.encode(), digest_size=4).hexdigest()
    kept = folder / f"step-{name}.md"
    if not kept.exists():
        folder.mkdir(mode=OWN, parents=True, exist_ok=True)
        kept.write_text(kit.planfiles.text(step), encoding="utf-8")
    return kept.read_text(encoding="utf-8")
