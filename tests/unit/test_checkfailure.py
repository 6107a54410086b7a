"""Whose failure a failing check is: the words that shells, runners and package managers really print."""

from __future__ import annotations

import pytest

from drumline.core.checkfailure import (
    CHECK_RULES,
    CheckFailure,
    CheckReaction,
    FailedCheck,
    classify,
    explain,
    is_work,
)
from drumline.record import replace

ROOT = "/state/worktrees/run/step-1"
TOOL, WORK, NETWORK = CheckFailure.TOOL, CheckFailure.WORK, CheckFailure.NETWORK


def failed(command: str, exit_code: int | None, output: str, *names: str) -> FailedCheck:
    """A check that did not pass in the workspace of a step."""
    return FailedCheck(command=command, exit_code=exit_code, output=output, folder=ROOT, names=names)


@pytest.mark.parametrize(
    ("command", "exit_code", "output"),
    [
        ("pnpm test", 127, "bash: line 1: pnpm: command not found\n"),
        ("npm test", 127, "> test\n> jest\n\nsh: 1: jest: not found\n"),
        ("./run.sh", 127, "./run.sh: line 3: jq: command not found\n"),
        ("env pytset", 127, "env: ‘pytset’: No such file or directory\n"),
        ("timeout 5 pytset", 127, "timeout: failed to run command 'pytset': No such file or directory\n"),
        ("/opt/tool/bin/lint", 127, "bash: line 1: /opt/tool/bin/lint: No such file or directory\n"),
        ("../other/run.sh", 127, "bash: line 1: ../other/run.sh: No such file or directory\n"),
        ("zsh -c foo", 127, "zsh:1: command not found: foo\n"),
        ("/etc", 126, "bash: line 1: /etc: Is a directory\n"),
        ("./go", 126, "bash: line 1: ./go: /usr/bin/rubyy: bad interpreter: No such file or directory\n"),
        ("pnpm test 2>/dev/null", 127, ""),
        ("cd app && pnpm test >/dev/null 2>&1", 127, ""),
        ("make", None, "cannot start a supervisor: [Errno 11] Resource temporarily unavailable"),
    ],
)
def test_a_program_that_is_not_here_is_not_the_works_failure(command: str, exit_code: int | None, output: str) -> None:
    found = classify(failed(command, exit_code, output))

    assert found.failure is TOOL
    assert found.evidence == (output.strip().splitlines() or [""])[-1].strip()


@pytest.mark.parametrize(
    ("command", "exit_code", "output"),
    [
        ("./run.sh", 127, "bash: line 1: ./run.sh: No such file or directory\n"),
        ("bash run.sh", 127, "bash: run.sh: No such file or directory\n"),
        ("sh scripts/e2e.sh", 127, "sh: 0: cannot open scripts/e2e.sh: No such file\n"),
        ("sh e2e.sh", 127, "sh: 0: Can't open e2e.sh\n"),
        (f"{ROOT}/bin/app", 127, f"bash: line 1: {ROOT}/bin/app: No such file or directory\n"),
        ("./run.sh", 126, "bash: line 1: ./run.sh: Permission denied\n"),
        ("./run.sh", 127, "bash: line 1: ./run.sh: cannot execute: required file not found\n"),
        ("make check && ./run.sh 2>/dev/null", 127, ""),
        ("npm test", 127, "sh: 1: ./scripts/test.sh: not found\n"),
    ],
)
def test_a_file_of_the_work_tree_that_cannot_be_run_is_the_works_failure(
    command: str, exit_code: int, output: str
) -> None:
    assert classify(failed(command, exit_code, output)).failure is WORK


def test_a_program_that_the_step_is_to_create_is_the_works_failure_by_its_name_alone() -> None:
    output = "bash: line 1: greet: command not found\n"

    found = [classify(failed("greet --help", 127, output, *names)).failure for names in ((), ("greet",))]

    assert found == [TOOL, WORK]


@pytest.mark.parametrize(
    "output",
    [
        "curl: (6) Could not resolve host: registry.npmjs.org\n",
        "fatal: unable to access 'https://github.com/a/b/': Could not resolve host: github.com\n",
        "ssh: Could not resolve hostname github.com: Temporary failure in name resolution\n",
        "npm error code EAI_AGAIN\nnpm error syscall getaddrinfo\n",
        "Error: getaddrinfo ENOTFOUND api.service.io\n    at GetAddrInfoReqWrap.onlookup\n",
        'go: github.com/a/b@v1: Get "https://proxy.golang.org/x": dial tcp: lookup proxy.golang.org: no such host\n',
        "E: Temporary failure resolving 'deb.debian.org'\n",
        "connect: Network is unreachable\n",
        "requests.exceptions.ConnectionError: HTTPSConnectionPool(host='pypi.org'): [Errno -3] Temporary failure in "
        "name resolution\n",
    ],
)
def test_a_network_that_is_not_there_is_not_the_works_failure(output: str) -> None:
    found = classify(failed("make test", 1, f"collecting\n{output}"))

    assert found.failure is NETWORK
    assert found.evidence in output


@pytest.mark.parametrize(
    "output",
    [
        "1 failed\n",
        "curl: (7) Failed to connect to localhost port 8080: Connection refused\n",
        "Error: getaddrinfo ENOTFOUND api.nowhere.invalid\n",
        "Could not resolve host: db.example.com\n",
        "WARNING Temporary failure in name resolution\nE       assert 1 == 2\n",
        "AssertionError: expected a retry after: Name or service not known\n",
        "make: *** [Makefile:2: test] Error 1\n",
    ],
)
def test_whatever_else_fails_is_the_works_failure(output: str) -> None:
    assert classify(failed("make test", 1, output)).failure is WORK


@pytest.mark.parametrize(
    ("command", "code", "failure"),
    [
        ("curl -sf https://api.service.io/health", 6, NETWORK),
        ("curl -sf -x proxy.corp.io:3128 https://service.io", 5, NETWORK),
        ("curl -sf https://api.service.io/health", 22, WORK),
        ("curl -sf http://localhost:8080/health", 7, WORK),
        ("curl -sf https://db.invalid/", 6, WORK),
        ("curl -sf https://api.service.io | ./judge", 6, WORK),
        ("./judge", 6, WORK),
    ],
)
def test_a_curl_that_says_nothing_is_understood_by_its_exit_code(
    command: str, code: int, failure: CheckFailure
) -> None:
    assert classify(failed(command, code, "")).failure is failure


def test_every_class_says_what_follows_and_those_that_block_what_to_do() -> None:
    assert set(CHECK_RULES) == set(CheckFailure)
    for failure, rule in CHECK_RULES.items():
        assert is_work(failure.value) == (rule.reaction is CheckReaction.FIX)
        assert bool(rule.advice) == (rule.reaction is CheckReaction.REPEAT)
    assert is_work("")


def test_a_block_names_the_check_the_class_the_evidence_and_the_remedy() -> None:
    said = explain("tool", command="pnpm test", evidence="bash: line 1: pnpm: command not found")

    assert said == (
        "check could not be run, twice (tool): pnpm test: a program that the check needs cannot be run here (bash: "
        "line 1: pnpm: command not found); install it, or configure a setup command that does"
    )


def test_a_check_that_was_killed_is_not_the_works_failure_whatever_it_printed() -> None:
    killed = FailedCheck(command="pytest", exit_code=137, output="AssertionError", folder="/w", killed=True)

    assert classify(killed).failure is CheckFailure.KILLED
    assert classify(replace(killed, killed=False)).failure is CheckFailure.WORK


@pytest.mark.parametrize(
    ("output", "failure"),
    [
        ("OSError: [Errno 28] No space left on device: 'x'\n", CheckFailure.DISK),
        ("npm error code ENOSPC\n", CheckFailure.DISK),
        ("OSError: [Errno 98] Address already in use\n", CheckFailure.PORT),
        ("Error: listen EADDRINUSE: address already in use :::3000\n", CheckFailure.PORT),
        ("Something is wrong: port 5432 is already allocated\n", CheckFailure.PORT),
        ("E       assert 'Address already in use' in said\n", WORK),
        ("AssertionError: No space left on device\n", WORK),
    ],
)
def test_a_full_disk_and_a_taken_port_are_not_the_works_failure(output: str, failure: CheckFailure) -> None:
    found = classify(failed("make test", 1, f"collecting\n{output}"))

    assert found.failure is failure


def test_a_check_that_took_too_long_is_not_the_works_failure_whatever_it_printed() -> None:
    late = FailedCheck(command="pytest", exit_code=124, output="AssertionError", folder="/w", timed_out=True)

    assert classify(late).failure is CheckFailure.TIMEOUT
    assert classify(replace(late, timed_out=False)).failure is WORK


def test_a_package_that_is_not_installed_is_not_the_works_failure_unless_a_test_failed_as_well() -> None:
    bare = replace(failed("pytest", 1, "x\n"), uninstalled="No module named 'requests'")
    failing = replace(failed("pytest", 1, "E       assert 1 == 2\n"), uninstalled="No module named 'requests'")

    assert classify(bare).failure is CheckFailure.PACKAGE
    assert classify(bare).evidence == "No module named 'requests'"
    assert classify(failing).failure is WORK
