"""Python's search for unreachable cycles, paused while many records are built. The rule: it is as before afterwards."""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Iterator


@contextlib.contextmanager
def uncollected(*, freeze: bool = False) -> Iterator[None]:
    """Events and folds hold no cycles: looking for some while they are built would cost more than building them.

    With `freeze`, what is there by then is never looked at again: it stays as long as the process.
    """
    collects = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if freeze:
            gc.freeze()
        if collects:
            gc.enable()
