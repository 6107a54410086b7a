"""Writes the notes into their file."""

import json
import os
from pathlib import Path

# The state is in GRAPH_STATE, or in the file that GRAPH_STATE_FILE names when it is large.
large = os.environ.get("GRAPH_STATE_FILE")
state = json.loads(Path(large).read_text(encoding="utf-8") if large else os.environ["GRAPH_STATE"])
Path(state["file"]).write_text(state["notes"].rstrip() + "\n", encoding="utf-8")
print("{}")
