"""What a driver asks of a supervisor, and what that reports. By hand: `json` would nearly double a supervisor's start.

A request is the length of all fields in a line of its own, and then the fields: a name and a value, each behind its
length, so that nothing in a value can be taken for another field. A report is a line of JSON.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence


def write_request(fields: Iterable[tuple[str, str]]) -> bytes:
    """The bytes of a request."""
    items = (_encode(word) for field in fields for word in field)
    body = b"".join(b"%d:%b" % (len(item), item) for item in items)
    return b"%d\n%b" % (len(body), body)


def read_request(read: Callable[[], bytes]) -> list[tuple[str, str]]:
    """The fields of a request; empty if the writer left before it was complete. `read` gives what comes next."""
    head = b""
    while b"\n" not in head:
        piece = read()
        if not piece:
            return []
        head += piece
    size, _, first = head.partition(b"\n")
    pieces, missing = [first], int(size) - len(first)
    while missing > 0:
        piece = read()
        if not piece:
            return []
        pieces.append(piece)
        missing -= len(piece)
    words = _split(b"".join(pieces))
    return list(zip(words[::2], words[1::2], strict=True))


def write_report(report: Mapping[str, str | float | None]) -> bytes:
    """A line of JSON."""
    return ("{" + ", ".join(f"{_quote(name)}: {_show(value)}" for name, value in report.items()) + "}\n").encode()


def _encode(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _split(body: bytes) -> Sequence[str]:
    words: list[str] = []
    at = 0
    while at < len(body):
        start = body.index(b":", at) + 1
        at, size = start, int(body[at : start - 1])
        words.append(body[at : at + size].decode("utf-8", "surrogatepass"))
        at += size
    return words


def _show(value: str | float | None) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    return _quote(value) if isinstance(value, str) else repr(value)


def _quote(text: str) -> str:
    if text.isascii() and text.isprintable() and '"' not in text and "\\" not in text:
        return f'"{text}"'
    units = text.encode("utf-16-be", "surrogatepass").hex()
    return '"' + "".join("\\u" + units[at : at + 4] for at in range(0, len(units), 4)) + '"'
