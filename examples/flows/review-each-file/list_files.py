"""Prints the files that differ from the last commit, new ones included."""

import json
import subprocess

argv = ["git", "status", "--porcelain=v1", "-z", "--no-renames", "--untracked-files=all"]
listed = subprocess.run(argv, capture_output=True, text=True, check=True).stdout.split("\0")
print(json.dumps({"files": sorted(entry[3:] for entry in listed if entry and "D" not in entry[:2])}))
