"""Found by every Python that a check starts: lets its test runner report, then gives way to the next of its name."""

import os
import sys

_HERE = os.path.dirname(os.path.abspath(__file__))


def _give_way():  # type: ignore[no-untyped-def] # read by every version of Python
    """Import the module of this name that would have been found without us."""
    mine = sys.modules.pop("sitecustomize")
    kept = sys.path[:]
    sys.path[:] = [place for place in sys.path if os.path.abspath(place or os.curdir) != _HERE]
    try:
        __import__("sitecustomize")
    except ImportError:
        sys.modules["sitecustomize"] = mine
    finally:
        sys.path[:] = kept


if sys.version_info >= (3, 8) and os.environ.get("DRUMLINE_REPORT"):
    try:
        __import__("drumline_reporter").install()
    except Exception:  # a report is never worth more than the check itself
        pass
if sys.version_info >= (3, 8) and os.environ.get("DRUMLINE_LINES"):
    try:
        __import__("drumline_lines").install()
    except Exception:
        pass
if sys.version_info >= (3, 8) and os.environ.get("DRUMLINE_OUTSIDE"):
    try:
        __import__("drumline_outside").install()
    except Exception:
        pass
if sys.version_info >= (3, 8) and os.environ.get("DRUMLINE_ENDING"):
    try:
        __import__("drumline_ending").install()
    except Exception:
        pass
_give_way()  # type: ignore[no-untyped-call]
