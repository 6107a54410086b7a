"""What speaks against working in the checkout itself."""

from __future__ import annotations

import pytest

from drumline.core.inplace import Checkout, find_objection


@pytest.mark.parametrize(
    "branch", ["main", "master", "Master", "develop", "development", "release/1.2", "release/1/2", "trunk", ""]
)
def test_a_branch_that_others_build_on_is_refused_by_name(branch: str) -> None:
    found = find_objection(Checkout(branch=branch, default="trunk"))

    assert found is not None
    assert repr(branch) in found.text or not branch
    assert found.hint == "git switch -c NAME"


@pytest.mark.parametrize("branch", ["feature/main", "mainline", "release", "developer", "my-release/1"])
def test_a_branch_of_ones_own_is_worked_on(branch: str) -> None:
    assert find_objection(Checkout(branch=branch, default="trunk")) is None
