"""The shipped roles: their number, capabilities, limits and how they are found."""

from __future__ import annotations

import pytest

from drumline.core.roles import READ_ONLY, ROLES, Capability, find_role
from drumline.core.routing import TIERS


def test_the_known_roles_are_shipped_with_their_capabilities() -> None:
    counts = {c: sum(role.capability is c for role in ROLES.values()) for c in Capability}

    assert len(ROLES) == 39
    assert counts == {
        Capability.READ_ONLY: 7,
        Capability.READ_SHELL: 9,
        Capability.READ_WRITE: 6,
        Capability.FULL: 17,
    }


@pytest.mark.parametrize("name", ["code-reviewer", "code_reviewer", "Code-Reviewer", " CODE_reviewer "])
def test_a_role_is_found_in_any_spelling(name: str) -> None:
    found = find_role(name)

    assert found is not None
    assert found.name == "code-reviewer"


@pytest.mark.parametrize("name", ["", "wizard", "code reviewer", "coders"])
def test_an_unknown_role_is_not_found(name: str) -> None:
    assert find_role(name) is None


@pytest.mark.parametrize(
    ("name", "capability", "limits"),
    [
        ("architect", Capability.READ_ONLY, (15, 5, 0.3)),
        ("code-reviewer", Capability.READ_ONLY, (15, 5, 0.2)),
        ("debugger", Capability.READ_SHELL, (20, 8, 0.2)),
        ("copywriter", Capability.READ_WRITE, (20, 8, 0.3)),
        ("ux-designer", Capability.READ_WRITE, (20, 8, 0.2)),
        ("technical-writer", Capability.READ_WRITE, (15, 5, 0.3)),
        ("data-engineer", Capability.FULL, (20, 8, 0.2)),
        ("coder", Capability.FULL, (25, 10, 0.2)),
    ],
)
def test_a_role_has_the_limits_of_its_kind(name: str, capability: Capability, limits: tuple[int, int, float]) -> None:
    role = ROLES[name]

    assert role.capability is capability
    assert (role.turns, role.minutes, role.temperature) == limits


@pytest.mark.parametrize(
    ("capability", "writes"),
    [
        (Capability.READ_ONLY, False),
        (Capability.READ_SHELL, False),
        (Capability.READ_WRITE, True),
        (Capability.FULL, True),
    ],
)
def test_only_the_upper_two_capabilities_may_write(capability: Capability, writes: bool) -> None:
    assert capability.writes is writes


def test_every_role_is_complete() -> None:
    for name, role in ROLES.items():
        assert find_role(name) is role
        assert role.tier in TIERS
        assert role.prompt.endswith(".")


def test_a_role_that_may_only_read_is_told_so() -> None:
    told = {role.name for role in ROLES.values() if READ_ONLY in role.briefing}

    assert told == {role.name for role in ROLES.values() if not role.capability.writes}
    assert all(role.briefing.startswith(role.prompt) for role in ROLES.values())
