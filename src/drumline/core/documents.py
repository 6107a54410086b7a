"""What a document must be before it is kept. The rule: all that is wrong is said at once."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b

from drumline.core.proselines import FENCE, normalise, read_lines


def digest_document(text: str) -> str:
    """What a document is known by."""
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


def find_faults(text: str, *, sections: Sequence[str], most_bytes: int) -> list[str]:
    """What is wrong with a document; empty if nothing is."""
    found = [] if text.strip() else ["it is empty"]
    size = len(text.encode("utf-8", "surrogatepass"))
    if size > most_bytes:
        found.append(f"it has {size:,} bytes; {most_bytes:,} are allowed")
    bodies = _read_sections(text)
    for section in sections:
        body = bodies.get(normalise(section))
        if body is None:
            found.append(f"it has no section {section!r}")
        elif not body:
            found.append(f"its section {section!r} is empty")
    return found


def _read_sections(text: str) -> dict[str, str]:
    """What stands below each heading, deeper headings included; a heading that comes twice counts with both."""
    lines = text.split("\n")
    headings = [line for line in read_lines(text) if line.paragraph < 0]
    found: dict[str, str] = {}
    for heading in headings:
        deeper = (h.number for h in headings if h.number > heading.number and len(h.path) <= len(heading.path))
        below = lines[heading.number + 1 : next(deeper, None)]
        body = "\n".join(line for line in below if not FENCE.fullmatch(line.rstrip())).strip()
        found[heading.path[-1]] = "\n".join(filter(None, (found.get(heading.path[-1], ""), body)))
    return found
