"""Plans of other tools, as their users write them: read, ticked, converted, broken. One suite for all formats."""

from __future__ import annotations

import random
import re
import time
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path

import pytest
from tests.examples import FRESH, MANY
from tests.integration.mutated import mutate
from tests.samples.shape import Sample

from drumline.app.convert import convert, write_pages
from drumline.core.plan import Marks, Plan, Reading, Status, Step
from drumline.errors import DrumlineError
from drumline.planfiles import open_plan
from drumline.ports.planfiles import PlanFiles
from drumline.record import replace

FORMATS = ("checklist", "kiro", "openspec", "speckit", "superpowers", "taskmaster")
SAMPLES: Mapping[str, Mapping[str, Sample]] = {
    format: import_module(f"tests.samples.{format}").SAMPLES for format in FORMATS
}
ALL = [
    pytest.param(format, sample, id=f"{format}: {name}")
    for format in FORMATS
    for name, sample in SAMPLES[format].items()
]
WRITTEN = 5
"""One of so many is also written to in `make test`; `make test-full` writes to all."""
QUIET = ("no_checks", "file_overlap")
BLOCKED = Marks(status=Status.BLOCKED, reason="no luck")
CLAIMED = Marks(status=Status.CLAIMED, assignee="me", claimed_at="2030-01-02T03:04:05Z")


def put(folder: Path, sample: Sample, text: str | None = None) -> Path:
    """The sample on disk."""
    for name, beside in sample.beside.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(beside, encoding="utf-8")
    file = folder / sample.name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes((sample.text if text is None else text).encode())
    return file


def open_sample(folder: Path, sample: Sample, text: str | None = None, *, format: str = "") -> tuple[Path, PlanFiles]:
    file = put(folder, sample, text)
    return file, open_plan(file, repo=folder, locks=folder / "locks", format=format)


def tell(step: Step, marks: Marks) -> str:
    """A step as samples write it."""
    needs = f" < {' '.join(step.needs)}" if step.needs else ""
    status = f" : {marks.status.value}" if marks.status is not Status.READY else ""
    checks = "".join(f" {'!!' if check.red_first else '!'} {check.command}" for check in step.checks)
    return " ".join(f"{step.id}{needs}{status}{checks}".split())


def told(reading: Reading) -> list[str]:
    return [tell(step, reading.marks[step.id]) for step in reading.plan.steps]


def essence(plan: Plan) -> list[tuple[object, ...]]:
    """What a plan means, without places and digests."""
    return [
        (step.id, step.title, step.needs, step.files, checks_of(step), step.not_run, step.manual, step.ordered)
        for step in (replace(step, ordered=step.ordered and bool(step.needs)) for step in plan.steps)
    ]


def checks_of(step: Step) -> list[tuple[str, bool]]:
    """The commands that prove a step, and which of them must be red before the work; in any order."""
    return sorted((check.command, check.red_first) for check in step.checks)


@pytest.mark.parametrize("format", FORMATS)
def test_there_are_at_least_twelve_samples_of_each_format(format: str) -> None:
    assert len(SAMPLES[format]) >= 12


@pytest.mark.parametrize(("format", "sample"), ALL)
def test_a_sample_is_recognised_and_read_as_it_is_meant(tmp_path: Path, format: str, sample: Sample) -> None:
    _, files = open_sample(tmp_path, sample)

    found = files.read()

    assert found.plan.format == format
    assert told(found) == sample.lines()
    assert found.errors == ()
    assert [problem.code for problem in found.problems if problem.code not in QUIET] == list(sample.codes)


@pytest.mark.parametrize("change", ["crlf", "bom"])
@pytest.mark.parametrize(("format", "sample"), ALL)
def test_line_ends_and_a_byte_order_mark_change_nothing(
    tmp_path: Path, format: str, sample: Sample, change: str
) -> None:
    _, files = open_sample(tmp_path, sample)
    before = files.read()
    text = sample.text.replace("\n", "\r\n") if change == "crlf" else "\ufeff" + sample.text

    _, again = open_sample(tmp_path, sample, text, format=format)

    after = again.read()
    assert essence(after.plan) == essence(before.plan)
    assert after.marks == before.marks


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@pytest.mark.parametrize(("format", "sample"), ALL)
def test_every_status_is_read_back_and_only_marks_change(
    tmp_path: Path, format: str, sample: Sample, newline: str
) -> None:
    written = sample.text if newline == "\n" else "\ufeff" + sample.text.replace("\n", newline)
    file, files = open_sample(tmp_path, sample, written, format=format)
    chance = random.Random(7)
    wanted = dict(files.read().marks)

    for step in files.read().plan.steps:
        for marks in (CLAIMED, chance.choice([Marks(), BLOCKED, CLAIMED, Marks(status=Status.DONE)])):
            files.write(step, marks)
            wanted[step.id] = marks

    reading = files.read()
    assert reading.marks == wanted
    assert [step.text_digest for step in reading.plan.steps] == [
        step.text_digest for step in open_sample(tmp_path / "again", sample)[1].read().plan.steps
    ] or newline != "\n"
    assert unmarked(file.read_bytes().decode(), format) == unmarked(written, format)


def unmarked(text: str, format: str) -> str:
    """The text without what marks may change."""
    if format == "taskmaster":
        return re.sub(r',?\s*"status":\s?"[a-z-]*"', "", text)
    table = str.maketrans(dict.fromkeys("xX~-/!✓", " "))
    return text.translate(table)


@pytest.mark.parametrize(("format", "sample"), ALL)
def test_a_plan_whose_steps_are_all_done_says_so_in_its_own_words(tmp_path: Path, format: str, sample: Sample) -> None:
    file, files = open_sample(tmp_path, sample)

    for step in files.read().plan.steps:
        files.write(step, CLAIMED)
        files.write(step, Marks(status=Status.DONE))

    assert set(open_plan(file, repo=tmp_path).read().marks.values()) == {Marks(status=Status.DONE)}
    kept = file.with_name(file.name + ".drumline.json").exists()
    assert kept is (file.suffix == ".md" and re.search(r"^\W*\[.\] ", sample.text, re.MULTILINE) is None)


@pytest.mark.parametrize(("format", "sample"), ALL)
def test_a_sample_converts_to_a_native_plan_that_means_the_same(tmp_path: Path, format: str, sample: Sample) -> None:
    _, files = open_sample(tmp_path, sample)
    before = files.read()

    write_pages(tmp_path / "native", convert(files, before, date="2026-01-01"))
    after = open_plan(tmp_path / "native", repo=tmp_path).read()

    assert after.errors == ()
    assert sorted(essence(after.plan), key=str) == sorted(essence(before.plan), key=str)
    assert after.marks == before.marks


def survive(file: Path, files: PlanFiles, seed: int, *, written: bool) -> None:
    """Read a document after accidents, and tick a step of it if it still has one."""
    before = file.read_bytes()
    found = files.read()

    assert set(found.marks) == {step.id for step in found.plan.steps}
    assert all(problem.where.rpartition(":")[2].isdigit() for problem in found.problems)
    if not written or not found.plan.steps or found.errors:
        return
    step = found.plan.steps[seed % len(found.plan.steps)]
    try:
        files.write(step, Marks(status=Status.DONE))
    except DrumlineError:
        assert file.read_bytes() == before
    else:
        assert files.marks(step).status is Status.DONE
        files.write(step, found.marks[step.id])
        assert files.marks(step) == found.marks[step.id]


@pytest.mark.parametrize("format", FORMATS)
def test_no_accident_to_a_sample_is_more_than_a_problem(tmp_path: Path, format: str) -> None:
    samples = list(SAMPLES[format].values())
    start = random.randrange(2**32) if FRESH else 0
    opened = [open_sample(tmp_path / str(number), sample, format=format) for number, sample in enumerate(samples)]

    for seed in range(start, start + MANY):
        number = seed % len(samples)
        file, files = opened[number]
        file.write_bytes(mutate(samples[number].text, seed).encode())
        try:
            survive(file, files, seed, written=FRESH or seed % WRITTEN == 0)
        except BaseException as error:
            error.add_note(f"after the accidents of seed {seed}")
            raise


PHASE = "# T\n\n## Phase 1\n\n- [ ] T001 [P] A"


@pytest.mark.parametrize(
    ("format", "text"),
    [
        ("speckit", f"{PHASE} {' ' * 40_000} z\n"),
        ("speckit", f"{PHASE}\n\n## Dependencies\n\nT001 {' ' * 40_000} z T001\n"),
        ("speckit", f"{PHASE}\n\n## Dependencies\n\nT001 {'( ' * 20_000} z T001\n"),
        ("checklist", f"# T\n\n- [ ] A {'_' * 40_000} z\n"),
        ("checklist", f"# T\n\n- [ ] A\n\n## Future{' work' * 8_000} z\n\n- [ ] B\n"),
        ("superpowers", f"### Task 1: A\n\n```bash\nmake {' ' * 40_000} z\n```\n\nExpected: PASS\n"),
        ("kiro", f"- [ ] 1. A\n\n## Task Dependency Graph\n\n```\n1 {' ' * 40_000} 2\n```\n"),
        ("kiro", f"- [ ] 1. A\n\n## Task Dependency Graph\n\n```\n1 {'[{(' * 9_000} 2\n```\n"),
    ],
    ids=["blanks", "prose", "brackets", "word", "heading", "script", "graph", "labels"],
)
def test_hostile_text_costs_no_more_than_its_length(tmp_path: Path, format: str, text: str) -> None:
    def cost(written: str) -> float:
        folder = tmp_path / str(len(written))
        _, files = open_sample(folder, Sample(text=written, steps="", name="plan.md"), format=format)
        begun = time.process_time()
        assert files.read().plan.steps
        return time.process_time() - begun

    assert cost(text) < 10 * cost(import_module(f"tests.samples.{format}").many(300))


@pytest.mark.long
@pytest.mark.parametrize("format", FORMATS)
def test_five_thousand_tasks_are_read_and_ticked_in_linear_time(tmp_path: Path, format: str) -> None:
    many = import_module(f"tests.samples.{format}").many

    def cost(count: int) -> float:
        sample = Sample(text=many(count), steps="", name=f"{count}/{next(iter(SAMPLES[format].values())).name}")
        _, files = open_sample(tmp_path, sample, format=format)
        started = time.process_time()
        found = files.read()
        files.write(found.plan.steps[-1], Marks(status=Status.DONE))
        assert len(found.plan.steps) == count
        return (time.process_time() - started) / count

    cost(50)

    assert cost(5_000) <= 4 * min(cost(500 + n) for n in range(3))
