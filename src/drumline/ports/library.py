"""Where a flow's names lead: which agent or which flow a node calls, and which skills there are."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

from drumline.core.flow.model import Flow
from drumline.record import Record


class Callee(Record):
    """What a name stands for: a flow's file, or an agent by its spec; `warning` if the name had to be guessed."""

    flow: Path | None = None
    agent: str = ""
    tier: str = ""
    model: str = ""
    warning: str = ""


class Library(Protocol):
    """Finds what flows name."""

    def find_callee(self, name: str, *, around: Path) -> Callee:
        """What `agent: NAME` means in a flow whose folder is `around`; InvalidInput if there is nothing to call."""
        ...

    def locate(self, name: str) -> Path:
        """The file of the flow that a plan or a setting names, by its name or path; InvalidInput if there is none."""
        ...

    def load(self, path: Path) -> Flow:
        """The checked flow in a file; InvalidInput with all its problems. It is kept for the run."""
        ...

    def recall(self, path: str, digest: str) -> Flow:
        """A flow as it was when `load` kept it; InvalidInput if neither the copy nor the file has that digest."""
        ...
