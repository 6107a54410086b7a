"""Real commands under real supervisors: whatever ends first, nothing of a job is left."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import anyio
import pytest

from drumline.core.ids import DriverId
from drumline.ports.processes import PRINTED_LIMIT, Ended, Job
from drumline.processes import census, locks
from drumline.processes.kill import Identity, identify, sweep
from drumline.processes.supervised import LOG_HEAD, LOG_TAIL, OUTPUT_TAIL, SupervisedProcesses, strip_controls
from drumline.processes.supervisor import ERRORS_TAIL

pytestmark = pytest.mark.skipif(not census.LINUX, reason="complete only where orphans can be adopted")

DEADLINE = 30.0

# A child, one in a session of its own, one orphaned twice over, one that threw its environment (and the mark) away.
FAMILY = """
sleep 1000 & echo $! >> pids
setsid sleep 1000 & echo $! >> pids
( ( setsid sleep 1000 & echo $! >> pids ) & )
env -i sleep 1000 & echo $! >> pids
while [ "$(wc -l < pids)" -lt 4 ]; do sleep 0.01; done
touch born
"""
FAMILY_SIZE = 4

DRIVER = """
import sys
from pathlib import Path
import anyio
from drumline.core.ids import DriverId
from drumline.ports.processes import Job
from drumline.processes.supervised import SupervisedProcesses

folder, driver, line = Path(sys.argv[1]), DriverId(sys.argv[2]), sys.argv[3]
job = Job(argv=("bash", "-c", line), cwd=folder, log=folder / "job.log")
anyio.run(SupervisedProcesses(folder / "driver", driver).run, job)
"""
TALKER = (
    DRIVER.rpartition("anyio.run")[0]
    + """
async def talk():
    async with SupervisedProcesses(folder / "driver", driver).open(job) as conversation:
        await conversation.receive()

anyio.run(talk)
"""
)


@pytest.fixture
def driver(tmp_path: Path) -> Iterator[DriverId]:
    """A name that only this test uses, and the proof that nothing which carries it survives the test."""
    name = DriverId(f"d-{os.getpid()}-{abs(hash(tmp_path))}")
    yield name
    left = sweep(name)
    assert left == []


@pytest.fixture
def processes(tmp_path: Path, driver: DriverId) -> SupervisedProcesses:
    return SupervisedProcesses(tmp_path / "driver", driver)


def write_job(tmp_path: Path, line: str, *, stdin: str = "", timeout: float | None = None) -> Job:
    return Job(argv=("bash", "-c", line), cwd=tmp_path, log=tmp_path / "job.log", stdin=stdin, timeout=timeout)


def run(processes: SupervisedProcesses, job: Job) -> Ended:
    return anyio.run(processes.run, job)


def wait_until(true: Callable[[], bool]) -> bool:
    deadline = time.monotonic() + DEADLINE
    while not true() and time.monotonic() < deadline:
        time.sleep(0.01)
    return true()


def read_family(tmp_path: Path) -> list[Identity]:
    return [identify(int(pid)) for pid in (tmp_path / "pids").read_text().split()]


def wait_family(tmp_path: Path) -> list[Identity]:
    """Wait until the whole family lives, so that its death means something."""
    assert wait_until((tmp_path / "born").exists)
    family = read_family(tmp_path)
    assert len(family) == FAMILY_SIZE
    assert all(member.is_running() for member in family)
    return family


def is_extinct(family: list[Identity]) -> bool:
    return not any(member.is_running() for member in family)


@pytest.mark.parametrize("program", [DRIVER, TALKER], ids=["running", "talking"])
def test_nothing_is_left_when_the_driver_is_killed(tmp_path: Path, driver: DriverId, program: str) -> None:
    child = subprocess.Popen([sys.executable, "-c", program, str(tmp_path), driver, FAMILY + "sleep 1000"])
    family = wait_family(tmp_path)

    child.kill()
    child.wait()

    assert wait_until(lambda: is_extinct(family))
    assert wait_until(lambda: census.marked(driver) == [])
    assert wait_until(lambda: not locks.is_held(tmp_path / "driver" / "sup-1"))


def test_nothing_is_left_when_a_conversation_is_over(
    tmp_path: Path, processes: SupervisedProcesses, driver: DriverId
) -> None:
    async def talk() -> list[Identity]:
        async with processes.open(write_job(tmp_path, FAMILY + "echo hello; sleep 1000")) as conversation:
            await conversation.receive()
            return read_family(tmp_path)

    family = anyio.run(talk)

    assert len(family) == FAMILY_SIZE
    assert is_extinct(family)
    assert census.marked(driver) == []
    assert not (tmp_path / "driver" / "sup-1").exists()


def test_a_command_that_one_talks_with_has_no_pipe_but_its_own(tmp_path: Path, processes: SupervisedProcesses) -> None:
    async def talk() -> bytes:
        async with processes.open(write_job(tmp_path, "exec ls /proc/self/fd")) as conversation:
            await conversation.wait()
            return await conversation.receive()

    assert anyio.run(talk).split() == [b"0", b"1", b"2", b"3"]


def test_nothing_is_left_when_the_time_is_up(tmp_path: Path, processes: SupervisedProcesses, driver: DriverId) -> None:
    job = write_job(tmp_path, f"{FAMILY} for pid in $(cat pids); do [ -d /proc/$pid ] && echo alive; done; sleep 1000")

    ended = run(processes, Job(argv=job.argv, cwd=job.cwd, log=job.log, timeout=4.0))

    assert ended.timed_out
    assert ended.output.splitlines().count("alive") == FAMILY_SIZE
    assert is_extinct(read_family(tmp_path))
    assert census.marked(driver) == []


def test_nothing_is_left_when_the_task_is_cancelled(
    tmp_path: Path, processes: SupervisedProcesses, driver: DriverId
) -> None:
    families: list[list[Identity]] = []

    async def cancel_midway() -> None:
        async with anyio.create_task_group() as group:
            group.start_soon(processes.run, write_job(tmp_path, FAMILY + "sleep 1000"))
            families.append(await anyio.to_thread.run_sync(wait_family, tmp_path))
            group.cancel_scope.cancel()

    anyio.run(cancel_midway)

    assert is_extinct(families[0])
    assert census.marked(driver) == []
    assert list((tmp_path / "driver").iterdir()) == []


def test_nothing_is_left_when_the_command_ends_before_its_daemons(
    tmp_path: Path, processes: SupervisedProcesses, driver: DriverId
) -> None:
    ended = run(processes, write_job(tmp_path, FAMILY + "ls -d $(sed s:^:/proc/: pids) | wc -l; exit 5"))

    assert ended.exit_code == 5
    assert ended.output.strip() == str(FAMILY_SIZE)
    assert is_extinct(read_family(tmp_path))
    assert census.marked(driver) == []


def test_a_supervisor_that_is_killed_is_told_of_and_cleaned_up_after(
    tmp_path: Path, processes: SupervisedProcesses, driver: DriverId
) -> None:
    ended = run(processes, write_job(tmp_path, "setsid sleep 1000 & echo $! >> pids; kill -9 $PPID; sleep 1000"))

    assert ended.exit_code is None
    assert "died without a report" in ended.message
    assert is_extinct(read_family(tmp_path))
    assert census.marked(driver) == []


# A daemon by the book: forked twice, in a session of its own, with nothing of the environment and of the streams.
DAEMON = """
( env -i setsid bash -c 'cd /; echo $$ >> "$0"; exec sleep 1000' "$PWD/pids" </dev/null >/dev/null 2>&1 & ) &
while [ ! -s pids ]; do sleep 0.01; done
"""


def test_a_daemon_with_a_clean_environment_does_not_outlive_its_killed_supervisor(
    tmp_path: Path, processes: SupervisedProcesses
) -> None:
    ended = run(processes, write_job(tmp_path, DAEMON + "kill -9 $PPID; sleep 1000"))

    family = read_family(tmp_path)
    assert "died without a report" in ended.message
    assert len(family) == 1
    assert is_extinct(family)


def test_a_daemon_with_a_clean_environment_is_found_after_driver_and_supervisor_were_killed(
    tmp_path: Path, driver: DriverId
) -> None:
    line = DAEMON + "touch born; sleep 1000"
    child = subprocess.Popen([sys.executable, "-c", DRIVER, str(tmp_path), driver, line])
    assert wait_until((tmp_path / "born").exists)
    family = read_family(tmp_path)
    supervisors = census.descendants(child.pid)[:1]
    # Frozen first, so that neither has a moment in which it could clean up after the other.
    for number in (signal.SIGSTOP, signal.SIGKILL):
        for pid in (child.pid, *supervisors):
            os.kill(pid, number)
    child.wait()
    alive = family[0].is_running()

    swept = sweep(driver)

    assert alive
    assert family[0].pid in swept
    assert is_extinct(family)
    assert [pid for pid in sweep("d-0-of-somebody-else") if pid] == []


@pytest.mark.parametrize(
    ("line", "code", "killed"),
    [
        ("kill -9 $PPID; sleep 1000", None, True),
        ("kill -9 $$", 137, True),
        ("kill -TERM $PPID; sleep 1000", 137, True),
        ("bash -c 'kill -9 $$'; exit $?", 137, False),
        ("bash -c 'kill -TERM $$'; exit $?", 143, False),
        ("kill -TERM $$", 143, True),
        ("kill -HUP $$", 129, True),
        ("kill -SEGV $$", 139, False),
        ("kill -PIPE $$", 141, False),
    ],
)
def test_only_a_command_that_does_not_end_by_itself_was_killed(
    tmp_path: Path, processes: SupervisedProcesses, line: str, code: int | None, killed: bool
) -> None:
    ended = run(processes, write_job(tmp_path, line))

    assert (ended.exit_code, ended.killed) == (code, killed)


@pytest.mark.parametrize("line", ["trap '' TERM; sleep 1000 & wait; sleep 1000", "exec sleep 1000"])
def test_a_command_whose_time_is_up_was_not_killed(tmp_path: Path, processes: SupervisedProcesses, line: str) -> None:
    ended = run(processes, write_job(tmp_path, line, timeout=0.2))

    assert (ended.timed_out, ended.killed) == (True, False)


def test_a_cancelled_job_that_has_not_started_leaves_nothing(
    tmp_path: Path, processes: SupervisedProcesses, driver: DriverId
) -> None:
    async def cancel_at_once() -> None:
        async with anyio.create_task_group() as group:
            group.start_soon(processes.run, write_job(tmp_path, "sleep 1000"))
            await anyio.lowlevel.checkpoint()
            group.cancel_scope.cancel()

    anyio.run(cancel_at_once)

    assert census.marked(driver) == []
    assert list((tmp_path / "driver").iterdir()) == []


def test_a_job_that_ignores_sigterm_dies(tmp_path: Path, processes: SupervisedProcesses) -> None:
    ended = run(processes, write_job(tmp_path, "trap 'echo ignored' TERM; while :; do sleep 0.05; done", timeout=1.0))

    assert ended.timed_out
    assert ended.exit_code == 128 + signal.SIGKILL
    assert "ignored" in ended.output


def test_a_job_has_time_to_tidy_up_when_its_time_is_up(tmp_path: Path, processes: SupervisedProcesses) -> None:
    ended = run(processes, write_job(tmp_path, "trap 'echo tidy; exit 9' TERM; sleep 1000", timeout=1.0))

    assert ended.timed_out
    assert ended.exit_code == 9
    assert ended.output.endswith("tidy\n")


def test_a_flood_of_output_is_bounded_on_disk_and_in_memory(tmp_path: Path, processes: SupervisedProcesses) -> None:
    flood = 60_000_000
    line = f"echo first; head -c {flood} /dev/zero | tr '\\0' x; echo; grep VmHWM /proc/$PPID/status; echo last"

    ended = run(processes, write_job(tmp_path, line))

    log = (tmp_path / "job.log").read_bytes()
    left_out = int(log.partition(b" bytes left out]")[0].rpartition(b"[")[2])
    peak = int(ended.output.rpartition("VmHWM:")[2].split()[0]) * 1024
    assert log.startswith(b"first\n")
    assert log.endswith(b"last\n")
    assert len(log) <= LOG_HEAD + LOG_TAIL + 100
    assert len(log) + left_out > flood
    assert len(ended.output) <= OUTPUT_TAIL
    assert peak < flood


def test_a_flood_of_stdout_that_is_handed_over_is_bounded_on_disk_and_in_memory(
    tmp_path: Path, processes: SupervisedProcesses
) -> None:
    flood = 60_000_000
    line = f"head -c {flood} /dev/zero | tr '\\0' x; head -c {flood} /dev/zero >&2; grep VmHWM /proc/$PPID/status >&2"
    job = Job(argv=("bash", "-c", line), cwd=tmp_path, log=tmp_path / "job.log", printed=tmp_path / "printed")

    ended = run(processes, job)

    peak = int(ended.errors.rpartition("VmHWM:")[2].split()[0]) * 1024
    assert ended.cut
    assert (tmp_path / "printed").read_bytes() == b"x" * PRINTED_LIMIT
    assert (tmp_path / "job.log").stat().st_size <= LOG_HEAD + LOG_TAIL + 100
    assert len(ended.errors) <= ERRORS_TAIL
    assert peak < flood


def test_what_a_helper_still_writes_to_a_stdout_of_its_own_is_kept(
    tmp_path: Path, processes: SupervisedProcesses
) -> None:
    line = "exec 2>&-; exec > >(sleep 0.05; cat); echo late"
    job = Job(argv=("bash", "-c", line), cwd=tmp_path, log=tmp_path / "job.log", printed=tmp_path / "printed")

    run(processes, job)

    assert (tmp_path / "printed").read_bytes() == b"late\n"


def test_stdout_that_cannot_be_handed_over_says_so(tmp_path: Path, processes: SupervisedProcesses) -> None:
    full = Path("/dev/full")

    nowhere = run(processes, Job(argv=("true",), cwd=tmp_path, log=tmp_path / "job.log", printed=tmp_path))
    no_room = run(processes, Job(argv=("echo", "x"), cwd=tmp_path, log=tmp_path / "job.log", printed=full))

    assert nowhere.exit_code is None
    assert f"cannot write the log '{tmp_path}'" in nowhere.message
    assert no_room.cut
    assert "No space left" in no_room.message


def test_output_within_the_bounds_is_kept_whole(tmp_path: Path, processes: SupervisedProcesses) -> None:
    size = LOG_HEAD + LOG_TAIL

    run(processes, write_job(tmp_path, f"head -c {size} /dev/zero"))

    assert (tmp_path / "job.log").read_bytes() == b"\0" * size


@pytest.mark.parametrize("size", [1_000, 70_000, 3_000_000])
def test_stdin_of_any_size_reaches_the_command(tmp_path: Path, processes: SupervisedProcesses, size: int) -> None:
    ended = run(processes, write_job(tmp_path, "wc -c", stdin="x" * size))

    assert ended.output.strip() == str(size)


@pytest.mark.parametrize("line", ["exit 4", "exec <&-; sleep 0.1; exit 4", "head -c 10 >/dev/null; exit 4"])
def test_a_command_need_not_read_its_stdin(tmp_path: Path, processes: SupervisedProcesses, line: str) -> None:
    ended = run(processes, write_job(tmp_path, line, stdin="x" * 1_000_000))

    assert ended.exit_code == 4


def test_what_a_helper_still_writes_after_the_command_is_kept(tmp_path: Path, processes: SupervisedProcesses) -> None:
    ended = run(processes, write_job(tmp_path, "exec > >(sleep 0.05; cat); echo late"))

    assert ended.output == "late\n"


def test_the_environment_has_the_mark_and_the_jobs_own_but_nothing_of_git(
    tmp_path: Path, processes: SupervisedProcesses, driver: DriverId, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GIT_DIR", "/elsewhere")
    monkeypatch.setenv("PLAIN", "kept")
    argv = ("bash", "-c", 'echo "${GIT_DIR-none} $PLAIN $OWN $DRUMLINE_MARK"')

    ended = run(processes, Job(argv=argv, cwd=tmp_path, log=tmp_path / "job.log", env={"OWN": "own"}))

    assert ended.output == f"none kept own {driver}/1\n"


def test_a_variable_can_be_kept_from_a_job(
    tmp_path: Path, processes: SupervisedProcesses, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OUTER", "ours")
    monkeypatch.setenv("OTHER", "ours")
    argv = ("bash", "-c", 'echo "${OUTER-none} $OTHER"')
    job = Job(argv=argv, cwd=tmp_path, log=tmp_path / "job.log", unset=("OUTER", "OTHER"), env={"OTHER": "own"})

    ended = run(processes, job)

    assert ended.output == "none own\n"


def test_the_command_is_out_of_reach_of_the_terminal_and_of_our_descriptors(
    tmp_path: Path, processes: SupervisedProcesses
) -> None:
    script = "import os; print(os.getsid(0), os.getsid(os.getppid()), sorted(os.listdir('/proc/self/fd')))"
    job = Job(argv=(sys.executable, "-c", script), cwd=tmp_path, log=tmp_path / "job.log")

    session, supervisors, descriptors = run(processes, job).output.strip().split(" ", 2)

    assert len({int(session), int(supervisors), os.getsid(0)}) == 3
    assert descriptors == "['0', '1', '2', '3']"  # the fourth is the listing itself


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (("no-such-program",), "cannot start 'no-such-program': No such file"),
        (("./not-executable",), "Permission denied"),
        (("bash", "-c", "nul \0 byte"), "null byte"),
        ((), "empty command"),
    ],
)
def test_a_command_that_cannot_be_started_says_why(
    tmp_path: Path, processes: SupervisedProcesses, argv: tuple[str, ...], said: str
) -> None:
    (tmp_path / "not-executable").write_text("exit 0\n")

    ended = run(processes, Job(argv=argv, cwd=tmp_path, log=tmp_path / "job.log"))

    assert ended.exit_code is None
    assert said in ended.message


def test_a_folder_or_log_that_cannot_be_used_says_so(tmp_path: Path, processes: SupervisedProcesses) -> None:
    nowhere = run(processes, Job(argv=("true",), cwd=tmp_path / "gone", log=tmp_path / "job.log"))
    no_log = run(processes, Job(argv=("true",), cwd=tmp_path, log=tmp_path))

    assert nowhere.exit_code is None
    assert "cannot enter the folder" in nowhere.message
    assert no_log.exit_code is None
    assert "cannot write the log" in no_log.message


def test_a_command_that_exits_with_127_is_not_taken_for_one_that_did_not_start(
    tmp_path: Path, processes: SupervisedProcesses
) -> None:
    ended = run(processes, write_job(tmp_path, "no-such-program-in-a-shell"))

    assert ended.exit_code == 127


def test_output_is_plain_text() -> None:
    text = strip_controls("\x1b[31mred\x1b[0m\r\n\x1b]0;title\x07half\rdone\x1b(B \x07\x00tab\t\x9b2J\x7f\n")

    assert text == "red\nhalf\ndone tab\t2J\n"


SETPRIV = shutil.which("setpriv")


@pytest.mark.skipif(os.geteuid() != 0 or SETPRIV is None, reason="only root can start something as another user")
def test_what_cannot_be_ended_is_named(tmp_path: Path, driver: DriverId) -> None:
    line = (
        "setpriv --reuid=65534 --clear-groups sleep 5 >/dev/null 2>&1 & echo $! > pid; "
        "until grep -q sleep /proc/$!/comm; do sleep 0.01; done"
    )
    told = DRIVER.replace("anyio.run(", "ended = anyio.run(") + 'print(ended.exit_code, ended.left, sep="|")\n'

    # Root that may not signal processes of others is like any other user.
    ended = subprocess.run(
        [str(SETPRIV), "--bounding-set=-kill", sys.executable, "-c", told, str(tmp_path), driver, line],
        capture_output=True,
        text=True,
        check=False,
        timeout=DEADLINE,
    )

    pid = (tmp_path / "pid").read_text().strip()
    sweep(driver)
    assert ended.stdout == f"0|sleep (pid {pid})\n", ended.stderr
