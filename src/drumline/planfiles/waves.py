"""The format `waves`: a JSON file of chunks in waves. The file itself is never written.

A chunk needs all chunks of the waves before its own, unless `dependsOn` says what it needs. The format has no place for
what happened, so marks and corrective steps are kept in the sidecar only.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from drumline.core.plan import SIDECAR, Marks, Problem, Step
from drumline.errors import InvalidInput
from drumline.planfiles.annotated import AnnotatedFiles
from drumline.planfiles.document import Parsed, Span
from drumline.planfiles.jsonfile import read_json
from drumline.planfiles.sidecar import Added
from drumline.planfiles.source import DOCUMENT_BYTES, DOCUMENT_LINES, decode, read_bytes
from drumline.planfiles.waves_chunks import read_chunks
from drumline.planfiles.weaving import weave_beside
from drumline.ports.planfiles import Correction, ProgressReport


class WavesDialect:
    """Reads chunk JSON; nothing is ever written into it."""

    name = "waves"
    reports_progress = False
    adds_beside = True
    muted: frozenset[str] = frozenset()

    def parse(self, text: str, path: str) -> Parsed:
        """Read the document; never raises on bad input, but lists what is wrong with it."""
        source = read_json(text, path)
        return Parsed(problems=(source,)) if isinstance(source, Problem) else read_chunks(source, path)

    def shown(self, marks: Marks) -> Marks:
        """Nothing: the document has no place for marks."""
        return Marks()

    def weave(self, parsed: Parsed, added: Sequence[Added]) -> Parsed:
        """The document's chunks with the corrective steps behind the ones they help."""
        return weave_beside(parsed, added)

    def edit(self, text: str, step: Step, marks: Marks, ticked: Sequence[int]) -> list[Span]:
        """Nothing: the document is never written."""
        return []

    def insert(self, text: str, correction: Correction, helps: Step) -> list[Span]:
        """Nothing: corrective steps are kept beside the document."""
        return []

    def write_progress(self, text: str, progress: ProgressReport) -> list[Span]:
        """Nothing: the format has no progress report."""
        return []


class WavesFiles(AnnotatedFiles):
    """One JSON file with waves."""

    def __init__(self, place: Path, *, repo: Path, locks: Path | None = None) -> None:
        if place.is_dir():
            message = f"{place.name!r} is a directory; a plan in waves is one JSON file"
            raise InvalidInput(message, hint="drumline validate PATH/TO/PLAN.json")
        super().__init__(place, WavesDialect(), repo=repo, locks=locks)

    @staticmethod
    def recognise(place: Path) -> bool:
        """Whether it is a JSON file with `waves`; a broken one is ours if it names them."""
        if place.suffix != ".json" or place.name.endswith(SIDECAR) or place.is_dir():
            return False
        data = read_bytes(place, "", most=DOCUMENT_BYTES)
        text = data if isinstance(data, Problem) else decode(data, "", most_lines=DOCUMENT_LINES)
        if isinstance(text, Problem) or '"waves"' not in text:
            return False
        source = read_json(text, "")
        return isinstance(source, Problem) or (isinstance(source.value, dict) and "waves" in source.value)
