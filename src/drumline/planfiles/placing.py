"""Documents of steps among a plan's files. The rule: what somebody else wrote in their place stays."""

from __future__ import annotations

from pathlib import Path

from drumline.core.documents import digest_document
from drumline.core.plan import Step
from drumline.core.vocabulary import DocumentKind
from drumline.errors import InvalidInput
from drumline.planfiles.drafts import put_file


class Placeless:
    """A plan whose files have no place for documents."""

    def place(self, kind: DocumentKind, step: Step) -> str:
        """Nowhere."""
        return ""

    def read_document(self, kind: DocumentKind, step: Step) -> str:
        """None is there."""
        return ""

    def put(self, path: str, text: str, *, before: str = "") -> str:
        """Refused: there is no place."""
        raise InvalidInput(f"the plan's files have no place for {path!r}", hint="drumline validate PATH/TO/PLAN")


def put_document(file: Path, text: str, *, before: str) -> str:
    """Put the document in its place, unless somebody else's is there; its digest, or nothing if it is left alone."""
    found = file.read_bytes() if file.is_file() and not file.is_symlink() else None
    if found is None and (file.exists() or file.is_symlink()):
        return ""
    wanted = digest_document(text)
    there = "" if found is None else digest_document(found.decode("utf-8", "surrogateescape"))
    if there == wanted:
        return wanted
    if found is not None and there != before:
        return ""
    file.parent.mkdir(exist_ok=True)
    put_file(file, text.encode("utf-8", "surrogateescape"), before=found)
    return wanted
