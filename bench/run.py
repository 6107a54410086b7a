"""`python bench/run.py`: measures Drumline and prints one table, each figure beside a reference of the same run."""

from __future__ import annotations

import sys
from pathlib import Path

if __name__ == "__main__":
    # A script finds its own folder first; the package `bench` is found from the folder above.
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
    from bench.table import main

    raise SystemExit(main())
