"""Working time of flows: it passes while one of a flow's nodes acts, not while a person is waited for."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from drumline.core.flow.scopes import parent_scope


@dataclass(slots=True)
class _Meter:
    acting: int = 0
    since: float = 0.0
    total: float = 0.0


@dataclass(kw_only=True, slots=True)
class WorkTime:
    """One meter per scope; what acts in a flow that was called acts for its callers, too."""

    read: Callable[[], float] = time.monotonic
    _meters: dict[str, _Meter] = field(default_factory=dict)

    @contextmanager
    def working(self, scope: str) -> Iterator[None]:
        """Time passes in this scope and all around it until the block is left."""
        meters = [self._meters.setdefault(one, _Meter()) for one in _around(scope)]
        now = self.read()
        for meter in meters:
            if not meter.acting:
                meter.since = now
            meter.acting += 1
        try:
            yield
        finally:
            now = self.read()
            for meter in meters:
                meter.acting -= 1
                if not meter.acting:
                    meter.total += now - meter.since

    def take(self, scope: str) -> float:
        """The seconds that have passed in this scope since they were taken last."""
        meter = self._meters.get(scope)
        if meter is None:
            return 0.0
        if meter.acting:
            now = self.read()
            meter.total += now - meter.since
            meter.since = now
        taken, meter.total = meter.total, 0.0
        return round(taken, 3)


def _around(scope: str) -> Iterator[str]:
    yield scope
    while scope:
        scope = parent_scope(scope)
        yield scope
