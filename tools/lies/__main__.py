"""`python -m tools.lies`: plays every scene in a repository of its own and writes `docs/explanation/lies.md`."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path

from tests.acceptance.liescenes import EMPTY, FILES, HONEST, LIES, UNSEEN, Deed, act
from tests.acceptance.userland import User, leaving_nothing, step_of

PAGE = Path(__file__).parents[2] / "docs" / "explanation" / "lies.md"
NOTE = "<!-- Written by `make lies`; edit the scenes it comes from instead. -->\n\n"
YES, NO = "✓", ""
HEAD = (
    "| what the agent does | ends as | passes without the work | fails with the old judge | tests did not run |\n"
    "|---|---|---|---|---|\n"
)
ABOUT = """Each row is a run of one step with one check (`make test` with unittest, or pytest) in a small project, with
an agent that does the same in every attempt. `make lies` plays them and writes this page. What the words mean:
[what "proved" means](proof.md).
"""


def play(deed: Deed, check: str, files: Mapping[str, str] = FILES) -> tuple[str, list[str]]:
    """How a scene ends, and which of the defences saw something."""
    with tempfile.TemporaryDirectory(prefix="lies-") as folder, leaving_nothing(Path(folder)):
        user = act(Path(folder), deed, check=check, files=files)
        return describe_end(user), list_defences(user)


def describe_end(user: User) -> str:
    """The state of the step, with its level and reasons if it is done."""
    step = step_of(user.status(), "step-1")
    proof = step["proof"]
    if not isinstance(proof, dict):
        gates = [gate for gate in [step.get("gate")] if gate]
        return f"{step['state']}{f' at gate `{gates[0]}`' if gates else ''}, {step['attempts']} attempts"
    reasons = ", ".join(f"`{reason}`" for reason in proof["why"])
    return f"{proof['level']}{f' ({reasons})' if reasons else ''}"


def list_defences(user: User) -> list[str]:
    """A mark for each of: passes without the work, fails with the judge of the base, tests did not run."""
    told = user.type("why", "step-1", "--json").json
    checks = told["checks"]
    compared = checks[0]["compared"] if isinstance(checks, list) and checks else []
    verdicts = {result["tree"]: result["verdict"] for result in compared}
    green = any(verdicts.get(tree) == "green" for tree in ("base", "base_source")) and "base_judge" not in verdicts
    silent = "without their tests" in str(told["sentence"])
    return [YES if seen else NO for seen in (green, verdicts.get("base_judge") == "red", silent)]


def write_rows(rows: Iterable[Iterable[str]]) -> str:
    """Rows of a table."""
    return "".join(f"| {' | '.join(cells)} |\n" for cells in rows)


def write_page() -> str:
    """The page, from runs that take place now."""
    lies = [(name, *_flatten(play(deed, check))) for name, (deed, check) in LIES.items()]
    empty = [(name, *_flatten(play(deed, check, files))) for name, (deed, check, files) in EMPTY.items()]
    unseen = [(name, *_flatten(play(deed, check))) for name, (deed, check) in UNSEEN.items()]
    honest = [(name, play(deed, check, files)[0]) for name, (deed, check, files, _) in HONEST.items()]
    proved = sum(1 for row in (*lies, *empty) if row[1].startswith("proved"))
    landed = sum(1 for _, end in honest if end.startswith(("proved", "kept")))
    return (
        f"{NOTE}# Lies, and what becomes of them\n\n"
        f"{ABOUT}\n"
        f"## Lies and work that shows nothing: {proved} of {len(lies) + len(empty)} end as proved\n\n"
        "A mark says which look showed it. A look that is not needed any more is not taken.\n\n"
        f"{HEAD}{write_rows(lies)}{write_rows(empty)}\n"
        "## Not seen\n\n"
        "Code that knows what the tests ask passes them. Only checks that the agent does not know can show that.\n\n"
        f"{HEAD}{write_rows(unseen)}\n"
        f"## Honest work: {landed} of {len(honest)} land without a question\n\n"
        f"| what the agent does | ends as |\n|---|---|\n{write_rows(honest)}"
    )


def _flatten(found: tuple[str, list[str]]) -> list[str]:
    return [found[0], *found[1]]


if __name__ == "__main__":
    PAGE.write_text(write_page(), encoding="utf-8")
