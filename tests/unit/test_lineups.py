"""Which models the tiers mean for programs that work with any provider."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from drumline.agents import goose, opencode, qwen
from drumline.agents.lineups import LINEUPS, line_up
from drumline.agents.program import Program
from drumline.cli.agents import describe_tiers
from drumline.core.flow.model import Json
from drumline.models.prices import find_price

VARIABLES = ("OPENCODE_CONFIG", "OPENCODE_CONFIG_DIR", "QWEN_HOME", "OPENAI_MODEL", "QWEN_MODEL", "OPENAI_BASE_URL")
FAST, STANDARD, STRONG = LINEUPS["anthropic"]


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home in which nothing is configured."""
    for name in (*VARIABLES, *opencode.KEYS, *goose.ELSEWHERE, "GOOSE_PROVIDER", "GOOSE_PATH_ROOT"):
        monkeypatch.delenv(name, raising=False)
    for name in ("CONFIG", "DATA", "STATE", "CACHE"):
        monkeypatch.delenv(f"XDG_{name}_HOME", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    return tmp_path


def write(place: Path, value: Json) -> None:
    """A file of settings."""
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(json.dumps(value))


def test_of_a_provider_that_nobody_knows_there_are_no_models() -> None:
    assert line_up("acme", own=False) == {}


def test_the_model_that_a_user_has_chosen_stays_the_standard_one() -> None:
    assert line_up("anthropic", own=True, prefix="p/") == {"fast": f"p/{FAST}", "strong": f"p/{STRONG}"}


@pytest.mark.parametrize("provider", ["anthropic", "openai", "google"])
def test_the_models_of_the_large_providers_have_a_price(provider: str) -> None:
    prices = [find_price(f"{provider}:{model}", {"input": 1e6, "output": 1e6}) for model in LINEUPS[provider]]

    assert None not in prices
    assert prices == sorted(prices, key=lambda price: price or 0.0)


@pytest.mark.parametrize("program", [opencode.PROGRAM, goose.PROGRAM, qwen.PROGRAM], ids=lambda program: program.name)
def test_where_nothing_is_configured_nothing_is_guessed(program: Program, home: Path) -> None:
    assert program.list_models(home) == {}


def test_opencode_takes_a_provider_whose_key_or_login_is_there(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = {"fast": f"anthropic/{FAST}", "standard": f"anthropic/{STANDARD}", "strong": f"anthropic/{STRONG}"}

    monkeypatch.setenv("ANTHROPIC_API_KEY", "k")
    by_key = opencode.suggest_models(home)
    monkeypatch.delenv("ANTHROPIC_API_KEY")
    write(home / ".local/share/opencode/auth.json", {"github": {}, "anthropic": {"type": "oauth"}})
    by_login = opencode.suggest_models(home)

    assert (by_key, by_login) == (whole, whole)


@pytest.mark.parametrize(
    "place", [".config/opencode/opencode.json", "work/opencode.json", "work/.opencode/opencode.jsonc"]
)
def test_opencode_keeps_the_model_of_its_configuration(place: str, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    write(home / place, {"model": "anthropic/claude-opus-4-5"})

    found = opencode.suggest_models(home / "work")

    assert found == {"fast": f"anthropic/{FAST}", "strong": f"anthropic/{STRONG}"}


def test_opencode_keeps_the_model_that_was_used_last(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    write(home / ".local/state/opencode/model.json", {"recent": [{"providerID": "anthropic", "modelID": "x"}]})

    assert opencode.suggest_models(home) == {"fast": f"anthropic/{FAST}", "strong": f"anthropic/{STRONG}"}


@pytest.mark.parametrize(
    "config",
    [
        {"model": "acme/large"},
        {"model": "anthropic/x", "provider": {"anthropic": {"options": {"baseURL": "http://127.0.0.1:1"}}}},
    ],
)
def test_opencode_guesses_nothing_of_others(config: Json, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "k")
    write(home / ".config/opencode/opencode.json", config)

    assert opencode.suggest_models(home) == {}


def test_opencode_with_a_configuration_that_is_no_plain_json_is_left_alone(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "k")
    (home / "opencode.jsonc").write_text('{ /* mine */ "model": "acme/large" }')

    assert opencode.suggest_models(home) == {}


@pytest.mark.parametrize("text", ["GOOSE_PROVIDER: anthropic\n", 'x: 1\nactive_provider: "anthropic"\n'])
def test_goose_has_the_models_of_its_provider_beside_its_own(text: str, home: Path) -> None:
    place = home / ".config/goose/config.yaml"
    place.parent.mkdir(parents=True)
    place.write_text(text)

    assert goose.suggest_models(home) == {"fast": FAST, "strong": STRONG}


def test_goose_at_another_address_is_not_guessed_about(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GOOSE_PROVIDER", "openai")
    known = goose.suggest_models(home)
    monkeypatch.setenv("OPENAI_HOST", "http://127.0.0.1:1")

    assert set(known) == {"fast", "strong"}
    assert goose.suggest_models(home) == {}


@pytest.mark.parametrize(
    ("address", "settings", "tiers"),
    [
        ("https://dashscope-intl.aliyuncs.com/compatible-mode/v1", {}, ["fast", "standard", "strong"]),
        ("https://dashscope.aliyuncs.com/v1", {"model": {"name": "mine"}}, ["fast", "strong"]),
        ("https://coding.dashscope.aliyuncs.com/v1", {}, []),
        ("http://127.0.0.1:1/v1", {}, []),
    ],
)
def test_qwen_has_models_where_it_talks_with_a_known_provider(
    address: str, settings: Mapping[str, Json], tiers: list[str], home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", address)
    write(home / ".qwen/settings.json", settings)

    assert list(qwen.suggest_models(home)) == tiers


@pytest.mark.parametrize(
    ("tiers", "efforts", "words"),
    [
        ({"fast": "", "standard": "", "strong": ""}, {}, "its own model for all of them"),
        ({"fast": "a", "standard": "", "strong": "b"}, {}, "fast a, standard its own model, strong b"),
        (
            {"fast": "", "strong": "b"},
            {"fast": "low", "strong": "high"},
            "fast its own model with low effort, strong b",
        ),
    ],
)
def test_people_are_told_which_tiers_have_no_model_of_ours(
    tiers: Mapping[str, str], efforts: Mapping[str, str], words: str
) -> None:
    assert describe_tiers(tiers, efforts) == words
