"""Every command of the README and the pages is run, in a repository that is as the page supposes.

A command of a page that cannot be run here is in `ELSEWHERE`, with what it needs and the test that plays it. The
tutorial has a test of its own, which compares what is printed, too.
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import click
import pytest
from tests.acceptance.cli_user import PLAN, Ran, User, leaving_nothing, make_user, step_text, write_plan, write_script
from tests.acceptance.test_documented_commands import PAGES, TOP, list_commands, split
from tests.acceptance.test_formats import STATE

from drumline.cli.main import cli

TUTORIAL = "docs/tutorial.md"
"""Its commands are typed by `test_tutorial.py`."""
DRIVES = re.compile(r"(run|do|resume|retry|heal|answer|verify|checks test|flow run|--debug|merge)\b(?!.*--dry-run)")
"""Commands that start processes of their own: in the short run a few of them are typed, in the long one all."""
SHORT = ("README.md", "docs/how-to.md")
FLOW = "examples/flows/fix-until-green"
WORDS: Mapping[str, str] = {
    "PLAN": PLAN,
    "DIR": "plans/native",
    "FOLDER": "plans/native",
    "STEP": "step-4",
    "FLOW": f"{FLOW}/graph.yaml",
    "FILE": f"{FLOW}/graph.yaml",
    "provider:model": f"scripted:{FLOW}/play.yaml",
    "command:$AGENT": "command:my-agent",
    "command:my-agent --print": "command:my-agent",
    "command:./scripts/my-agent.sh --print": "command:my-agent",
    "scripted:run.yaml": "scripted:agent.yaml",
}
"""What stands in for the names that pages leave open."""
ELSEWHERE: Mapping[str, tuple[str, str]] = {
    r"(do|run) .*--agent (claude|codex|gemini|opencode|qwen|goose|copilot|builtin|acp:|parrot|command:cursor)": (
        "a program of others, or a model",
        "tests/agents/test_conformance.py",
    ),
    r"agents test": ("a program of others, or a model", "tests/agents/test_trial.py"),
    r"do --issue": ("the login of a forge", "tests/acceptance/test_do.py"),
    r"merge --pr": ("the login of a forge", "tests/acceptance/test_merge.py"),
    r"run plans/p --agent command:echo": ("the plan that the page writes", "tests/acceptance/test_tutorial.py"),
    r"checks test": ("checks that notice what is emptied", "tests/acceptance/test_checks_test.py"),
    r"lessons (show|forget|import)": ("a lesson, and a file of lessons", "tests/acceptance/test_lessons.py"),
    r"answer judge-": ("work that changes its judge", "tests/acceptance/test_lies.py"),
    r"answer .*review#1/decide": ("a reviewer with findings", "tests/acceptance/test_review.py"),
    r"answer (review|who|--run|implement|coder#1|read)": ("a flow that asks", "tests/acceptance/test_flow_gates.py"),
    r"trust .*--only": ("the digest of a command", "tests/integration/test_trust.py"),
    r"pause": ("a run that is being driven", "tests/acceptance/test_parts_and_endings.py"),
    r"why (work|@final)|logs @final": ("a walk that has come there", "tests/acceptance/test_run_walks.py"),
}
"""Commands that need what a repository alone does not give: what that is, and who runs them."""
CODES: Mapping[str, int] = {
    r"run docs/maestro .*": 2,  # no command proves its steps, so a person is asked
    r"do .* --check npm .*": 2,  # there is no package.json, so the check fails
    r"validate plans/p --strict .*": 3,  # a warning is enough
}
"""What ends with another code than 0, and why."""

WORK = {"run": "date +%N > made.txt; echo 42 > answer.txt", "say": "done"}
"""What the scripted agent does for everybody but steps 1 to 9, which write a file each."""
Scene = Callable[[Path], User]


def fill(user: User) -> None:
    """Plans of all kinds that pages name, examples of flows, an agent, and settings."""
    files = {
        "TODO.md": "# Things\n\n- [ ] Write a file\n- [ ] Write another\n",
        "tasks.md": "# Things\n\n- [ ] Write a file\n- [ ] Write another\n",
        "task.md": "Write a file.\n",
        "specs/001-login/tasks.md": "# Tasks: Login\n\n- [ ] T001 Write the login in src/login.py\n",
        "specs/001-login/spec.md": "# Login\n",
        ".kiro/specs/login/tasks.md": "# Implementation Plan\n\n- [ ] 1. Write the login\n  - _Requirements: 1.1_\n",
        ".kiro/specs/login/requirements.md": "# Requirements\n",
        "openspec/changes/add-login/tasks.md": "## 1. Work\n\n- [ ] 1.1 Write the login\n",
        "openspec/changes/add-login/proposal.md": "# Add a login\n",
        "docs/maestro/state/active-session.md": f"---\n{json.dumps(STATE, indent=2)}\n---\n# Log\n",
        ".ai/specs/2435084-login/implement.md": "# Implementation Plan: Login\n\n## Steps\n\n### Step 1: Write it\n"
        "**Status:** pending\n**Files:** `1.txt`\n**What:** Write it.\n**Why:** It.\n**Test:** `test -f made.txt`\n",
        ".drumline/config.toml": 'agent = "scripted:agent.yaml"\nautonomy = "autopilot"\nmode = "sequential"\n',
        ".drumline/flows/reviewed.yaml": read_example("docs/how-to/change-how-a-step-is-done.md", "name: reviewed"),
        "Makefile": "test:\n\ttrue\n",
    }
    for name, text in files.items():
        (user.repo / name).parent.mkdir(parents=True, exist_ok=True)
        (user.repo / name).write_text(text, encoding="utf-8")
    write_plan(user.repo / "plans" / "search", step_text("step-1"))
    shutil.copytree(TOP / "examples" / "flows", user.repo / "examples" / "flows")
    shutil.copyfile(user.repo / FLOW / "graph.yaml", user.repo / "flow.yaml")
    write_script(user.repo / "agent.yaml", [], default=WORK)
    program = user.folder / "bin" / "my-agent"
    program.parent.mkdir()
    program.write_text(f"#!/bin/sh\ncat > /dev/null\n{WORK['run']}\nfor n in 1 2 3 4 5; do : > step-$n.txt; done\n")
    program.chmod(0o755)
    user.git("config", "user.name", "Kim")
    user.git("config", "user.email", "kim@example.org")
    user.commit_all("plans")


def read_example(page: str, begin: str) -> str:
    """The block of a page that begins so, without its indentation."""
    lines = (TOP / page).read_text(encoding="utf-8").splitlines()
    first = next(number for number, line in enumerate(lines) if line.strip() == begin)
    last = next(number for number in range(first, len(lines)) if lines[number].strip() == "```")
    margin = len(lines[first]) - len(lines[first].lstrip())
    return "".join(f"{line[margin:]}\n" for line in lines[first:last])


def make_new(folder: Path) -> User:
    """Nothing was ever run."""
    steps = [step_text("step-1"), *(step_text(f"step-{n}", ["step-1"]) for n in range(2, 6))]
    user = make_user(folder, *steps)
    fill(user)
    return user


def make_done(folder: Path) -> User:
    """A plan of five steps is done."""
    user = make_new(folder)
    ran = user.drumline("run", PLAN)
    assert ran.code == 0, ran.text
    return user


def make_begun(folder: Path) -> User:
    """The file of step 1 says that it is done."""
    user = make_new(folder)
    user.edit("step-1", "status: ready", "status: done")
    return user


def make_bare(folder: Path) -> User:
    """There is one plan, and one feature called login."""
    user = make_new(folder)
    for name in ("plans/search", "specs", ".kiro", "openspec"):
        shutil.rmtree(user.repo / name)
    return user


def make_shop(folder: Path) -> User:
    """A plan was converted."""
    user = make_new(folder)
    assert user.type("convert", "docs/maestro", "plans/shop").code == 0
    return user


def make_stuck(folder: Path, step: str = "step-4") -> User:
    """One step is blocked, the others are done."""
    user = make_new(folder)
    write_script(user.repo / "agent.yaml", [{"match": {"step": step}, "write": {"wrong.txt": "x\n"}}])
    ran = user.drumline("run", PLAN, env={"DRUMLINE_RETRIES": "0"})
    assert ran.code == 2, ran.text
    write_script(user.repo / "agent.yaml", [], default=WORK)
    return user


def make_stuck_third(folder: Path) -> User:
    """Step 3 is blocked."""
    return make_stuck(folder, "step-3")


def make_do(folder: Path) -> User:
    """A task is blocked."""
    user = make_new(folder)
    write_script(user.repo / "agent.yaml", [], default={"run": "echo x > wrong.txt", "say": "done"})
    ran = user.drumline("do", "Write it", "--check", "test -f made.txt", "--retries", "0")
    assert ran.code == 2, ran.text
    write_script(user.repo / "agent.yaml", [], default=WORK)
    return user


def make_doubtful(folder: Path) -> User:
    """All steps are done, and nothing proves one of them."""
    user = make_new(folder)
    ran = user.drumline("run", "TODO.md")
    assert ran.code == 2, ran.text
    return user


def make_asking(folder: Path) -> User:
    """The agent of step 4 asks something."""
    user = make_new(folder)
    ask = {"match": {"step": "step-4", "attempt": 1}, "ask": "Which table?"}
    write_script(user.repo / "agent.yaml", [ask])
    ran = user.drumline("run", PLAN)
    assert ran.code == 2, ran.text
    return user


def make_verbose(folder: Path) -> User:
    """Step 3 waits for an approval."""
    user = make_new(folder)
    ran = user.drumline("run", PLAN, "--only", "step-1", "--autonomy", "autopilot")
    user.git("merge", "-q", user.branch())
    ran = user.drumline("run", PLAN, "--only", "step-3", "--autonomy", "verbose")
    assert ran.code == 2, ran.text
    return user


def make_wave(folder: Path) -> User:
    """The second wave has landed and has something to look at."""
    user = make_new(folder)
    text = user.file("step-2") + "\n#### Manual Verification:\n\n- [ ] it reads well\n"
    user.path("step-2").write_text(text, encoding="utf-8")
    user.commit_all("manual")
    ran = user.drumline("run", PLAN, "--autonomy", "critical")
    assert ran.code == 2, ran.text
    return user


def make_answered(folder: Path) -> User:
    """The question after the second wave is answered, and nobody drives the run."""
    user = make_wave(folder)
    assert user.type("answer", "wave-2", "continue").code == 0
    return user


SCENES: Mapping[str, Scene] = {
    r"answer wave-2": make_wave,
    r"answer approve-step-3": make_verbose,
    r"answer question-step-4": make_asking,
    r"answer accept": make_doubtful,
    r"(retry|why|logs) do\b": make_do,
    r"(heal|retry) 3": make_stuck_third,
    r"(resume --step|retry|skip)\b": make_stuck,
    r"(--debug )?resume\b": make_answered,
    r"cancel\b": make_wave,
    r"validate plans/shop": make_shop,
    r"init --plan|run login": make_bare,
    r"run .*(--step 3|--step step-3|--only|--from)": make_begun,
    r"(init|validate|checks|graph|convert|run|do|trust|flow|agents|doctor|completions)\b": make_new,
    r"": make_done,
}
"""What a command supposes, by how it begins."""


def read_page(page: Path) -> Iterator[list[str]]:
    """The commands of a page as words, each once, with what stands in for open names."""
    seen: set[tuple[str, ...]] = {("do",)}  # without a task the page speaks of the command
    for _, command in list_commands(page.read_text(encoding="utf-8")):
        for part in re.split(r";\s+(?=drumline )", command):
            part = part.replace("--record FILE", "--record run.yaml")
            words = tuple(WORDS.get(word, word).replace("-STEP", "-step-4") for word in split(part))
            if words not in seen and not is_mention(words):
                seen.add(words)
                yield list(words)


def is_mention(words: Sequence[str]) -> bool:
    """Whether a page speaks of a command that cannot be typed so, because it needs to be told something."""
    command: click.Command = cli
    for word in words:
        if not isinstance(command, click.Group):
            return False
        command = command.get_command(click.Context(command), word) or command
    needed = [one for one in command.params if one.required]
    return bool(needed) and not isinstance(command, click.Group)


def find_elsewhere(words: list[str]) -> str:
    """The entry of what is not run here; empty if it is."""
    typed = " ".join(words)
    return next((entry for entry in ELSEWHERE if re.match(entry, typed)), "")


@pytest.fixture(scope="module")
def scenes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[list[str]], User]]:
    """A copy of the repository that a command supposes; each is made once."""
    made: dict[Scene, User] = {}
    folder = tmp_path_factory.mktemp("pages")

    def copy(words: list[str]) -> User:
        scene = next(found for entry, found in SCENES.items() if re.match(entry, " ".join(words)))
        if scene not in made:
            made[scene] = scene(make_folder(folder / scene.__name__))
        there = tmp_path_factory.mktemp("typed")
        shutil.copytree(made[scene].folder, there, symlinks=True, dirs_exist_ok=True)
        return User(folder=there, repo=there / "repo")

    with leaving_nothing(folder):
        yield copy


def make_folder(folder: Path) -> Path:
    folder.mkdir()
    return folder


def type_it(user: User, words: list[str]) -> Ran:
    """Type a command as a person does: one that drives in a process of its own."""
    env = {"PATH": f"{user.folder / 'bin'}:{user.env['PATH']}"}
    env |= {f"GIT_{who}_{what}": "kim" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    return (user.drumline if DRIVES.match(" ".join(words)) else user.type)(*words, env=env)


def run_page(page: Path, copy: Callable[[list[str]], User], chosen: Callable[[list[str]], bool]) -> list[str]:
    """Run the commands of a page; those that ended otherwise than they should, with what they said."""
    found = []
    for words in filter(chosen, read_page(page)):
        if find_elsewhere(words):
            continue
        user = copy(words)
        with leaving_nothing(user.folder):
            ran = type_it(user, words)
        typed = " ".join(words)
        code = next((code for entry, code in CODES.items() if re.fullmatch(entry, typed)), 0)
        if ran.code != code or "Traceback" in ran.err:
            found.append(f"drumline {typed}: {ran.code}, not {code}\n{ran.text[-1500:]}")
    return found


def pages() -> list[Path]:
    """Pages with commands that are run here."""
    return [page for page in PAGES if page != TOP / TUTORIAL and any(not find_elsewhere(w) for w in read_page(page))]


def name_page(page: Path) -> str:
    return page.relative_to(TOP).as_posix()


@pytest.mark.parametrize("page", [TOP / name for name in SHORT], ids=name_page)
def test_the_commands_of_the_first_pages_that_only_look_do_what_they_say(
    page: Path, scenes: Callable[[list[str]], User]
) -> None:
    assert run_page(page, scenes, lambda words: not DRIVES.match(" ".join(words))) == []


@pytest.mark.long
@pytest.mark.timeout(900)
@pytest.mark.parametrize("page", pages(), ids=name_page)
def test_every_command_of_a_page_does_what_it_says(page: Path, scenes: Callable[[list[str]], User]) -> None:
    assert run_page(page, scenes, lambda words: True) == []


@pytest.mark.parametrize("entry", ELSEWHERE)
def test_what_is_not_run_here_is_on_a_page_and_run_by_the_test_that_is_named(entry: str) -> None:
    _, test = ELSEWHERE[entry]
    text = (TOP / test).read_text(encoding="utf-8")
    listed = [words for page in PAGES for words in read_page(page) if words and find_elsewhere(words) == entry]

    assert listed != []
    assert any(f'"{words[0]}"' in text or f"drumline {words[0]}" in text for words in listed) or "--agent" in entry
