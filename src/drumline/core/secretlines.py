"""Configuration files without their secrets. The rule: a line that might hold one is left out; the others stay.

They are read by lines, as ini files, properties, YAML and TOML are written, or as XML. Nothing else is known of them.
"""

from __future__ import annotations

import re

from drumline.core.redaction import Redaction
from drumline.patterns import compile_late

_LIKE_SECRETS = (
    r"password|passwd|passphrase|(?<!ask)(?<!by)(?<!com)pass\b|secret|token|credential|authident|authorization|extraheader|bearer|cookie\b"
    r"|api[-_.]?key|private[-_.]?key|access[-_.]?key|_auth\b|(?<!always-)\bauth\b"
)
NAMED = compile_late(rf"(?:{_LIKE_SECRETS})[\w.-]*[\"']?\s*[:=]\s*\S", re.IGNORECASE)
"""A name like that of a secret, and a value."""
SPACED = compile_late(
    rf"^\s*[\"']?[^\s=#;\[\"']*(?:{_LIKE_SECRETS})[\w.-]*[\"']?\s+[^\s={{](?!.*\{{\s*$)", re.IGNORECASE
)
"""The same with a space between them, as yarn, curl and Java's properties have it; a block that begins is none."""
USER = compile_late(r"^\s*(?:-u|-U|(?:--)?(?:proxy-)?user)[\s=:\"]+[^\s:=]+:\S", re.IGNORECASE)
"""A user with a password behind the colon, as curl takes it."""
ADDRESS = compile_late(r"(https?://)[^\s/@\"'<>]*@|(\w+://)[^\s/@:\"'<>]*:[^\s/@\"'<>]+@", re.IGNORECASE)
"""An address with a password, or with a token in the place of a user."""
CHANNEL = compile_late(r"(://[^\s/]+/t/)[^\s/]+")
"""A token in the path of an address, as conda takes it."""
TAG = compile_late(rf"<([\w.:-]*(?:{_LIKE_SECRETS})[\w.:-]*)(\s[^<>]*)?>.*?</\1>", re.IGNORECASE | re.DOTALL)
PAIR = compile_late(rf"(<name>[^<]*(?:{_LIKE_SECRETS})[^<]*</name>\s*<value>).*?(</value>)", re.IGNORECASE | re.DOTALL)
ATTRIBUTE = compile_late(rf"(key\s*=\s*\"[^\"]*(?:{_LIKE_SECRETS})[^\"]*\"\s+value\s*=\s*)\"[^\"]*\"", re.IGNORECASE)


def leave_out_secrets(text: str) -> str:
    """The text of a configuration file without what might be secret; the very text if nothing is."""
    text = CHANNEL.sub(r"\1", ADDRESS.sub(lambda found: found[1] or found[2], text))
    if text.lstrip("\ufeff \t\r\n").startswith("<"):
        for pattern, instead in ((TAG, r"<\1\2></\1>"), (PAIR, r"\1\2"), (ATTRIBUTE, r'\1""')):
            text = pattern.sub(instead, text)
    else:
        text = "".join(line for line in text.splitlines(keepends=True) if not _is_secret(line))
    return Redaction().hide(text)


def _is_secret(line: str) -> bool:
    return bool(NAMED.search(line) or SPACED.match(line) or USER.match(line))
