"""Pull requests, opened with the program of the forge."""

from __future__ import annotations

from pathlib import Path

import pytest

from drumline.app.pullrequest import PullRequest, choose_forge, open_request
from drumline.errors import InvalidInput, NeedsPerson

WANTED = PullRequest(head="drumline/p", base="main", title="The plan", body="Closes #7\n$(touch no)")


TYPED = {
    "gh": "pr create --head drumline/p --base main --title The_plan --body",
    "glab": "mr create --yes --source-branch drumline/p --target-branch main --title The_plan --description",
    "tea": "pulls create --head drumline/p --base main --title The_plan --description",
}


@pytest.mark.parametrize("program", TYPED)
def test_each_program_is_asked_in_its_own_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, program: str) -> None:
    fake = tmp_path / program
    fake.write_text('#!/bin/sh\nprintf "%s\\n" "$@" > typed\necho said\necho https://forge.example.org/pulls/1\n')
    fake.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")

    address = open_request(program, WANTED, top=tmp_path)

    words = [word.replace("_", " ") for word in TYPED[program].split()]
    assert address == "https://forge.example.org/pulls/1"
    assert (tmp_path / "typed").read_text().splitlines() == [*words, "Closes #7", "$(touch no)"]


def test_the_program_is_that_of_the_remotes_host_and_one_that_is_missing_is_named() -> None:
    def none(name: str) -> bool:
        return False

    assert choose_forge("https://github.com/a/b.git", lambda name: name == "gh") == "gh"
    assert choose_forge("git@gitlab.com:a/b.git", lambda name: True) == "glab"
    with pytest.raises(InvalidInput, match="needs one of gh, glab, tea, and it is not installed"):
        choose_forge("https://github.com/a/b.git", none)


def test_a_program_that_refuses_is_quoted_with_how_to_log_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "gh").write_text("#!/bin/sh\necho not logged in >&2\nexit 4\n")
    (tmp_path / "gh").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")

    with pytest.raises(NeedsPerson, match="gh could not open a pull request: not logged in"):
        open_request("gh", WANTED, top=tmp_path)
