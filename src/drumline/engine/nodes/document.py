"""Documents: rendered from the node's template, validated, and kept in the journal. Nothing that has faults is kept."""

from __future__ import annotations

from drumline.core.documents import digest_document, find_faults
from drumline.core.events import DocumentWritten
from drumline.core.flow.model import DocumentNode
from drumline.core.flow.outcome import Outcome
from drumline.core.flow.templates import render_strict
from drumline.core.taxonomy import Failure
from drumline.core.vocabulary import DocumentKind
from drumline.engine.nodes.visit import Visit
from drumline.errors import InvalidInput


def write_document(node: DocumentNode, visit: Visit, *, path: str = "") -> Outcome:
    """The document, or what is wrong with it. `path` is its place among the plan's files, if it has one."""
    try:
        text = render_strict(node.template, visit.values).strip() + "\n"
    except InvalidInput as error:
        return Outcome(failure=str(error), failure_class=Failure.PERMANENT.value)
    faults = find_faults(text, sections=node.sections, most_bytes=node.most_bytes)
    if faults:
        told = f"the {node.kind} is not as it must be: {'; '.join(faults)}"
        return Outcome(failure=told, failure_class=Failure.VALIDATION.value)
    written = DocumentWritten(
        step=visit.step,
        kind=DocumentKind(node.kind),
        text=text,
        digest=digest_document(text),
        path=path,
        node=visit.key.node,
        visit=visit.key.visit,
        scope=visit.key.scope,
    )
    return Outcome(output={"kind": node.kind, "text": text, "path": path}, told=(written,))
