"""What a recording writes, the scripted agent reads; a patch is applied whole, inside the workspace, or not at all."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.integration.test_scripted_agent import play, problems_of

from drumline.agents.script import read_script
from drumline.app.edits import Edits
from drumline.app.recording import Concluded, write_rule
from drumline.core.redaction import Redaction, Secrets, read_redaction

NOTHING = Redaction(secrets=Secrets())
HEAD = """\
diff --git a/{0} b/{0}
new file mode 100644
index 0000000..587be6b
--- /dev/null
+++ b/{0}
@@ -0,0 +1 @@
+x
"""


def write_script(path: str) -> str:
    """A script that makes a file by a patch."""
    return yaml.safe_dump({"rules": [{"patch": HEAD.format(path), "say": "ok"}]})


texts = st.text(alphabet=st.one_of(st.sampled_from(" \n\r\t'\"|:#-{}\x00\x85\u2028\ufeff\ud800é😀"), st.characters()))
patches = st.one_of(st.binary(), texts.map(lambda text: text.encode("utf-8", "surrogatepass")))


@settings(deadline=None)
@given(said=texts, patch=patches, failed=st.booleans())
def test_whatever_was_said_and_done_is_read_as_it_was_written(
    tmp_path_factory: pytest.TempPathFactory, said: str, patch: bytes, failed: bool
) -> None:
    concluded = Concluded(
        match={"step": "01", "node": "on", "attempt": 2, "scope": "", "visit": 1},
        edits=Edits(patch=b"diff --git " + patch, write={"a: b": said.encode("utf-8", "replace").decode()}),
        said=said,
        failure="crash" if failed else "",
        usage={"input": 3},
    )
    file = tmp_path_factory.mktemp("script") / "r.yaml"
    file.write_text("rules:\n" + write_rule(concluded, NOTHING) * 2, encoding="utf-8", newline="")

    first, second = read_script(file).rules

    clean = said.encode("utf-8", "replace").decode()
    assert first == second
    assert first.fits("01", "on", 2, scope="", visit=1)
    assert not first.fits("1", "on", 2, scope="", visit=1)
    assert first.act.patch == b"diff --git " + patch
    assert first.act.write == {"a: b": clean}
    assert (first.act.message if failed else first.act.say) == clean


def test_a_patch_is_applied_in_a_folder_without_a_repository(tmp_path: Path) -> None:
    outcome = play(tmp_path, write_script("deep/a.txt"))

    assert outcome.message == "ok"
    assert (tmp_path / "work/deep/a.txt").read_text() == "x\n"


def test_in_a_folder_of_a_repository_a_patch_counts_from_that_folder(tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)

    outcome = play(tmp_path, write_script("a.txt"))

    assert outcome.message == "ok"
    assert (tmp_path / "work/a.txt").read_text() == "x\n"
    assert not (tmp_path / "a.txt").exists()


def test_a_patch_that_is_played_again_changes_nothing(tmp_path: Path) -> None:
    play(tmp_path, write_script("a.txt"))

    outcome = play(tmp_path, write_script("a.txt"))

    assert outcome.message == "ok"
    assert (tmp_path / "work/a.txt").read_text() == "x\n"


def test_a_patch_that_does_not_fit_fails_for_good_and_does_nothing(tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    (tmp_path / "work/b.txt").write_text("another\n")
    script = yaml.safe_dump({"rules": [{"patch": HEAD.format("a.txt") + HEAD.format("b.txt"), "say": "ok"}]})

    outcome = play(tmp_path, script)

    assert outcome.failure == "permanent"
    assert "b.txt: already exists" in outcome.message
    assert not (tmp_path / "work/a.txt").exists()


@pytest.mark.parametrize("path", ["../out.txt", "link/out.txt", ".git/hooks/post-checkout", "sub/../../out.txt"])
@pytest.mark.parametrize("repository", [True, False])
def test_a_patch_reaches_nothing_outside_and_nothing_of_git(tmp_path: Path, path: str, repository: bool) -> None:
    (tmp_path / "work").mkdir()
    (tmp_path / "beside").mkdir()
    (tmp_path / "work/link").symlink_to("../beside")
    if repository:
        subprocess.run(["git", "init", "-q", str(tmp_path / "work")], check=True)

    outcome = play(tmp_path, write_script(path))

    assert outcome.failure == "permanent"
    assert not (tmp_path / "out.txt").exists()
    assert list((tmp_path / "beside").iterdir()) == []
    assert not (tmp_path / "work/.git/hooks/post-checkout").exists()


@pytest.mark.parametrize(
    ("act", "said"),
    [
        ("kill -STOP $$", "git apply did not end within 1 s (it was stopped, or hangs) and was killed"),
        ("exec sleep 1000", "git apply did not end within 1 s"),
        ("kill -9 $$", "git apply was killed by signal 9"),
    ],
)
def test_a_git_that_hangs_or_is_killed_over_a_patch_is_lost_not_failed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, act: str, said: str
) -> None:
    git = shutil.which("git")
    shim = tmp_path / "bin" / "git"
    shim.parent.mkdir()
    lines = f'for word in "$@"; do if [ "$word" = apply ]; then {act}; exit 1; fi; done; exec {git} "$@"'
    shim.write_text(f"#!/bin/bash\n{lines}\n", encoding="utf-8")
    shim.chmod(0o755)
    monkeypatch.setenv("PATH", f"{shim.parent}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setattr("drumline.agents.patching.LIMIT", 1.0)

    outcome = play(tmp_path, write_script("a.txt"))

    assert outcome.failure == "killed"
    assert outcome.message.startswith(said)


def test_what_is_no_patch_of_gits_is_told_when_the_script_is_opened(tmp_path: Path) -> None:
    script = "rules:\n  - {patch: hello}\n  - {patch: [x]}\n  - {patch: !!binary 'aGVsbG8='}\n"

    assert problems_of(tmp_path, script) == [
        "play.yaml:2: patch must begin with 'diff --git ', as git prints it",
        "play.yaml:3: patch must be text",
        "play.yaml:3: patch must begin with 'diff --git ', as git prints it",
        "play.yaml:4: patch must begin with 'diff --git ', as git prints it",
    ]


@pytest.mark.parametrize(
    "secret",
    [
        "sk-ant-api03-" + "x" * 40,
        "sk-" + "a" * 32,
        "github_pat_" + "b" * 50,
        "AKIA" + "ABCD" * 4,
        "AIza" + "c" * 35,
        "xoxb-1234567890-abc",
        "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.c2lnbmF0dXJlMTIz",
        "-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----",
        "from-the-environment",
    ],
)
def test_what_looks_like_a_key_is_hidden(secret: str) -> None:
    redaction = read_redaction({"MY_API_KEY": "from-the-environment", "HOME": "/home/kim", "PASSWORD": "short"})

    assert redaction.hide(f"a {secret} b short /home/kim") == "a [secret] b short /home/kim"
    assert redaction.is_revealing(b"\xff\x00" + secret.encode())
    assert not redaction.is_revealing(b"ask-me-about-risk-management short /home/kim")
