"""Standard streams and text encoding of the process. The rule: neither a closed stream nor a locale stops a command.

Only the standard library, and little of it: every command pays for this at its start.
"""

from __future__ import annotations

import codecs
import os
import sys

PLAIN = "drumline-plain"
"""The name under which Python knows our way to write what a stream's encoding does not have."""
SIGNS = {"✓": "+", "✗": "x", "·": "-", "…": "...", "─": "-", "│": "|", "├": "|", "└": "`", "→": "->", "’": "'"}
ASCII = "drumline-ascii"
"""ASCII under a name of ours: click takes a stream with the usual name for misconfigured and writes UTF-8 to it."""
_NAMES = ("stdin", "stdout", "stderr")


def settle_streams() -> None:
    """Open what was closed, and let every stream take any text."""
    for number in range(3):
        _fill(number)
    for number, name in enumerate(_NAMES):
        if getattr(sys, name) is None:
            # Never closed: it lasts as long as the process.
            setattr(sys, name, open(number, "w" if number else "r", encoding="utf-8", closefd=False))  # noqa: SIM115
    codecs.register_error(PLAIN, _replace)
    codecs.register(_find_codec)
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            is_ascii = codecs.lookup(stream.encoding).name == "ascii"
            reconfigure(encoding=ASCII if is_ascii else stream.encoding, errors=PLAIN)


def speak_utf8() -> None:
    """Begin again in Python's UTF-8 mode unless names of files and programs' arguments are UTF-8 already.

    Plans, files in git and what agents say are UTF-8, whatever the locale says.
    """
    if codecs.lookup(sys.getfilesystemencoding()).name == "utf-8" or sys.flags.utf8_mode:
        return
    os.execv(sys.executable, [sys.executable, "-X", "utf8", *sys.orig_argv[1:]])  # noqa: S606 - no shell is wanted


def _fill(number: int) -> None:
    """Put the null device where a standard stream is closed: the next file that is opened would become that stream."""
    try:
        os.fstat(number)
    except OSError:
        # The lowest free number is the one that is closed.
        os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)


def _find_codec(name: str) -> codecs.CodecInfo | None:
    if name.replace("_", "-") != ASCII:
        return None
    found = codecs.lookup("ascii")
    return codecs.CodecInfo(
        found.encode,
        found.decode,
        incrementalencoder=found.incrementalencoder,
        incrementaldecoder=found.incrementaldecoder,
        name=ASCII,
    )


def _replace(error: UnicodeError) -> tuple[str, int]:
    """Plain signs for those that an encoding does not have."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    return "".join(SIGNS.get(letter, "?") for letter in error.object[error.start : error.end]), error.end
