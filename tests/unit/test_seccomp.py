"""The filter of system calls, played step by step as the kernel does, for every kind of machine."""

from __future__ import annotations

import struct

import pytest

from drumline.agents.seccomp import (
    AARCH64,
    ALLOW,
    ANY_BIT,
    AT_LEAST,
    ENOSYS,
    EPERM,
    EQUAL,
    ERRNO,
    I386,
    JUMP,
    LOAD,
    REFUSED,
    RETURN,
    X86_64,
    Machine,
    build_filter,
)

KINDS = [("x86_64", X86_64), ("x86_64", I386), ("aarch64", AARCH64)]
FOREIGN = 0x40000028
"""The mark of calls of 32-bit ARM."""


def judge(kind: str, mark: int, number: int, *arguments: int) -> int:
    """The verdict on a call."""
    given = struct.pack("=IIQ6Q", number, mark, 0, *(*arguments, *([0] * 6))[:6])
    program = list(struct.iter_unpack("=HBBI", build_filter(kind)))
    place, value = 0, 0
    while True:
        code, yes, no, operand = program[place]
        place += 1
        if code == RETURN:
            return int(operand)
        if code == LOAD:
            value = struct.unpack_from("=I", given, operand)[0]
        elif code == JUMP:
            place += operand
        else:
            tests = {EQUAL: value == operand, AT_LEAST: value >= operand, ANY_BIT: bool(value & operand)}
            place += yes if tests[code] else no


@pytest.mark.parametrize(("kind", "machine"), KINDS)
@pytest.mark.parametrize("name", REFUSED)
def test_a_call_that_changes_the_machine_is_refused(kind: str, machine: Machine, name: str) -> None:
    number = REFUSED[name][machine.column]

    assert number is None or judge(kind, machine.mark, number) == ERRNO | EPERM


@pytest.mark.parametrize(("kind", "machine"), KINDS)
def test_a_namespace_cannot_be_made_but_a_thread_can(kind: str, machine: Machine) -> None:
    thread, user, mounts = 0x3D0F00, 0x10000000, 0x20000

    for call in (machine.clone, machine.unshare):
        assert judge(kind, machine.mark, call, thread) == ALLOW
        assert judge(kind, machine.mark, call, thread | user) == ERRNO | EPERM
        assert judge(kind, machine.mark, call, mounts) == ERRNO | EPERM
    assert judge(kind, machine.mark, machine.clone3) == ERRNO | ENOSYS


@pytest.mark.parametrize(("kind", "machine"), KINDS)
def test_a_terminal_cannot_be_typed_into_but_asked_for_its_size(kind: str, machine: Machine) -> None:
    assert judge(kind, machine.mark, machine.ioctl, 0, 0x5412) == ERRNO | EPERM
    assert judge(kind, machine.mark, machine.ioctl, 0, 0x541C) == ERRNO | EPERM
    # The kernel looks at the lower half only.
    assert judge(kind, machine.mark, machine.ioctl, 0, 0xFFFFFFFF00005412) == ERRNO | EPERM
    assert judge(kind, machine.mark, machine.ioctl, 0, 0x5413) == ALLOW


@pytest.mark.parametrize(("kind", "machine"), KINDS)
def test_a_socket_to_the_network_can_be_made_but_not_one_to_the_host(kind: str, machine: Machine) -> None:
    assert judge(kind, machine.mark, machine.socket, 40) == ERRNO | EPERM
    assert judge(kind, machine.mark, machine.socket, 2) == ALLOW
    assert judge(kind, machine.mark, machine.socket, 1) == ALLOW


def test_calls_by_numbers_of_another_kind_are_unknown() -> None:
    assert judge("x86_64", X86_64.mark, 0x40000000 | 165) == ERRNO | ENOSYS
    assert judge("x86_64", FOREIGN, 21) == ERRNO | ENOSYS
    assert judge("aarch64", FOREIGN, 21) == ERRNO | ENOSYS


def test_an_ordinary_call_is_allowed() -> None:
    assert judge("x86_64", X86_64.mark, 0) == ALLOW
    assert judge("x86_64", I386.mark, 3) == ALLOW
    assert judge("aarch64", AARCH64.mark, 63) == ALLOW


def test_for_an_unknown_kind_of_machine_there_is_no_filter() -> None:
    assert build_filter("riscv64") == b""
