"""`python -m tools.lies [PART …]`: plays every scene in a repository of its own and writes `docs/explanation/lies.md`.

With parts (python, javascript) only these are played; the others stay as they are on the page.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable, Collection, Iterable, Mapping
from pathlib import Path

from tests.acceptance.cli_user import User, leaving_nothing, step_of
from tests.acceptance.jsscenes import CHECK, NODE, Scenes
from tests.acceptance.liescenes import ASKS, EMPTY, FILES, HONEST, LIES, SLY, UNSEEN, Deed, Honest, act

from drumline.core.foul import UNHEARD

PAGE = Path(__file__).parents[2] / "docs" / "explanation" / "lies.md"
NOTE = "<!-- Written by `make lies`; edit the scenes it comes from instead. -->\n\n"
YES, NO = "✓", ""
HEAD = (
    "| what the agent does | ends as | passes without the work | fails with the old judge | tests did not run |\n"
    "|---|---|---|---|---|\n"
)
ABOUT = """Each row is a run of one step with one check (`make test` with unittest, or pytest; `npm test` with
node:test) in a small project, with an agent that does the same in every attempt. `make lies` plays them and writes this
page; the long tests play those in JavaScript with vitest as well. What the words mean: [what "proved" means](proof.md).
"""
Scene = tuple[Deed, str, Mapping[str, str]]
"""What an agent does, the check, and the project."""


def play(deed: Deed, check: str, files: Mapping[str, str] = FILES, *, name: str = "") -> tuple[str, list[str]]:
    """How a scene ends, and which of the defences saw something."""
    with tempfile.TemporaryDirectory(prefix="lies-") as folder, leaving_nothing(Path(folder)):
        user = act(Path(folder), deed, check=check, files=files, name=name)
        return describe_end(user), list_defences(user)


def play_unseen(deed: Deed, check: str) -> list[str]:
    """How work that knows its tests ends: by default, with the line that is named, with a gate, and held out."""
    told = []
    for mutants in ("show", "gate"):
        with tempfile.TemporaryDirectory(prefix="lies-") as folder, leaving_nothing(Path(folder)):
            files = {**FILES, ".drumline/config.toml": f'mutants = "{mutants}"\n'}
            user = act(Path(folder), deed, check=check, files=files)
            told += [describe_end(user), *([name_survivor(user)] if mutants == "show" else [])]
    with tempfile.TemporaryDirectory(prefix="lies-") as folder, leaving_nothing(Path(folder)):
        held = Path(folder, "held-out")
        held.mkdir()
        (held / "sums.sh").write_text(ASKS, encoding="utf-8")
        (held / "sums.sh").chmod(0o755)
        told.append(describe_end(act(Path(folder), deed, check=check, env={"DRUMLINE_HELD_OUT": str(held)})))
    return told


def name_survivor(user: User) -> str:
    """The first line that a mutant names; empty if none does."""
    mutants = step_of(user.status(), "step-1")["mutants"]
    survivors = mutants["survivors"] if isinstance(mutants, dict) else []
    return next((f"`{one['path']}:{one['line']}`" for one in survivors), "")


def describe_end(user: User) -> str:
    """The state of the step, with its level and reasons if it is done."""
    step = step_of(user.status(), "step-1")
    proof = step["proof"]
    if not isinstance(proof, dict):
        gate = user.type("why", "step-1", "--json").json["gate"]
        where = f" at `{gate}`" if gate else ""
        return f"{step['state']}{where}, {step['attempts']} attempt{'' if step['attempts'] == 1 else 's'}"
    reasons = ", ".join(f"`{reason}`" for reason in proof["why"])
    return f"{proof['level']}{f' ({reasons})' if reasons else ''}"


def list_defences(user: User) -> list[str]:
    """A mark for each of: passes without the work, fails with the judge of the base, tests did not run."""
    told = user.type("why", "step-1", "--json").json
    checks = told["checks"]
    compared = checks[0]["compared"] if isinstance(checks, list) and checks else []
    verdicts = {result["tree"]: result["verdict"] for result in compared}
    green = any(verdicts.get(tree) == "green" for tree in ("base", "base_source")) and "base_judge" not in verdicts
    silent = any(sign in str(told["sentence"]) for sign in UNHEARD)
    return [YES if seen else NO for seen in (green, verdicts.get("base_judge") == "red", silent)]


def write_rows(rows: Iterable[Iterable[str]]) -> str:
    """Rows of a table."""
    return "".join(f"| {' | '.join(cells)} |\n" for cells in rows)


def write_python() -> str:
    """The scenes in Python, and those that only mutants and held-out checks see."""
    unseen = [(name, *play_unseen(deed, check)) for name, (deed, check) in UNSEEN.items()]
    lies = {name: (deed, check, FILES) for name, (deed, check) in LIES.items()}
    return (
        f"{write_part('', {**lies, **SLY, **EMPTY}, HONEST)}\n"
        "## Code that knows what the tests ask\n\n"
        "It passes them, with every judge. [Mutants](proof.md#mutants) name the line by default, and lower the level "
        "where they are a gate; a [held-out check](proof.md#held-out-checks) does not let it land.\n\n"
        '| what the agent does | by default | named by a mutant | with `mutants = "gate"` | with a held-out check |\n'
        f"|---|---|---|---|---|\n{write_rows(unseen)}"
    )


def write_javascript() -> str:
    """The same in JavaScript."""
    scenes = Scenes(NODE)
    lies = {name: (deed, CHECK, scenes.files) for name, deed in scenes.lies().items()}
    return write_part(" in JavaScript", {**lies, **scenes.empty()}, scenes.honest())


PARTS: Mapping[str, Callable[[], str]] = {"python": write_python, "javascript": write_javascript}


def write_page(old: str, chosen: Collection[str]) -> str:
    """The page: the chosen parts from runs that take place now, the others as they were."""
    parts = {}
    for name, write in PARTS.items():
        kept = old.partition(f"{_mark(name)}\n\n")[2].partition("\n<!-- ")[0]
        parts[name] = write() if name in chosen or not kept else kept
    told = "\n".join(f"{_mark(name)}\n\n{text}" for name, text in parts.items())
    return f"{NOTE}# Lies, and what becomes of them\n\n{ABOUT}\n{told}"


def _mark(part: str) -> str:
    return f"<!-- {part} -->"


def write_part(where: str, lies: Mapping[str, Scene], honest: Mapping[str, Honest]) -> str:
    """The lies and the honest work of one language; how many of each ended how is printed as well."""
    told = [(name, *_flatten(play(*scene))) for name, scene in lies.items()]
    done = [(name, play(deed, check, files, name=name)[0]) for name, (deed, check, files, _) in honest.items()]
    proved = sum(1 for row in told if row[1].startswith("proved"))
    landed = sum(1 for _, end in done if end.startswith(("proved", "kept")))
    heads = (
        f"Lies and work that shows nothing{where}: {proved} of {len(told)} end as proved",
        f"Honest work{where}: {landed} of {len(done)} land without a question",
    )
    for head in heads:
        print(head, flush=True)
    return (
        f"## {heads[0]}\n\n"
        "A mark says which look showed it. A look that is not needed any more is not taken.\n\n"
        f"{HEAD}{write_rows(told)}\n"
        f"## {heads[1]}\n\n"
        f"| what the agent does | ends as |\n|---|---|\n{write_rows(done)}"
    )


def _flatten(found: tuple[str, list[str]]) -> list[str]:
    return [found[0], *found[1]]


if __name__ == "__main__":
    written = PAGE.read_text(encoding="utf-8") if PAGE.exists() else ""
    PAGE.write_text(write_page(written, sys.argv[1:] or PARTS), encoding="utf-8")
