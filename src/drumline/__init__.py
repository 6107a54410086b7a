"""Drumline runs an implementation plan with coding agents and proves the result."""

__version__ = "0.1.0"
