"""What an agent that asks may do, where there are folders beside its workspace."""

from __future__ import annotations

from pathlib import Path

from drumline.agents.acp_policy import Policy


def test_a_plain_name_is_one_of_the_workspace_also_where_other_folders_are_lent(tmp_path: Path) -> None:
    workspace, lent, outside = (tmp_path / name for name in ("work", "lent", "outside"))
    for folder in (workspace, lent, outside):
        folder.mkdir()
    (workspace / "link").symlink_to(outside)
    policy = Policy(workspace=workspace, writable=(lent,))

    inside = {path: policy.is_inside(path) for path in ("a.txt", "link/a.txt", "../b.txt", str(lent / "c.txt"))}

    assert inside == {"a.txt": True, "link/a.txt": False, "../b.txt": False, str(lent / "c.txt"): True}
