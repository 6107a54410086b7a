"""What a jail holds, as root and as a user without rights: attacks, and what must go on working."""

from __future__ import annotations

import json
import os
import platform
import shutil
import socket
import subprocess
import tempfile
import uuid
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from functools import cache
from pathlib import Path

import pytest
from tests.integration.attacks import ATTACKS, OPEN
from tests.integration.jailed import BECOME, ORDINARY, USERS, Cell, find_python, open_cell

from drumline.isolation.homes import find_sealed

SECRET = "hush-hush-4711"  # noqa: S105 - a made-up one
SLEEP = "300.4711"
FILTERED = platform.machine() in ("x86_64", "aarch64")
THREAD = 'import threading; threading.Thread(target=print, args=("ran",)).start()'
CONNECT = 'import socket; socket.socket(socket.AF_UNIX).connect("../home/agent.sock")'
BY_FILTER = (
    "ask for keys",
    "open a file system",
    "open a tree of mounts",
    "enter a namespace",
    "load a program into the kernel",
    "watch the processor",
    "handle page faults",
    "open a ring of calls",
    "open a socket to the host",
    "type into a terminal",
    "make a user namespace",
    "clone into a user namespace",
)


@pytest.fixture(params=USERS)
def cell(request: pytest.FixtureRequest) -> Iterator[Cell]:
    with open_cell(request.param) as opened:
        yield opened


def git(*words: str, cwd: Path) -> None:
    """Run git as nobody in particular."""
    own = ("-c", "user.name=Ada", "-c", "user.email=ada@example.org", "-c", "safe.directory=*")
    subprocess.run(["git", *own, *words], cwd=cwd, check=True, capture_output=True)


def furnish(cell: Cell) -> dict[str, str]:
    """Put there whatever an attack aims at; the paths by name."""
    main, beside, checkout = cell.outside / "main", cell.outside / "beside", cell.folder / "checkout"
    for repository in (main, beside, checkout):
        git("init", "-q", str(repository), cwd=cell.folder)
        git("commit", "-q", "--allow-empty", "-m", "first", cwd=repository)
    cell.work.rmdir()
    git("worktree", "add", "-q", str(cell.work), cwd=main)
    git("remote", "add", "origin", f"https://ada:{SECRET}@git.example/x", cwd=beside)
    hook = main / ".git" / "hooks" / "pre-commit"
    hook.write_text("#!/bin/sh\n")
    (checkout / ".git" / "drumline").mkdir()
    (cell.outside / "private.txt").write_text(SECRET)
    for name in (".ssh/id_ed25519", ".aws/credentials", ".config/gh/hosts.yml", ".mozilla/firefox/logins.json"):
        (cell.home / name).parent.mkdir(parents=True)
        (cell.home / name).write_text(SECRET)
    (cell.home / ".netrc").write_text(f"machine x login ada password {SECRET}\n")
    (cell.home / ".npmrc").write_text(f"save-exact=true\n//npm.example/:_authToken={SECRET}\n")
    return {
        "secret": SECRET,
        "home": str(cell.home),
        "work": str(cell.work),
        "outside": str(cell.outside),
        "checkout": str(checkout),
        "beside": str(beside),
        "hook": str(hook),
        "hide": str(cell.outside / "private.txt"),
        "marker": SLEEP,
    }


@contextmanager
def listen(name: str) -> Iterator[None]:
    """A socket of somebody outside that everybody may connect to."""
    with closing(socket.socket(socket.AF_UNIX)) as server:
        server.bind(name)
        server.listen()
        if not name.startswith("\0"):
            Path(name).chmod(0o777)
        yield


@contextmanager
def populate(cell: Cell) -> Iterator[dict[str, str]]:
    """Others outside: a process of the user, sockets, shared memory."""
    name = f"drumline-{uuid.uuid4().hex[:8]}"
    aims = {
        "socket": str(Path(tempfile.gettempdir(), f"{name}.sock")),
        "home_socket": str(cell.home / "agent.sock"),
        "abstract": name,
        "shared": name,
    }
    shared = Path("/dev/shm", name)
    with ExitStack() as stack:
        stack.callback(Path(aims["socket"]).unlink)
        stack.callback(shared.unlink)
        shared.touch()
        for place in (aims["socket"], aims["home_socket"], f"\0{name}"):
            stack.enter_context(listen(place))
        process = subprocess.Popen([*cell.become(), "sleep", SLEEP])
        stack.callback(process.wait)
        stack.callback(process.kill)
        yield {**aims, "pid": str(process.pid)}


@cache
def attack_all(user: str) -> Mapping[str, str]:
    """What came of each attack; all are tried in one jail."""
    with open_cell(user, ORDINARY) as cell:
        aims = furnish(cell)
        with populate(cell) as others:
            script = shutil.copy(Path(__file__).with_name("attacks.py"), cell.outside)
            checkout = Path(aims["checkout"])
            bounds = {
                "writable": [str(checkout)],
                "sealed": [str(path) for path in (*find_sealed(checkout), *find_sealed(cell.work))],
                # Below no folder for temporary files it would be hidden from other tests, too, if it were older.
                "hide": [aims["hide"], others["home_socket"]],
            }
            words = json.dumps({**aims, **others})
            ended = cell.start_within(bounds, find_python(user), "-I", str(script), words)
        assert ended["code"] == 0, ended
        planted = [
            path for path in cell.outside.rglob("*") if path.is_file() and "planted" in path.read_text("latin-1")
        ]
        assert [path for path in planted if path.name != "attacks.py"] == []
        said: dict[str, str] = json.loads(str(ended["output"]).splitlines()[-1])
        return said


@pytest.mark.parametrize("user", USERS)
@pytest.mark.parametrize("name", ATTACKS)
def test_an_attack_from_inside_is_refused(name: str, user: str) -> None:
    outcome = attack_all(user)[name]

    assert outcome != OPEN


@pytest.mark.skipif(not FILTERED, reason="there is no filter of system calls for this kind of machine")
@pytest.mark.parametrize("user", USERS)
def test_the_filter_refuses_by_itself_what_it_is_for(user: str) -> None:
    said = attack_all(user)

    assert {name: said[name] for name in BY_FILTER} == dict.fromkeys(BY_FILTER, "EPERM")
    assert said["clone3"] == "ENOSYS"


def test_there_are_no_capabilities_and_none_can_be_had(cell: Cell) -> None:
    said = cell.shell(
        "grep -E 'Cap(Prm|Eff|Bnd|Amb)|NoNewPrivs' /proc/self/status; unshare -Ur id; mount -o remount,rw /"
    )

    assert [line.split()[1] for line in said.splitlines() if line.startswith("Cap")] == ["0" * 16] * 4
    assert "NoNewPrivs:\t1" in said
    assert "uid=" not in said


@pytest.mark.skipif(shutil.which("tmux") is None, reason="tmux is not installed")
def test_a_terminal_in_tmux_cannot_be_typed_into(cell: Cell) -> None:
    env = {**cell.env, "TMUX_TMPDIR": tempfile.gettempdir()}
    planted = cell.outside / "typed"
    subprocess.run([*cell.become(), "tmux", "-f", "/dev/null", "new-session", "-d"], env=env, check=True)
    try:
        said = cell.shell(f"tmux send-keys 'touch {planted}' Enter; tmux run-shell 'touch {planted}'; sleep 0.3")
    finally:
        subprocess.run([*cell.become(), "tmux", "kill-server"], env=env, check=False)

    assert "no server running" in said or "error connecting" in said
    assert not planted.exists()


def test_work_goes_on_in_a_folder_below_tmp(cell: Cell) -> None:
    furnish(cell)

    lines = (
        "git status --short",
        "echo new > file && cat file",
        "cat ~/.npmrc",
        "echo x > /tmp/own && ls /tmp",
        "echo y > /dev/shm/own",
        f"python3 -c '{THREAD}'",
    )
    said = cell.shell("\n".join(lines), readable=[str(cell.outside)])

    assert "fatal" not in said
    assert "new\n" in said
    assert "save-exact=true" in said
    assert SECRET not in said
    assert "own\n" in said
    assert "ran\n" in said
    assert not Path("/tmp/own").exists()


@pytest.mark.parametrize("user", USERS)
def test_work_goes_on_in_a_folder_of_shared_memory(user: str) -> None:
    with open_cell(user, Path("/dev/shm")) as cell:
        furnish(cell)

        said = cell.shell(f"git status --short; cat {cell.outside}/private.txt", readable=[str(cell.outside)])

    assert "fatal" not in said
    assert SECRET in said


def test_names_are_looked_up_as_outside(cell: Cell) -> None:
    said = cell.shell("cat /etc/resolv.conf; getent hosts localhost")

    assert Path("/etc/resolv.conf").read_text() in said
    assert "localhost" in said


def test_servers_on_this_machine_are_reached_unless_the_network_is_taken_away(cell: Cell) -> None:
    with closing(socket.create_server(("127.0.0.1", 0))) as server:
        line = f"exec 3<>/dev/tcp/127.0.0.1/{server.getsockname()[1]} && echo reached"
        open_, closed = cell.shell(line), cell.shell(line, network=False)

    assert "reached" in open_
    assert "reached" not in closed


def test_what_is_granted_is_visible_even_where_it_would_be_hidden(cell: Cell) -> None:
    (cell.home / ".ssh").mkdir()
    (cell.home / ".ssh" / "config").write_text("Host here\n")
    place = cell.home / "agent.sock"
    with listen(str(place)):
        line = f"cat ~/.ssh/config; echo known > ~/.ssh/known_hosts; python3 -c '{CONNECT}' && echo reached"
        said = cell.shell(line, writable=[str(cell.home / ".ssh"), str(place)])

    assert "Host here" in said
    assert (cell.home / ".ssh" / "known_hosts").read_text() == "known\n"
    assert "reached" in said


def test_a_socket_in_the_home_that_has_been_there_for_a_while_is_hidden(cell: Cell) -> None:
    place = cell.home / "agent.sock"
    with listen(str(place)):
        os.utime(place, (0, 0))
        said = cell.shell(f"ls ~; python3 -c '{CONNECT}' && echo reached")

    assert "agent.sock" in said
    assert "reached" not in said


def test_another_folder_can_stand_in_for_one_of_the_home(cell: Cell) -> None:
    (cell.home / ".agent").mkdir()
    (cell.home / ".agent" / "settings.json").write_text("{}")
    copy = cell.folder / "copy"
    copy.mkdir()
    (copy / "settings.json").write_text('{"copied": true}')

    said = cell.shell(
        "cat ~/.agent/settings.json; echo 1 > ~/.agent/new", places={str(cell.home / ".agent"): str(copy)}
    )

    assert "copied" in said
    assert (copy / "new").exists()
    assert not (cell.home / ".agent" / "new").exists()


def test_a_sealed_link_that_leads_nowhere_does_not_keep_a_program_from_starting(cell: Cell) -> None:
    (cell.work / "link").symlink_to(cell.outside / "gone")

    said = cell.shell("echo ran", sealed=[str(cell.work / "link")])

    assert said == "ran\n"


def test_a_folder_that_a_link_leads_to_is_found_by_the_link(cell: Cell) -> None:
    real = cell.folder / "real"
    real.mkdir()
    (real / "program").write_text("#!/bin/sh\necho ran\n")
    (real / "program").chmod(0o755)
    (cell.folder / "link").symlink_to("real")

    said = cell.start(str(cell.folder / "link" / "program"))

    assert said["output"] == "ran\n"


def test_an_archive_with_files_of_other_owners_can_be_unpacked(cell: Cell) -> None:
    pack = "tar --owner=1234 --group=1234 -cf a.tar file && rm file"

    said = cell.shell(f"echo packed > file && {pack} && tar -xf a.tar && cat file")

    assert said == "packed\n"


def test_a_program_in_the_jail_can_be_traced_by_another_there(cell: Cell) -> None:
    said = cell.shell("python3 -c 'import ctypes; print(\"traced\", ctypes.CDLL(None).ptrace(0, 0, 0, 0))'")

    assert "traced 0" in said


def test_no_user_without_rights_is_meant_by_chance() -> None:
    """The second of the users really is another one."""
    said = subprocess.run([*BECOME, "id", "-u"], capture_output=True, text=True, check=False)

    assert os.geteuid() != 0 or said.stdout.strip() == "65534"
