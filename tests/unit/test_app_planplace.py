"""Where a plan to begin with is written: setuptools must not take it for a package."""

from __future__ import annotations

from pathlib import Path

import pytest

from drumline.app.planplace import choose_folder

BARE = '[build-system]\nrequires = ["setuptools"]\nbuild-backend = "setuptools.build_meta"\n[project]\nname = "x"\n'


@pytest.mark.parametrize(
    ("files", "folder"),
    [
        ({"pyproject.toml": BARE, "x/__init__.py": ""}, "docs/plans"),
        ({"pyproject.toml": '[project]\nname = "x"\n'}, "docs/plans"),
        ({}, "plans"),
        ({"pyproject.toml": BARE, "plans/old/root.md": "# Old\n"}, "plans"),
        ({"pyproject.toml": BARE, "src/x/__init__.py": ""}, "plans"),
        ({"pyproject.toml": f'{BARE}[tool.setuptools]\npackages = ["x"]\n'}, "plans"),
        ({"pyproject.toml": BARE, "setup.cfg": "[options]\npackages = find:\n"}, "plans"),
        ({"pyproject.toml": BARE.replace("setuptools.build_meta", "hatchling.build")}, "plans"),
        ({"pyproject.toml": "[[["}, "plans"),
        ({"pyproject.toml": 'tool = 3\nbuild-system = "x"\n'}, "plans"),
    ],
)
def test_a_plan_is_kept_from_the_packages_that_setuptools_finds(
    files: dict[str, str], folder: str, tmp_path: Path
) -> None:
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")

    assert choose_folder(tmp_path) == folder
