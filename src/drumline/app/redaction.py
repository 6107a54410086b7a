"""Secrets kept out of recordings: values of the environment by their names, and texts shaped like well-known keys.

The rule: what might be a secret counts as one. A recording that lost a word is better than one that cannot be shared.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from drumline.models.secrets import HIDDEN, Secrets, find_secrets

SHAPES = re.compile(
    r"\bsk-(?:ant-|proj-|or-)?[A-Za-z0-9_-]{16,}"
    r"|\b(?:ghp|gho|ghu|ghs|ghr)_[A-Za-z0-9]{30,}"
    r"|\bgithub_pat_[A-Za-z0-9_]{40,}"
    r"|\bglpat-[A-Za-z0-9_-]{20,}"
    r"|\b(?:AKIA|ASIA)[A-Z0-9]{16}\b"
    r"|\bAIza[A-Za-z0-9_-]{35}"
    r"|\bxox[abeprs]-[A-Za-z0-9-]{10,}"
    r"|\bnpm_[A-Za-z0-9]{36}\b"
    r"|\bhf_[A-Za-z0-9]{30,}"
    r"|\beyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}"
    r"|-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)"
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Redaction:
    """What must not be written down."""

    secrets: Secrets

    def hide(self, text: str) -> str:
        """The text without secrets."""
        return SHAPES.sub(HIDDEN, self.secrets.hide(text))

    def is_revealing(self, raw: bytes) -> bool:
        """Whether a file's content has a secret in it, in whatever encoding that keeps ASCII."""
        known = any(value.encode("utf-8", "replace") in raw for value in self.secrets.values)
        return known or SHAPES.search(raw.decode("latin-1")) is not None


def read_redaction(environ: Mapping[str, str]) -> Redaction:
    """What the environment has of secrets."""
    return Redaction(secrets=find_secrets(environ))
