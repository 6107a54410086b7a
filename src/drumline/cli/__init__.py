"""The command line: one file per command. Commands parse, call one use case, show a view."""
