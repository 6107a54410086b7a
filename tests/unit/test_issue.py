"""Which program tells of an issue, and what is made of its answer."""

from __future__ import annotations

import pytest

from drumline.app.issue import choose_program, find_host


@pytest.mark.parametrize(
    ("url", "host"),
    [
        ("https://github.com/a/b.git", "github.com"),
        ("https://kim:secret@gitlab.example.org:8443/a/b", "gitlab.example.org"),
        ("git@github.com:a/b.git", "github.com"),
        ("ssh://git@codeberg.org:22/a/b.git", "codeberg.org"),
        ("codeberg.org:a/b", "codeberg.org"),
        ("/srv/git/b.git", ""),
        ("../b", ""),
        ("file:///srv/git/b.git", ""),
        ("https://[broken/a", ""),
        ("", ""),
    ],
)
def test_the_host_of_a_remote_is_read_from_its_address(url: str, host: str) -> None:
    assert find_host(url) == host


@pytest.mark.parametrize(
    ("host", "installed", "program"),
    [
        ("github.com", {"gh", "glab"}, "gh"),
        ("github.example.org", {"gh"}, "gh"),
        ("gitlab.com", {"gh", "glab"}, "glab"),
        ("codeberg.org", {"gh", "tea"}, "tea"),
        ("gitea.example.org", {"tea"}, "tea"),
        ("forgejo.example.org", {"tea"}, "tea"),
        ("git.example.org", {"glab"}, "glab"),
        ("git.example.org", {"gh", "glab"}, ""),
        ("git.example.org", set(), ""),
        ("github.com", {"glab"}, ""),
        ("", {"gh"}, ""),
    ],
)
def test_the_host_and_what_is_installed_choose_the_program(host: str, installed: set[str], program: str) -> None:
    assert choose_program(host, installed.__contains__) == program
