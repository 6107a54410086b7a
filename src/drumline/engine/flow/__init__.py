"""Walks flows: performs what the pure interpreter decides, and records what came of it."""
