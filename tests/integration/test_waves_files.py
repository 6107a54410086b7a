"""Chunk JSON on disk: the file itself is never written, marks and corrections live beside it, bad input is told."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.examples import MANY, some

from drumline.core.ids import StepId
from drumline.core.plan import Marks, Status
from drumline.errors import InvalidInput
from drumline.planfiles import open_plan, sidecar
from drumline.planfiles.waves import WavesDialect, WavesFiles
from drumline.ports.planfiles import Correction

TEXT = """\ufeff{
  "description": "Two waves",
  "plan": "Do it \\u00e4nd more",
  "testsRequired": true,
  "waves": [
    [{"id": "c1", "scope": "One", "files": ["a.py"], "model": "sonnet", "tests": false, "opusReview": false},
     {"id": "c2", "scope": "Two", "files": ["b.py"], "model": "haiku"}],
    [{"id": "c3", "scope": "Three", "files": ["c.py"], "model": "opus", "tests": true, "dependsOn": ["c1"]}]
  ]
}
""".replace("\n", "\r\n")

CLAIMED = Marks(status=Status.CLAIMED, assignee="driver-1", claimed_at="2030-01-02T03:04:05Z")
FIX = Correction(
    id=StepId("c3h"), title="Another way", what="Do this", why="That failed", files=("d.py",), test="make d"
)


def disk(folder: Path, text: str = TEXT) -> tuple[Path, WavesFiles]:
    file = folder / "chunks.json"
    file.write_bytes(text.encode("utf-8", "surrogatepass"))
    return file, WavesFiles(file, repo=folder, locks=folder / "locks")


@pytest.mark.parametrize("status", list(Status))
def test_every_mark_is_read_back_and_the_file_stays_as_it_was(tmp_path: Path, status: Status) -> None:
    file, files = disk(tmp_path)
    before = files.read()
    marks = Marks(status=status, assignee="me", claimed_at="now", reason="a\nb \ud800")
    kept = Marks(status=status, assignee="me", claimed_at="now", reason="a\nb ?")

    digest = files.write(before.plan.steps[1], marks)

    after = files.read(before)
    assert after.marks == {**before.marks, StepId("c2"): kept}
    assert after.digests["chunks.json"] == digest != before.digests["chunks.json"]
    assert after.plan == before.plan
    assert file.read_bytes().decode() == TEXT


def test_the_sidecar_has_the_same_bytes_whatever_the_order_of_writing(tmp_path: Path) -> None:
    file, files = disk(tmp_path)
    steps = files.read().plan.steps
    found = []

    for order in (steps, steps[::-1]):
        for step in steps:
            files.write(step, Marks())
        for step in order:
            files.write(step, CLAIMED)
        found.append(sidecar.sidecar_of(file).read_bytes())

    assert found[0] == found[1]


def test_a_plan_without_marks_has_no_sidecar(tmp_path: Path) -> None:
    file, files = disk(tmp_path)
    step = files.read().plan.steps[0]

    files.write(step, CLAIMED)
    files.write(step, Marks())

    assert not sidecar.sidecar_of(file).exists()


def test_a_corrective_chunk_is_kept_beside_the_plan(tmp_path: Path) -> None:
    file, files = disk(tmp_path)
    before = files.read()

    path = files.insert(FIX, helps=before.plan.by_id[StepId("c3")])

    after = WavesFiles(file, repo=tmp_path).read()
    assert (path, file.read_bytes().decode()) == ("chunks.json", TEXT)
    assert {step.id: step.needs for step in after.plan.steps} == {
        "c1": (),
        "c2": (),
        "c3": ("c1", "c3h"),
        "c3h": ("c1",),
    }
    added = after.plan.by_id[FIX.id]
    assert (added.tier, added.files, [check.command for check in added.checks]) == ("strong", ("d.py",), ["make d"])
    assert after.errors == ()
    assert "Do this" in files.text(added)
    assert "Three" in files.text(added)


def test_a_correction_of_a_correction_inherits_through_it(tmp_path: Path) -> None:
    _, files = disk(tmp_path)
    files.insert(FIX, helps=files.read().plan.by_id[StepId("c3")])

    second = Correction(id=StepId("c3hh"), title="t", what="w", why="y")
    files.insert(second, helps=files.read().plan.by_id[FIX.id])

    found = {step.id: step.needs for step in files.read().plan.steps}
    assert (found[StepId("c3")], found[FIX.id], found[second.id]) == (("c1", "c3h"), ("c1", "c3hh"), ("c1",))


def test_a_correction_of_a_step_that_is_not_there_is_refused(tmp_path: Path) -> None:
    file, files = disk(tmp_path)
    _, other = disk(tmp_path / ".", TEXT.replace("c3", "x3"))

    with pytest.raises(InvalidInput):
        other.insert(FIX, helps=WavesDialect().parse(TEXT, "chunks.json").steps[2])

    assert not sidecar.sidecar_of(file).exists()
    assert files.read().errors == ()


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("{", "bad_json"),
        ('{"schema_version": 2}', "bad_sidecar"),
        ('{"schema_version": 1, "steps": {"c1": {"status": "odd"}}}', "bad_sidecar"),
        ('{"schema_version": 1, "steps": {"c1": {"status": "done"}, "c1": {"status": "ready"}}}', "duplicate_key"),
        ('{"schema_version": 1, "added": [{"id": 1}]}', "bad_sidecar"),
        ('{"schema_version": 1, "extra": 1}', "bad_sidecar"),
    ],
)
def test_a_broken_sidecar_is_a_problem_and_nothing_is_written_over_it(tmp_path: Path, text: str, code: str) -> None:
    file, files = disk(tmp_path)
    step = files.read().plan.steps[0]
    beside = sidecar.sidecar_of(file)
    beside.write_text(text)

    found = files.read()

    assert [(p.code, p.where) for p in found.errors] == [(code, "chunks.json.drumline.json:1")]
    with pytest.raises(InvalidInput):
        files.write(step, CLAIMED)
    assert beside.read_text() == text


def test_a_sidecar_that_is_a_link_is_refused(tmp_path: Path) -> None:
    file, files = disk(tmp_path)
    (tmp_path / "secret").write_text("x")
    sidecar.sidecar_of(file).symlink_to(tmp_path / "secret")

    assert [problem.code for problem in files.read().errors] == ["symlink"]


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("a.json", '{"waves": []}', True),
        ("a.json", '{"waves": [', True),
        ("a.json", '{"phases": []}', False),
        ("a.json", '["waves"]', False),
        ("a.json", '{"phases": [{"name": "waves"}]}', False),
        ("a.md", '{"waves": []}', False),
        ("a.json.drumline.json", '{"waves": []}', False),
    ],
)
def test_a_json_file_with_waves_is_recognised(tmp_path: Path, name: str, text: str, expected: bool) -> None:
    (tmp_path / name).write_text(text)

    assert WavesFiles.recognise(tmp_path / name) is expected


def test_the_format_is_found_from_the_file(tmp_path: Path) -> None:
    file, _ = disk(tmp_path)

    assert open_plan(file, repo=tmp_path).read().plan.format == "waves"


@pytest.mark.parametrize("needs", [["c9"], ["c3"]])
def test_unknown_and_own_needs_are_problems(tmp_path: Path, needs: list[str]) -> None:
    _, files = disk(tmp_path, TEXT.replace('["c1"]', json.dumps(needs)))

    assert [p.code for p in files.read().errors] in (["unknown_need"], ["self_need"])


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5) | st.sampled_from(["c1", "opus", "a.py"]),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(
                ["id", "scope", "files", "model", "tests", "dependsOn", "waves", "checks", "opusReview", "x"]
            ),
            inner,
            max_size=5,
        )
    ),
    max_leaves=12,
)


@st.composite
def documents(draw: st.DrawFn) -> str:
    """A value with waves of anything, or the example with pieces cut, doubled and put in at random."""
    if draw(st.booleans()):
        return json.dumps(
            {"description": draw(JSON), "waves": draw(st.lists(st.lists(JSON, max_size=3), max_size=3) | JSON)}
        )
    text = TEXT
    for _ in range(draw(st.integers(1, 4))):
        at, length = draw(st.integers(0, len(text))), draw(st.integers(0, 30))
        piece = draw(
            st.sampled_from(['"', "{", "}", "[", "]", ",", ":", "\\ud800", "1e999", "\0", ""]) | st.text(max_size=4)
        )
        text = text[:at] + piece + text[at + length :]
    return text


@settings(max_examples=MANY, deadline=None, suppress_health_check=list(HealthCheck))
@given(text=documents())
def test_any_document_is_read_or_told(text: str) -> None:
    found = WavesDialect().parse(text, "chunks.json")

    assert found.steps or found.problems
    for step in found.steps:
        assert found.texts[step.id].encode()
        assert step.title.encode()


@settings(max_examples=some(100), deadline=None, suppress_health_check=list(HealthCheck))
@given(text=documents(), beside=st.none() | st.text(max_size=20) | JSON.map(json.dumps))
def test_any_document_on_disk_takes_marks_or_refuses_them(
    tmp_path_factory: pytest.TempPathFactory, text: str, beside: str | None
) -> None:
    file, files = disk(tmp_path_factory.mktemp("fuzz"), text)
    if beside is not None:
        sidecar.sidecar_of(file).write_bytes(beside.encode("utf-8", "surrogatepass"))
    reading = files.read()
    if not reading.plan.steps:
        return

    try:
        files.write(reading.plan.steps[0], CLAIMED)
    except InvalidInput:
        return

    assert files.read().marks[reading.plan.steps[0].id] == CLAIMED
    assert file.read_bytes().decode("utf-8", "surrogatepass") == text
