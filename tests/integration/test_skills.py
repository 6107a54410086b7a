"""Skills are found in folders: the first of a name counts, what is broken says so, and nothing leads out."""

from __future__ import annotations

import json
import os
import re
import zipfile
from pathlib import Path

import pytest
from click.testing import CliRunner
from hatchling.builders.wheel import WheelBuilder

import drumline
from drumline.cli.main import cli
from drumline.core.flow.extraction import read_object
from drumline.errors import InvalidInput
from drumline.skills import FolderSkills, search_path
from drumline.skills.document import MAX_BODY, MAX_FILE
from drumline.skills.folders import SHIPPED

NAMES = ["ai-slop-remover", "code-review", "handoff-protocol", "step-implementation"]
HEADINGS = [
    "Summary",
    "Completed",
    "Not completed",
    "Deviations",
    "Downstream plan updates",
    "Edge cases discovered",
    "Evidence",
    "Notes for next step",
]


@pytest.fixture
def top(tmp_path: Path) -> Path:
    folder = tmp_path / "repository"
    folder.mkdir()
    return folder


@pytest.fixture
def user(tmp_path: Path) -> Path:
    return tmp_path / "config"


def put(folder: Path, name: str, text: str = "", *, description: str = "what it is for") -> Path:
    """A skill in a folder of skills; its file as it is if the text begins with `---`."""
    file = folder / name / "SKILL.md"
    file.parent.mkdir(parents=True, exist_ok=True)
    whole = text if text.startswith("---") else f"---\nname: {name}\ndescription: {description}\n---\n{text}"
    file.write_text(whole, encoding="utf-8")
    return file


def open_skills(top: Path, user: Path) -> FolderSkills:
    return FolderSkills(places=search_path(top, {"XDG_CONFIG_HOME": str(user), "HOME": "/nowhere"}))


def fault_of(skills: FolderSkills, name: str) -> str:
    return next(skill.fault for skill in skills.list_skills() if skill.name == name)


def test_the_shipped_skills_are_always_there(top: Path, user: Path) -> None:
    found = open_skills(top, user).list_skills()

    assert [(skill.name, skill.origin, skill.fault) for skill in found] == [(name, "shipped", "") for name in NAMES]
    assert all(len(skill.description) > 40 for skill in found)


@pytest.mark.parametrize("name", NAMES)
def test_a_shipped_skill_is_useful_and_of_a_size_that_fits_into_instructions(name: str, top: Path, user: Path) -> None:
    text = open_skills(top, user).load(name)

    assert 40 <= len(text.splitlines()) <= 90
    assert text.startswith("# ")
    assert len(text.encode()) < MAX_BODY


def test_shipped_skills_name_what_the_engine_looks_for(top: Path, user: Path) -> None:
    skills = open_skills(top, user)
    handoff, review = skills.load("handoff-protocol"), skills.load("code-review")

    assert re.findall(r"^## (.+)$", handoff.partition("```markdown")[2].partition("```")[0], re.MULTILINE) == HEADINGS
    assert [word for word in ("complete", "partial", "blocked") if f"`{word}`" in handoff] == [
        "complete",
        "partial",
        "blocked",
    ]
    assert review.rstrip().endswith("REVIEW_COMPLETE")
    assert [tag for tag in ("🔴 CRITICAL", "🟡 WARNING", "🟢 SUGGESTION", "💡 NITPICK") if tag not in review] == []


def test_the_first_folder_that_has_a_name_counts(top: Path, user: Path) -> None:
    places = [
        top / ".drumline/skills",
        top / ".claude/skills",
        top / ".agents/skills",
        user / "drumline/skills",
        SHIPPED,
    ]
    for place in places[:-1]:
        put(place, "code-review", f"text of {place}")
    skills = open_skills(top, user)

    told: list[str] = []
    for place in places[:-1]:
        told.append(skills.load("code-review"))
        (place / "code-review" / "SKILL.md").unlink()

    assert told == [f"text of {place}" for place in places[:-1]]
    assert skills.load("code-review").startswith("# Review a change")


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({"XDG_CONFIG_HOME": "/etc/own", "HOME": "/home/x"}, ["/etc/own/drumline/skills", "/home/x/.claude/skills"]),
        ({"HOME": "/home/x"}, ["/home/x/.config/drumline/skills", "/home/x/.claude/skills"]),
        (
            {"XDG_CONFIG_HOME": "relative", "HOME": "/home/x"},
            ["/home/x/.config/drumline/skills", "/home/x/.claude/skills"],
        ),
        ({}, []),
    ],
)
def test_the_users_folder_is_that_of_their_configuration(environment: dict[str, str], expected: list[str]) -> None:
    places = search_path(Path("/repository"), environment)

    assert [str(place.folder) for place in places if place.origin == "user"] == expected


def test_a_text_is_given_as_it_is_and_its_description_as_one_line(top: Path, user: Path) -> None:
    put(top / ".drumline/skills", "tidy", "\n# Tidy {{x}}\n\n---\n`rm -rf`\n", description=">\n  one\n  two")
    skills = open_skills(top, user)

    assert skills.load("tidy") == "# Tidy {{x}}\n\n---\n`rm -rf`"
    assert skills.find_skill("tidy").description == "one two"


BROKEN = {
    "no marks": ("---x\nname: odd\n", "does not begin with a `---` line"),
    "never ends": ("---\nname: odd\ndescription: d\n", "never comes"),
    "no yaml": ("---\nname: [\n---\n", "not YAML"),
    "a list": ("---\n- name\n---\n", "not `key: value` lines"),
    "a name that is a list": ("---\nname: [odd]\ndescription: d\n---\n", "`name` ['odd']"),
    "a path": ("---\nname: ../odd\ndescription: d\n---\n", "'../odd' is not legal"),
    "capitals": ("---\nname: Odd\ndescription: d\n---\n", "'Odd' is not legal"),
    "another name": ("---\nname: other\ndescription: d\n---\n", "not that of the folder, 'odd'"),
    "no description": ("---\nname: odd\ndescription: ' '\n---\n", "no `description`"),
    "an alias": ("---\nname: &a odd\ndescription: *a\n---\n", "aliases"),
    "a tag": ("---\nname: odd\ndescription: !!python/object/apply:os.system [ls]\n---\n", "not YAML"),
    "too large": ("---\nname: odd\ndescription: d\n---\n" + "x" * MAX_FILE, "more than 256 KiB"),
    "nested": ("---\nname: " + "[" * 5_000 + "\n---\n", "nested more than 16 deep"),
}


@pytest.mark.parametrize("case", BROKEN)
def test_a_broken_skill_says_why_and_is_not_loaded(case: str, top: Path, user: Path) -> None:
    text, told = BROKEN[case]
    put(top / ".drumline/skills", "odd", text)
    skills = open_skills(top, user)

    fault = fault_of(skills, "odd")

    assert fault
    assert told in fault
    with pytest.raises(InvalidInput, match="cannot be used"):
        skills.load("odd")


def test_a_broken_skill_is_not_silently_replaced_by_a_shipped_one(top: Path, user: Path) -> None:
    put(top / ".claude/skills", "code-review", "---\nname: [\n---\n")

    with pytest.raises(
        InvalidInput, match=r"/repository/.claude/skills/code-review/SKILL.md cannot be used: .* not YAML"
    ):
        open_skills(top, user).load("code-review")


def test_a_skill_without_a_name_has_that_of_its_folder(top: Path, user: Path) -> None:
    put(top / ".drumline/skills", "git-master", "---\ndescription: How commits are made.\n---\nOne thing each.\n")

    found = open_skills(top, user).find_skill("git-master")

    assert (found.name, found.description, found.fault) == ("git-master", "How commits are made.", "")


def test_a_description_may_have_colons_as_people_write_them(top: Path, user: Path) -> None:
    text = "---\ndescription: Use it for: reviews, fixes\nenabled_tools: fs_read, fs_grep\n---\nLook twice.\n"
    put(top / ".drumline/skills", "look", text)
    skills = open_skills(top, user)

    assert (skills.find_skill("look").description, skills.load("look")) == ("Use it for: reviews, fixes", "Look twice.")


def test_skills_that_come_with_a_flow_are_found_first(top: Path, user: Path) -> None:
    flow = top / "kit" / "agents" / "coder"
    flow.mkdir(parents=True)
    places = [flow / "skills", top / "kit" / "skills", top / ".drumline/skills"]
    for place in places:
        put(place, "code-review", f"text of {place}")
    skills = FolderSkills(places=search_path(top, {}), top=top).near(flow)

    told: list[str] = []
    for place in places:
        told.append(skills.load("code-review"))
        (place / "code-review" / "SKILL.md").unlink()

    assert told == [f"text of {place}" for place in places]
    assert skills.find_skill("code-review").origin == "shipped"


def test_a_flow_of_a_repository_finds_no_skills_beside_the_repository(top: Path, user: Path) -> None:
    put(top.parent / "skills", "secret", "not for it")
    flow = top / "flows"
    flow.mkdir()
    skills = FolderSkills(places=search_path(top, {}), top=top).near(flow)

    with pytest.raises(InvalidInput, match="no skill is called 'secret'") as refused:
        skills.load("secret")

    assert f"looked for secret/SKILL.md in {flow}/skills, {top}/.drumline/skills" in str(refused.value)
    assert str(top.parent / "skills") not in str(refused.value)


def test_a_text_that_is_not_utf8_is_a_fault(top: Path, user: Path) -> None:
    put(top / ".drumline/skills", "odd").write_bytes(b"---\nname: odd\xff\n---\n")

    assert fault_of(open_skills(top, user), "odd") == "SKILL.md is not UTF-8"


def test_a_long_text_is_cut_and_says_so(top: Path, user: Path) -> None:
    put(top / ".drumline/skills", "long", "ä" * MAX_BODY)

    text = open_skills(top, user).load("long")

    assert len(text.encode()) < MAX_BODY + 200
    assert "cut here" in text.splitlines()[-1]


def test_a_link_of_a_repository_leads_nowhere_outside(top: Path, user: Path, tmp_path: Path) -> None:
    secret = put(tmp_path / "elsewhere", "key", "secret")
    folder = top / ".drumline/skills"
    folder.mkdir(parents=True)
    (folder / "key").symlink_to(secret.parent)
    (folder / "file").mkdir()
    (folder / "file" / "SKILL.md").symlink_to(secret)
    skills = open_skills(top, user)

    assert "leads out" in fault_of(skills, "key")
    assert "leads out" in fault_of(skills, "file")


def test_what_is_no_folder_with_a_skill_is_passed_over(top: Path, user: Path) -> None:
    folder = top / ".drumline/skills"
    (folder / "empty").mkdir(parents=True)
    (folder / "README.md").write_text("hello")
    (folder / "pipe").mkdir()
    os.mkfifo(folder / "pipe" / "SKILL.md")

    assert [skill.name for skill in open_skills(top, user).list_skills()] == NAMES


@pytest.mark.parametrize("name", ["", ".", "..", "../code-review", "a/b", "Code-Review", "a" * 65, "x\n"])
def test_a_name_that_is_none_is_refused_before_any_path_is_made(name: str, top: Path, user: Path) -> None:
    with pytest.raises(InvalidInput, match="cannot be the name of a skill"):
        open_skills(top, user).load(name)


def test_a_skill_nobody_has_is_refused_with_those_there_are(top: Path, user: Path) -> None:
    with pytest.raises(InvalidInput, match=r"no skill is called 'gone' .*code-review") as refused:
        open_skills(top, user).load("gone")

    assert refused.value.hint == "drumline flow skills"


def test_the_command_lists_skills_for_people_and_for_scripts(
    top: Path, user: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(top / ".drumline/skills", "tidy")
    put(top / ".drumline/skills", "odd", "---\nname: [\n---\n")
    monkeypatch.chdir(top)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(user))

    shown = CliRunner().invoke(cli, ["flow", "skills"], catch_exceptions=False)
    data = read_object(CliRunner().invoke(cli, ["flow", "skills", "--json"], catch_exceptions=False).stdout)

    assert "tidy (repository): what it is for" in shown.stdout
    assert "odd (repository): cannot be used: " in shown.stdout
    assert "drumline flow skills" in shown.stderr
    assert data["schema_version"] == 1
    assert [skill["name"] for skill in json.loads(json.dumps(data["skills"]))] == sorted([*NAMES, "tidy", "odd"])


def test_the_command_prints_one_skill(top: Path, user: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(top / ".drumline/skills", "tidy", "# Tidy up")
    monkeypatch.chdir(top)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(user))

    shown = CliRunner().invoke(cli, ["flow", "skills", "tidy"], catch_exceptions=False)

    assert shown.stdout == "# Tidy up\n"


def test_shipped_skills_and_schemas_are_in_the_wheel(tmp_path: Path) -> None:
    source = Path(drumline.__file__).parents[2]

    built = next(WheelBuilder(str(source)).build(directory=str(tmp_path), versions=["standard"]))

    names = set(zipfile.ZipFile(built).namelist())
    assert {f"drumline/skills/shipped/{name}/SKILL.md" for name in NAMES} <= names
    assert "drumline/schemas/flow.schema.json" in names
