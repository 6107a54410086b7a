"""Working time of flows: it passes while one of a flow's nodes acts, not while a person is waited for."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
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

    def begin(self, scope: str) -> None:
        """Something acts in this scope, and so in all around it, until `end`."""
        now = self.read()
        for one in _around(scope):
            meter = self._meters.get(one)
            if meter is None:
                meter = self._meters[one] = _Meter()
            if not meter.acting:
                meter.since = now
            meter.acting += 1

    def end(self, scope: str) -> None:
        """One that acted has ended."""
        now = self.read()
        for one in _around(scope):
            meter = self._meters[one]
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


def _around(scope: str) -> Iterable[str]:
    return _whole(scope) if scope else _TOP


def _whole(scope: str) -> Iterator[str]:
    yield scope
    while scope:
        scope = parent_scope(scope)
        yield scope


_TOP = ("",)
