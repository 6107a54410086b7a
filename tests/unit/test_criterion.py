"""Which items of a list of checks are commands: the shapes in which people write them."""

from __future__ import annotations

import pytest

from drumline.planfiles.criterion import read_criterion

PROGRAMS = frozenset({"make", "pytest", "users", "find", "script", "true"})


def command_of(text: str) -> str:
    """The command of an item, on a machine with a few programs."""
    return read_criterion(text, PROGRAMS.__contains__).command


def fault_of(text: str) -> str:
    """Why an item is not run."""
    return read_criterion(text, PROGRAMS.__contains__).fault


@pytest.mark.parametrize(
    ("text", "command"),
    [
        ("`bun test src/a.test.ts`", "bun test src/a.test.ts"),
        ("Types check: `pnpm tsc --noEmit`", "pnpm tsc --noEmit"),
        ("`make lint` clean (incl. the new rule)", "make lint"),
        ("Run `pnpm test` — passes for `src/cart`", "pnpm test"),
        ("**Run:** `pytest -q tests/a.py` and see `1 passed`", "pytest -q tests/a.py"),
        ("Nothing is left over, re-run `git status --short`; prints no `M`", "git status --short"),
        ("All is well: `make`", "make"),
        ("`make` passes", "make"),
        ("`pytest` is green", "pytest"),
        ("Run `make`.", "make"),
        ("`./check.sh`", "./check.sh"),
        ("End to end: `scripts/e2e.sh`", "scripts/e2e.sh"),
        ("`bin/verify` succeeds", "bin/verify"),
        ("No leftovers: `! grep -rn old src/`", "! grep -rn old src/"),
        ("`E2E=1 bun run test:root -- a`", "E2E=1 bun run test:root -- a"),
        ("`for f in a b; do test -f $f; done`", "for f in a b; do test -f $f; done"),
        ("`{ make a; make b; }`", "{ make a; make b; }"),
        ("`(cd web && npm test)`", "(cd web && npm test)"),
        ("`[ -f a ] && test 1 = 1`", "[ -f a ] && test 1 = 1"),
        ("`go test ./...`", "go test ./..."),
        ("`test ! -f old.sh`", "test ! -f old.sh"),
        ("`grep -n '## <path>' a.md`", "grep -n '## <path>' a.md"),
        ("`sort < a.txt`", "sort < a.txt"),
        ("`diff <(sort a) <(sort b)`", "diff <(sort a) <(sort b)"),
        ("`Rscript tests/all.R`", "Rscript tests/all.R"),
    ],
)
def test_a_command_is_run_as_it_is_written(text: str, command: str) -> None:
    assert command_of(text) == command


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("the page loads without errors", "no command in backticks"),
        ("`bun`", "no program on this machine is called `bun`"),
        ("Tests pass: `bun`", "no program on this machine is called `bun`"),
        ("`Cart.total` passes", "`Cart.total` is a word"),
        ("`cart` is exported", "`cart` is a word"),
        ("table `users` exists", "`users` is a word"),
        ("`users` table was migrated", "`users` is a word"),
        ("the prompt offers `find`", "`find` is a word"),
        ("`src/cart.ts` exports the type", "`src/cart.ts` is a word"),
        ("`docs/api/**` is up to date", "is a word"),
        ("`LIMIT=2` is honoured", "is a word"),
        ("served at `http://localhost:5193`", "is a word"),
        ("`--dry-run` is accepted", "is a word"),
        ("`claim()` returns once", "is a word"),
        ("needs a placeholder: `fly logs -a <app>`", "placeholder"),
        ("`bun run scripts/e2e.ts ...` passes", "placeholder"),
        ("`npm test` and `npm run lint` pass", "2 texts in backticks, and none of them follows the word Run"),
        ("Run `make a` and then run `make b`", "2 texts in backticks, and more than one follows the word Run"),
        ("Run `npm test` in `web/`", "another folder"),
        ("importable: run `uv run python -c 'import x'` (from `packages/p/`)", "another folder"),
        ("`SELECT * FROM carts` is empty", "a query"),
        ("`GET /api/carts` answers 200", "a request"),
        ("`kind === 'loop'` is checked", "an expression"),
        ("`notified IS NULL` rows are taken", "an expression"),
        ("`alpha=1, beta=1` are the defaults", "a list of values"),
        ('`"version": "1.7.0"` in all files', "a list of values"),
        ("returns `{ trigger: null }`", "a value"),
        ("Validate the scripts with `bash -n`", "an interpreter without a file"),
        ("`isOwned('/a', 'b')` is true", "a call of a function"),
        ("`(args) => args.x + 1` is compiled", "an expression"),
        ("`const x = 1` stays", "a line of code"),
        ("indexes: `\\d carts` shows them", "not written as a command"),
        ("the job `Publish Docker Image` is green", "a sentence"),
        ("`the tests still pass`", "a sentence"),
        ("`` ` ``", "is a word"),
    ],
)
def test_what_is_no_command_is_not_run_and_says_why(text: str, fault: str) -> None:
    assert command_of(text) == ""
    assert fault in fault_of(text)
