"""Drumline as `pip install drumline` leaves it: the wheel and what it requires, without any extra.

The packages are taken from the environment of the tests, so that no network is needed: what the wheel's own metadata
requires, and nothing else, is copied into a new environment.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import sysconfig
import venv
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import Distribution, distribution, distributions, requires
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from tests.acceptance.cli_user import PATIENCE, PLAN, SCRIPTED, Ran, User, leaving_nothing, make_user, step_text

ROOT = Path(__file__).resolve().parents[2]
SDKS = {"pydantic-ai-slim", "anthropic", "openai", "google-genai", "mcp", "fastmcp-slim", "cryptography"}
MOST_PACKAGES, MOST_MEGABYTES = 30, 60


@dataclass(frozen=True, kw_only=True, slots=True)
class Installed:
    """An environment with Drumline in it, and somebody who uses that one."""

    folder: Path
    user: User
    packages: frozenset[str]

    def drumline(self, *args: str) -> Ran:
        """Type a command of the installed program."""
        done = subprocess.run(
            [str(self.folder / "bin" / "drumline"), *args],
            cwd=self.user.repo,
            env=self.user.env,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
        )
        return Ran(code=done.returncode, out=done.stdout, err=done.stderr)


# Building and installing the wheel takes longer than anything else here; `test_extras.py` guards the imports each time.
pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installed]:
    folder = tmp_path_factory.mktemp("install")
    place = folder / "venv"
    venv.create(place, symlinks=True)
    wheel = build_wheel(folder)
    pip = [sys.executable, "-m", "pip", "--python", str(place / "bin" / "python"), "--disable-pip-version-check"]
    subprocess.run([*pip, "install", "--quiet", "--no-deps", "--no-index", str(wheel)], check=True)
    purelib = Path(sysconfig.get_path("purelib", vars={"base": str(place), "platbase": str(place)}))
    (ours,) = distributions(name="drumline", path=[str(purelib)])
    packages = find_required(ours)
    for name in packages:
        copy_package(distribution(name), purelib)
    subprocess.run([*pip, "check"], check=True)
    with leaving_nothing(folder):
        yield Installed(folder=place, user=make_user(folder, step_text("step-1")), packages=packages)


def build_wheel(folder: Path) -> Path:
    """The wheel, built from a copy of the sources."""
    source = folder / "source"
    source.mkdir()
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy2(ROOT / name, source)
    shutil.copytree(ROOT / "src", source / "src", ignore=shutil.ignore_patterns("__pycache__"))
    build = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(folder)]
    subprocess.run(build, cwd=source, check=True, capture_output=True)
    (wheel,) = folder.glob("*.whl")
    return wheel


def find_required(package: Distribution) -> frozenset[str]:
    """Every package that a package requires, directly or not, without any extra of its own."""
    found: set[str] = set()
    left = [Requirement(text) for text in package.requires or ()]
    while left:
        wanted = left.pop()
        if wanted.marker is not None and not wanted.marker.evaluate({"extra": ""}):
            continue
        assert not wanted.extras, wanted
        if wanted.name.lower() not in found:
            found.add(wanted.name.lower())
            left += [Requirement(text) for text in requires(wanted.name) or ()]
    return frozenset(found)


def copy_package(package: Distribution, purelib: Path) -> None:
    """Copy a package's files; its commands stay behind, they name another interpreter."""
    for file in package.files or ():
        if file.suffix != ".pyc" and ".." not in file.parts:
            target = purelib / file
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(str(file.locate()), target)


def test_it_is_small_and_brings_no_library_of_a_provider(installed: Installed) -> None:
    size = sum(path.stat().st_size for path in installed.folder.rglob("*") if path.is_file()) >> 20

    assert not installed.packages & SDKS
    assert len(installed.packages) < MOST_PACKAGES
    assert size < MOST_MEGABYTES


def test_a_plan_is_validated_and_run(installed: Installed) -> None:
    validated = installed.drumline("validate", PLAN)
    ran = installed.drumline("run", PLAN, "--agent", SCRIPTED, "--autonomy", "autopilot")
    looked = installed.drumline("status")

    assert (validated.code, ran.code, looked.code) == (0, 0, 0), ran.err
    assert "1 of 1 step" in looked.out + ran.err


@pytest.mark.parametrize(
    ("words", "extra"),
    [
        (("run", PLAN, "--new", "--agent", "builtin"), "models"),
        (("run", PLAN, "--new", "--agent", "builtin:anthropic:claude-opus-5-5"), "anthropic"),
        (("run", PLAN, "--new", "--agent", "builtin:groq:x"), "models"),
    ],
)
def test_what_needs_an_extra_says_the_command_that_installs_it(
    installed: Installed, words: tuple[str, ...], extra: str
) -> None:
    refused = installed.drumline(*words)

    assert refused.code == 3
    assert "which is not installed" in refused.err
    # The environment has no pip of its own.
    assert f"uv pip install --python {installed.folder / 'bin' / 'python'} 'drumline[{extra}]'" in refused.err
    assert "Traceback" not in refused.err


def test_a_flow_that_asks_a_model_says_the_command_before_it_starts(installed: Installed) -> None:
    flow = (
        "name: f\nstart: ask\nnodes:\n  ask:\n    type: llm\n    prompt: Hello\n    next: end\n  end:\n    type: end\n"
    )
    (installed.user.repo / "f.yaml").write_text(flow, encoding="utf-8")

    refused = installed.drumline("flow", "run", "f.yaml", "--model", "openai:gpt-6-luna")

    assert "'drumline[openai]'" in refused.err
    assert "Traceback" not in refused.err
