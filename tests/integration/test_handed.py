"""What a supervised command is handed beside its stdin, and how the kernel holds it before it even starts."""

from __future__ import annotations

import shlex
import socket
import sys
import uuid
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import anyio
import pytest
from tests.supervision import supervise

from drumline.ports.processes import HANDED, Ended, Job
from drumline.processes.scope import SCOPES_SINCE, read_abi

CONNECT = "import socket, sys; socket.socket(socket.AF_UNIX).connect('\\0' + sys.argv[1])"


def run(folder: Path, line: str, *, handed: Sequence[bytes] = (), scoped: bool = False) -> Ended:
    job = Job(argv=["bash", "-c", line], cwd=folder, log=folder / "job.log", handed=handed, scoped=scoped)
    return anyio.run(supervise(folder).run, job)


def test_data_is_found_on_descriptors_in_order_whatever_it_is(tmp_path: Path) -> None:
    large = bytes(range(256)) * 4096

    ended = run(tmp_path, f"cat <&{HANDED}; wc -c <&{HANDED + 1}; cksum <&{HANDED + 1}", handed=[b"first\n", large])

    assert ended.output.splitlines()[:2] == ["first", str(len(large))]


def test_a_command_that_is_handed_nothing_has_no_such_descriptor(tmp_path: Path) -> None:
    ended = run(tmp_path, f"cat <&{HANDED}")

    assert "Bad file descriptor" in ended.output


@pytest.mark.skipif(read_abi() < SCOPES_SINCE, reason="Linux before 6.12 has no scopes")
def test_a_command_in_a_scope_reaches_no_abstract_socket_of_others(tmp_path: Path) -> None:
    name = f"drumline-{uuid.uuid4().hex}"
    with closing(socket.socket(socket.AF_UNIX)) as server:
        server.bind(f"\0{name}")
        server.listen()
        line = f"{sys.executable} -c {shlex.quote(CONNECT)} {name}"
        free, held = run(tmp_path, line), run(tmp_path, line, scoped=True)

    assert free.exit_code == 0
    assert "Operation not permitted" in held.output
