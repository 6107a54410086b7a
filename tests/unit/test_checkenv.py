"""What of a person's environment a check sees."""

from __future__ import annotations

import pytest

from drumline.core.checkenv import choose_environment, looks_like_credential, tell_left_out

CREDENTIALS = (
    "GITHUB_TOKEN",
    "AWS_SECRET_ACCESS_KEY",
    "AWS_ACCESS_KEY_ID",
    "AWS_PROFILE",
    "PGPASSWORD",
    "DB_PASS",
    "NPM_AUTHTOKEN",
    "npm_config__auth",
    "GOOGLE_APPLICATION_CREDENTIALS",
    "SSH_AUTH_SOCK",
    "OPENAI_API_KEY",
)
HARMLESS = (
    "PATH",
    "HOME",
    "CI",
    "DATABASE_URL",
    "TOKENIZERS_PARALLELISM",
    "KEYBOARD",
    "COMPASS",
    "RUSTUP_HOME",
    "AUTHOR",
)


@pytest.mark.parametrize("name", CREDENTIALS)
def test_a_variable_that_is_named_like_a_credential_is_withheld(name: str) -> None:
    found = choose_environment({name: "x", "CI": "1"})

    assert name in found.unset
    assert found.withheld == (name,)


@pytest.mark.parametrize("name", HARMLESS)
def test_other_variables_stay(name: str) -> None:
    assert not looks_like_credential(name)


def test_what_the_setting_allows_stays_as_it_is() -> None:
    environ = {"GITHUB_TOKEN": "x", "DB_PASSWORD": "y", "PATH": "/repo/bin:/usr/bin"}

    found = choose_environment(environ, allowed=["GITHUB_*", "PATH"], checkout="/repo")

    assert found.withheld == ("DB_PASSWORD",)
    assert found.changed == {}


def test_folders_of_the_checkout_are_left_out_of_lists_and_others_stay_in_order() -> None:
    environ = {
        "PATH": "/repo/.venv/bin:/usr/bin:/repository/bin::/repo",
        "PYTHONPATH": "/repo/src",
        "NODE_PATH": "/usr/lib/node",
        "VIRTUAL_ENV": "/repo/.venv",
    }

    found = choose_environment(environ, checkout="/repo")

    assert found.changed == {"PATH": "/usr/bin:/repository/bin:", "PYTHONPATH": ""}
    assert "VIRTUAL_ENV" in found.unset
    assert found.left_out == {
        "PATH": ("/repo/.venv/bin", "/repo"),
        "PYTHONPATH": ("/repo/src",),
        "VIRTUAL_ENV": ("/repo/.venv",),
    }


def test_a_link_into_the_checkout_leads_there() -> None:
    found = choose_environment(
        {"PATH": "/home/me/bin:/usr/bin"},
        checkout="/repo",
        resolve=lambda path: path.replace("/home/me/bin", "/repo/bin"),
    )

    assert found.changed == {"PATH": "/usr/bin"}


def test_the_sentence_names_the_folders_and_what_to_do() -> None:
    told = tell_left_out({"PATH": ("/repo/.venv/bin",)})

    assert "PATH: /repo/.venv/bin" in told
    assert "configure a setup command" in told
    assert tell_left_out({}) == ""
