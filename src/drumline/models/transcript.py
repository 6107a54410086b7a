"""The transcript of one question. The rule: it is on disk at once, it is bounded, and no secret is in it."""

from __future__ import annotations

from pathlib import Path

from drumline.core.redaction import Secrets

ENTRY = 16 * 1024
WHOLE = 2 * 1024 * 1024
CUT = "[the transcript ends here: it is full]\n"


class Transcript:
    """Adds entries to a log, each cut to `ENTRY` characters, until `WHOLE` are written."""

    def __init__(self, log: Path, secrets: Secrets) -> None:
        log.parent.mkdir(parents=True, exist_ok=True)
        self._log = log
        self._secrets = secrets
        self._room = WHOLE

    def add(self, who: str, said: str) -> None:
        """Write down what somebody said."""
        text = self._secrets.hide(said)
        if len(text) > ENTRY:
            text = f"{text[:ENTRY]}\n[{len(text) - ENTRY} characters left out]"
        entry = f"{who}: {text}\n"
        if self._room <= 0:
            return
        self._room -= len(entry)
        with self._log.open("a", encoding="utf-8", errors="backslashreplace") as file:
            file.write(entry if self._room > 0 else CUT)
