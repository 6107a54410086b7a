"""Prints the commits since the last tag, or all of them, and the name of the file for the notes."""

import json
import os
import subprocess


def ask_git(*words: str) -> str:
    """What git prints; nothing if it refuses."""
    return subprocess.run(["git", *words], capture_output=True, text=True).stdout.strip()


tag = ask_git("describe", "--tags", "--abbrev=0")
commits = ask_git("log", "--no-merges", "--format=- %s", *([f"{tag}..HEAD"] if tag else []))
# Variables come in as LLM_AGENT_VAR_NAME.
release = os.environ.get("LLM_AGENT_VAR_RELEASE", "unreleased")
print(json.dumps({"commits": commits or "There are none.", "file": f"notes-{release}.md"}))
