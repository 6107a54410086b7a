"""A filter of system calls as the kernel reads it: what changes mounts, namespaces, keys or the kernel is refused.

The rule: it is the second wall. What it refuses already fails without capabilities; a flaw in the kernel that would
let one of these calls through is not reachable then.
"""

from __future__ import annotations

import platform
import struct
from collections.abc import Iterable, Sequence
from types import MappingProxyType

from drumline.record import Record

REFUSED: MappingProxyType[str, tuple[int | None, int | None, int | None]] = MappingProxyType(
    {
        "mount": (165, 40, 21),
        "umount": (None, None, 22),
        "umount2": (166, 39, 52),
        "pivot_root": (155, 41, 217),
        "open_tree": (428, 428, 428),
        "move_mount": (429, 429, 429),
        "fsopen": (430, 430, 430),
        "fsconfig": (431, 431, 431),
        "fsmount": (432, 432, 432),
        "fspick": (433, 433, 433),
        "mount_setattr": (442, 442, 442),
        "open_tree_attr": (467, 467, 467),
        "setns": (308, 268, 346),
        "add_key": (248, 217, 286),
        "request_key": (249, 218, 287),
        "keyctl": (250, 219, 288),
        "bpf": (321, 280, 357),
        "perf_event_open": (298, 241, 336),
        "userfaultfd": (323, 282, 374),
        "io_uring_setup": (425, 425, 425),
        "io_uring_enter": (426, 426, 426),
        "io_uring_register": (427, 427, 427),
        "open_by_handle_at": (304, 265, 342),
        "kexec_load": (246, 104, 283),
        "kexec_file_load": (320, 294, None),
        "init_module": (175, 105, 128),
        "finit_module": (313, 273, 350),
        "delete_module": (176, 106, 129),
        "reboot": (169, 142, 88),
        "swapon": (167, 224, 87),
        "swapoff": (168, 225, 115),
        "acct": (163, 89, 51),
        "quotactl": (179, 60, 131),
        "quotactl_fd": (443, 443, 443),
        "syslog": (103, 116, 103),
        "ioperm": (173, None, 101),
        "iopl": (172, None, 110),
    }
)
"""Calls that are refused whatever their arguments are, by their numbers on x86_64, aarch64 and i386."""

NAMESPACES = 0x7E020080
"""CLONE_NEWTIME, NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID and NEWNET, as `clone` and `unshare` take them."""
TERMINAL = (0x5412, 0x541C)
"""TIOCSTI and TIOCLINUX, which type into a terminal."""
VSOCK = 40
"""The family of sockets that lead from a virtual machine to its host."""

EPERM, ENOSYS = 1, 38
ALLOW, ERRNO = 0x7FFF0000, 0x00050000
LOAD, JUMP, EQUAL, AT_LEAST, ANY_BIT, RETURN = 0x20, 0x05, 0x15, 0x35, 0x45, 0x06
NUMBER, MACHINE, FIRST, SECOND = 0, 4, 16, 24
"""Where the call's number, the machine's kind and the low half of an argument stand in what a filter is given."""
FOREIGN = 0x40000000
"""Numbers from here on are those of x32, a second set of numbers for the same calls."""

Step = tuple[int, int, int, int]


class Machine(Record):
    """One kind of calls: its mark, its column in the table, and the numbers of calls whose arguments matter."""

    mark: int
    column: int
    clone: int
    clone3: int
    unshare: int
    ioctl: int
    socket: int


X86_64 = Machine(mark=0xC000003E, column=0, clone=56, clone3=435, unshare=272, ioctl=16, socket=41)
AARCH64 = Machine(mark=0xC00000B7, column=1, clone=220, clone3=435, unshare=97, ioctl=29, socket=198)
I386 = Machine(mark=0x40000003, column=2, clone=120, clone3=435, unshare=310, ioctl=54, socket=359)
MACHINES: MappingProxyType[str, tuple[Machine, ...]] = MappingProxyType(
    {"x86_64": (X86_64, I386), "aarch64": (AARCH64,)}
)


def build_filter(kind: str = "") -> bytes:
    """The filter for this machine, or for one of this `kind`; empty where none is known."""
    machines = MACHINES.get(kind or platform.machine(), ())
    if not machines:
        return b""
    steps: list[Step] = [(LOAD, 0, 0, MACHINE)]
    for machine in machines:
        block = list(_judge(machine))
        # A jump of this kind reaches 255 steps; a block is longer, so it is left out by one that reaches everywhere.
        steps += [(EQUAL, 1, 0, machine.mark), (JUMP, 0, 0, len(block)), *block]
    steps.append((RETURN, 0, 0, ERRNO | ENOSYS))
    return b"".join(struct.pack("=HBBI", *step) for step in steps)


def _judge(machine: Machine) -> Iterable[Step]:
    """What is done with the calls of one kind; every way through it ends with a verdict."""
    yield (LOAD, 0, 0, NUMBER)
    if machine is X86_64:
        yield from _refuse_if((AT_LEAST, FOREIGN), ENOSYS)
    # Its flags are behind a pointer, which a filter cannot follow. A caller that gets "no such call" uses `clone`.
    yield from _refuse_if((EQUAL, machine.clone3), ENOSYS)
    for numbers in REFUSED.values():
        number = numbers[machine.column]
        if number is not None:
            yield from _refuse_if((EQUAL, number), EPERM)
    for call in (machine.clone, machine.unshare):
        yield from _look_closer(call, FIRST, [(ANY_BIT, NAMESPACES)])
    yield from _look_closer(machine.ioctl, SECOND, [(EQUAL, request) for request in TERMINAL])
    yield from _look_closer(machine.socket, FIRST, [(EQUAL, VSOCK)])
    yield (RETURN, 0, 0, ALLOW)


def _refuse_if(test: tuple[int, int], errno: int) -> list[Step]:
    how, value = test
    return [(how, 0, 1, value), (RETURN, 0, 0, ERRNO | errno)]


def _look_closer(call: int, place: int, tests: Sequence[tuple[int, int]]) -> list[Step]:
    """Refuse a call for what one of its arguments says; otherwise it is allowed."""
    inner: list[Step] = [(LOAD, 0, 0, place)]
    for test in tests:
        inner += _refuse_if(test, EPERM)
    inner.append((RETURN, 0, 0, ALLOW))
    return [(EQUAL, 0, len(inner), call), *inner]
