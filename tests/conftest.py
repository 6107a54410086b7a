"""How property tests choose their examples: the same ones in `make test`, fresh ones in `make test-full`."""

from __future__ import annotations

import os

from hypothesis import settings

settings.register_profile("same", derandomize=True)
settings.register_profile("fresh", derandomize=False)
settings.load_profile(os.environ.get("HYPOTHESIS_EXAMPLES", "same"))
