"""The demo: a small plan in a repository of its own, driven through the real command line."""
