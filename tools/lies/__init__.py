"""Plays lies and honest work against real runs, and writes the page that says what came of them."""
