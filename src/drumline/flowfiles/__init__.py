"""Flow files: YAML on disk becomes a flow, or a list of everything that is wrong with it."""

from __future__ import annotations

from drumline.flowfiles.reading import FlowReading, check_flow, read_flow

__all__ = ["FlowReading", "check_flow", "read_flow"]
