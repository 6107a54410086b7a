"""What counts as a secret, and that nothing of it is left in a text or a value."""

from __future__ import annotations

import json
import time

import pytest

from drumline.core.redaction import HIDDEN, Redaction, Secrets, read_redaction

HUNTER = "hunter2-hunter2"


@pytest.mark.parametrize(
    "name",
    ["API_KEY", "MY_APIKEY", "GITHUB_TOKEN", "TOKENS", "DB_PASSWORD", "client_secret", "KEY_ID"],
)
def test_a_variable_named_like_a_secret_is_one(name: str) -> None:
    assert read_redaction({name: HUNTER}).hide(f"it is {HUNTER}!") == f"it is {HIDDEN}!"


@pytest.mark.parametrize("name", ["HOME", "KEYBOARD", "MONKEY", "TOKEN_FILE", "SSH_KEY_PATH", "SECRETS_DIR", "COMPASS"])
def test_other_variables_are_none_nor_are_those_that_say_where_one_is(name: str) -> None:
    assert read_redaction({name: HUNTER}).hide(HUNTER) == HUNTER


def test_a_short_value_is_a_word_like_any_other() -> None:
    assert read_redaction({"API_KEY": "secret"}).hide("a secret") == "a secret"


def test_all_environments_count() -> None:
    redaction = read_redaction({"A_TOKEN": "first-secret"}, {"B_TOKEN": "second-secret", "ROOT": "a-long-folder"})

    assert redaction.hide("first-secret second-secret a-long-folder") == f"{HIDDEN} {HIDDEN} a-long-folder"


def test_a_secret_is_found_in_json_too() -> None:
    value = 'pass"word\\ with\nlines and é'
    redaction = read_redaction({"DB_PASSWORD": value})

    for text in (json.dumps({"said": value}), json.dumps({"said": value}, ensure_ascii=False)):
        assert json.loads(redaction.hide(text)) == {"said": HIDDEN}
        assert redaction.is_revealing(text.encode())


def test_a_value_has_no_secret_left_at_any_depth() -> None:
    redaction = Redaction(secrets=Secrets(values=(HUNTER,)))

    found = redaction.hide_value({"a": [HUNTER, {"b": f"x{HUNTER}"}], HUNTER: 1, "n": None, "t": True, "f": 1.5})

    assert found == {"a": [HIDDEN, {"b": f"x{HIDDEN}"}], HIDDEN: 1, "n": None, "t": True, "f": 1.5}


def test_the_end_of_a_text_does_not_begin_with_the_rest_of_a_secret() -> None:
    redaction = Redaction(secrets=Secrets(values=(HUNTER,)))

    assert redaction.hide_end(f"{HUNTER[3:]} and {HUNTER}") == f"{HIDDEN} and {HIDDEN}"
    assert redaction.hide_end(f"and {HUNTER}") == f"and {HIDDEN}"


PEM = "-----BEGIN RSA PRIVATE KEY-----\nabc\n-----END RSA PRIVATE KEY-----"


@pytest.mark.parametrize(
    "key",
    [
        "sk-ant-" + "a1" * 10,
        "sk-" + "a1" * 8,
        *(f"gh{kind}_" + "a1" * 15 for kind in "pousr"),
        "github_pat_" + "a1_" * 14,
        "glpat-" + "a1" * 10,
        "AKIA" + "A1" * 8,
        "ASIA" + "A1" * 8,
        "AIza" + "a" * 35,
        *(f"xox{kind}-" + "1" * 10 for kind in "abeprs"),
        "npm_" + "a1" * 18,
        "hf_" + "a1" * 15,
        f"eyJ{'a' * 10}.eyJ{'b' * 10}.{'c' * 10}",
        PEM,
        PEM.replace("RSA ", ""),
        PEM.partition("-----END")[0],
    ],
)
def test_a_text_shaped_like_a_well_known_key_is_a_secret(key: str) -> None:
    redaction = Redaction()

    assert redaction.hide(f"é: {key}") == f"é: {HIDDEN}"
    assert redaction.is_revealing(f"é: {key}".encode())


@pytest.mark.parametrize("text", ["ask-me-about-risk-management", "sk-short", "eyJab.eyJab.c", "-----BEGIN here"])
def test_a_text_that_only_looks_a_little_like_a_key_is_none(text: str) -> None:
    redaction = Redaction()

    assert redaction.hide(text) == text
    assert not redaction.is_revealing(text.encode())


@pytest.mark.parametrize("piece", ["eyJaaaaaaaaaaaa-", "sk-", "-----BEGIN ", "-----BEGIN PRIVATE KEY", "A1"])
def test_a_long_text_full_of_beginnings_takes_time_in_proportion_to_its_length(piece: str) -> None:
    def measure(length: int) -> float:
        text = piece * (length // len(piece))
        began = time.process_time()
        Redaction().hide(text)
        return time.process_time() - began

    short = max(measure(100_000), 0.001)

    assert measure(800_000) < 30 * short
