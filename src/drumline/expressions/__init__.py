"""Expressions behind the port: a narrow part of Python's grammar, evaluated by simpleeval, never by Python."""
