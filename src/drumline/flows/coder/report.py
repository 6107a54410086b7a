"""Takes the verdict words out of an agent's report, so that the only one left is the engine's.

A script of the flow beside it, started as a program: it reads the state, and imports nothing of ours.
"""

from __future__ import annotations

import json
import os
import re
import sys
from pathlib import Path

VERDICT = re.compile(r"CODER_(?=COMPLETE|REJECTED|FAILED)")


def read_state() -> dict[str, object]:
    """The flow's state, from the environment or from the file that it names."""
    path = os.environ.get("GRAPH_STATE_FILE")
    text = Path(path).read_text(encoding="utf-8") if path else os.environ["GRAPH_STATE"]
    state: dict[str, object] = json.loads(text)
    return state


if __name__ == "__main__":
    json.dump({"report": VERDICT.sub("CODER-", str(read_state()["report"]))}, sys.stdout)
