"""Disks that really fill up or become read-only in the middle of a run: a reason and what to do, and a resume works."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.acceptance.cli_user import leaving_nothing, make_user, states_of, step_text, wait_for

STATE = "repo/.git/drumline"
"""Where the journal and the logs are, below the user's folder."""
WORK = "home/state"
"""Where worktrees are."""
SAID = ("No space left", "Out of diskspace", "disk is full", "Read-only", "readonly")


class Small:
    """A disk of 4 MB that can be filled."""

    fault = "head -c 16m /dev/zero > {0}/fill 2>/dev/null; true"

    def __init__(self, image: Path, place: Path) -> None:
        self.place = place
        run("mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", str(place))

    def repair(self) -> None:
        """Give the space back."""
        (self.place / "fill").unlink(missing_ok=True)


class Failing:
    """A disk that the kernel makes read-only while files are open, as it does when a real one fails."""

    fault = "mount -o remount,abort {0}"

    def __init__(self, image: Path, place: Path) -> None:
        self.image, self.place = image, place
        with image.open("wb") as file:
            file.truncate(24 << 20)
        run("mkfs.ext4", "-q", "-F", str(image))
        run("mount", "-o", "loop", str(image), str(place))

    def repair(self) -> None:
        """Check the disk and mount it again."""
        run("umount", str(self.place))
        # A jail that was started meanwhile has the disk mounted as well, and then it would come back as it failed.
        wait_for(self._is_let_go, "the disk is still mounted elsewhere")
        run("e2fsck", "-fy", str(self.image), accept=(0, 1))
        run("mount", "-o", "loop", str(self.image), str(self.place))

    def _is_let_go(self) -> bool:
        devices = subprocess.run(["losetup", "-j", str(self.image)], check=True, capture_output=True)
        return not devices.stdout


def run(*words: str, accept: Sequence[int] = (0,)) -> None:
    done = subprocess.run(words, check=False, capture_output=True, text=True)
    if done.returncode not in accept:
        raise OSError(f"{words}: {done.stderr}")


@contextmanager
def open_disk(kind: type[Small | Failing], folder: Path, place: str) -> Iterator[Small | Failing]:
    """A disk of its own at one place below the folder; skips the test where nothing may be mounted."""
    where = folder / place
    where.mkdir(parents=True, exist_ok=True)
    try:
        disk = kind(folder / "disk.img", where)
    except OSError as error:
        pytest.skip(f"nothing can be mounted here: {error}")
    try:
        yield disk
    finally:
        subprocess.run(["umount", "--lazy", str(where)], check=False)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can mount a disk")
@pytest.mark.parametrize("kind", [Small, Failing], ids=["full", "read-only"])
@pytest.mark.parametrize(
    ("place", "by"),
    [
        (STATE, "agent"),
        (WORK, "check"),
        pytest.param(STATE, "check", marks=pytest.mark.long),
        pytest.param(WORK, "agent", marks=pytest.mark.long),
    ],
)
def test_a_disk_that_fails_in_mid_run_is_a_reason_and_a_resume_continues(
    tmp_path: Path, place: str, kind: type[Small | Failing], by: str
) -> None:
    user = make_user(tmp_path, step_text("step-1"), step_text("step-2", ["step-1"]))
    with leaving_nothing(tmp_path), open_disk(kind, tmp_path, place) as disk:
        fault = disk.fault.format(tmp_path / place)
        command = f"[ -e {tmp_path}/failed ] || {{ touch {tmp_path}/failed; {fault}; }}"
        if by == "agent":
            user.play({"match": {"step": "step-1"}, "write": {"step-1.txt": "1\n"}, "run": command})
        else:
            user.path("step-1").write_text(step_text("step-1", checks=[command]), encoding="utf-8")
            user.commit_all("check")

        unheld = {"DRUMLINE_SANDBOX": "off"}  # a check that is held cannot harm the disk
        failed = user.run(env=unheld)
        disk.repair()
        resumed = user.drumline("resume", env=unheld)
        if resumed.code:
            resumed = user.drumline("retry", "step-1", "--resume", env=unheld)

        assert failed.code in (1, 2), failed.text
        assert "Traceback" not in failed.text + resumed.text
        assert any(words in failed.text for words in SAID), failed.text
        assert "drumline re" in failed.text
        assert resumed.code == 0, failed.text + resumed.text
        assert states_of(user.status()) == {"step-1": "done", "step-2": "done"}
        assert (user.landed("step-1.txt"), user.landed("step-2.txt")) == ("1", "2")
        assert user.git("fsck", "--no-dangling") == ""


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can mount a disk")
@pytest.mark.parametrize("kind", [Small, Failing], ids=["full", "read-only"])
def test_a_run_that_cannot_be_started_says_why(tmp_path: Path, kind: type[Small | Failing]) -> None:
    user = make_user(tmp_path, step_text("step-1"))
    with leaving_nothing(tmp_path), open_disk(kind, tmp_path, STATE) as disk:
        subprocess.run(["bash", "-c", disk.fault.format(tmp_path / STATE)], check=True)

        refused = user.run()
        looked = user.drumline("doctor")
        disk.repair()
        ran = user.run()

        assert refused.code == 1, refused.text
        assert "Traceback" not in refused.text + looked.text
        assert any(words in refused.text for words in SAID), refused.text
        assert "next: " in refused.text
        assert ran.code == 0, ran.text
