"""`drumline report` and `graph --svg`: data, Markdown, and a page that a browser draws."""

from __future__ import annotations

import shutil
import subprocess
import zlib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.acceptance.cli_user import PLAN, User, leaving_nothing, make_user, step_text

GREEN, DARK_GREEN = (26, 127, 55), (63, 185, 80)
"""The lines of what is done, in light and in dark."""


@pytest.fixture
def user(tmp_path: Path) -> Iterator[User]:
    with leaving_nothing(tmp_path):
        yield make_user(tmp_path, step_text("step-1"), step_text("step-2", ["step-1"]))


def test_a_run_is_reported_as_data_as_markdown_and_as_a_page(user: User) -> None:
    assert user.run().code == 0

    data = user.drumline("report", "--json").json
    told = user.drumline("report")
    wrote = user.drumline("report", "--html", "-o", "report.html")
    drawn = user.drumline("graph", PLAN, "--svg")

    steps = data["steps"]
    assert isinstance(steps, list)
    assert [(step["id"], step["state"], step["level"]) for step in steps] == [
        ("step-1", "done", "proved"),
        ("step-2", "done", "proved"),
    ]
    assert {span["node"] for span in steps[0]["spans"]} >= {"implement", "land"}
    assert any("step-1.txt" in line for line in steps[0]["diff"])
    assert steps[0]["checks"][0]["verdict"] == "passed"
    assert data["filesChanged"] == ["step-1.txt", "step-2.txt"]
    assert "| step-1 | Make step-1 | done | proved | 1/1 |" in told.out
    assert "wrote report.html" in wrote.err
    assert "<h2>Timeline</h2>" in (user.repo / "report.html").read_text(encoding="utf-8")
    assert drawn.out.startswith("<svg ")


CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")


@pytest.mark.long
@pytest.mark.skipif(CHROMIUM is None, reason="the page is drawn by the distribution's chromium, which is missing")
def test_the_page_is_drawn_in_light_and_in_dark(user: User, tmp_path: Path) -> None:
    assert user.run().code == 0
    user.drumline("report", "--html", "-o", "report.html")

    light = draw(user.repo / "report.html", tmp_path / "light.png")
    dark = draw(user.repo / "report.html", tmp_path / "dark.png", "--blink-settings=preferredColorScheme=0")

    assert light.most_common(1)[0][0] == (255, 255, 255)
    assert dark.most_common(1)[0][0] == (13, 17, 23)
    assert light[GREEN] > 500
    assert dark[DARK_GREEN] > 500


@pytest.mark.long
@pytest.mark.skipif(CHROMIUM is None, reason="the page is printed by the distribution's chromium, which is missing")
def test_on_paper_every_change_is_unfolded(user: User, tmp_path: Path) -> None:
    user.play({"match": {"step": "step-1"}, "write": {"step-1.txt": "a line\n" * 400}})
    assert user.run().code == 0
    user.drumline("report", "--html", "-o", "report.html")
    page = user.repo / "report.html"
    folded = tmp_path / "folded.html"
    folded.write_text(page.read_text(encoding="utf-8").replace("::details-content", "::nothing"), encoding="utf-8")

    assert count_pages(page, tmp_path / "page.pdf") >= count_pages(folded, tmp_path / "folded.pdf") + 4


def count_pages(page: Path, paper: Path) -> int:
    """How many sheets a page takes when it is printed."""
    assert CHROMIUM is not None
    profile = f"--user-data-dir={paper.with_suffix('')}"
    command = [CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", profile, f"--print-to-pdf={paper}"]
    subprocess.run([*command, page.as_uri()], check=True, capture_output=True, timeout=300)
    return paper.read_bytes().count(b"/Type /Page\n")


def draw(page: Path, picture: Path, *options: str) -> Counter[tuple[int, ...]]:
    """How many points of the picture that a browser draws have each colour."""
    assert CHROMIUM is not None
    profile = f"--user-data-dir={picture.with_suffix('')}"
    look = ("--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--window-size=1100,1200")
    command = [CHROMIUM, *look, profile, *options, f"--screenshot={picture}", page.as_uri()]
    subprocess.run(command, check=True, capture_output=True, timeout=300)
    return count_colours(picture.read_bytes())


def count_colours(png: bytes) -> Counter[tuple[int, ...]]:
    """The points of a picture without interlacing, of eight bits in each of three or four channels."""
    wide, high = (int.from_bytes(png[place : place + 4], "big") for place in (16, 20))
    size, packed, place = {2: 3, 6: 4}[png[25]], b"", 8
    while place < len(png):
        length, kind = int.from_bytes(png[place : place + 4], "big"), png[place + 4 : place + 8]
        packed += png[place + 8 : place + 8 + length] if kind == b"IDAT" else b""
        place += 12 + length
    raw, row, before = zlib.decompress(packed), 1 + wide * size, bytearray(wide * size)
    found: Counter[tuple[int, ...]] = Counter()
    for number in range(high):
        line = raw[number * row : (number + 1) * row]
        before = _unfilter(line[0], bytearray(line[1:]), before, size)
        found.update(tuple(before[x : x + 3]) for x in range(0, len(before), size))
    return found


def _unfilter(how: int, line: bytearray, above: bytearray, size: int) -> bytearray:
    for place, value in enumerate(line):
        left = line[place - size] if place >= size else 0
        corner = above[place - size] if place >= size else 0
        guess = left + above[place] - corner
        near = min((left, above[place], corner), key=lambda one: abs(guess - one))
        line[place] = (value + (0, left, above[place], (left + above[place]) // 2, near)[how]) & 255
    return line
