"""Attacks on a jail from inside, as a program: it prints one JSON object with what came of each.

An attack that did its harm says "open"; one that was refused says how. Only the standard library: the Python in the
jail has nothing else. What to attack comes as JSON in the first argument.
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import json
import os
import platform
import socket
import stat
import struct
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

LIBC = ctypes.CDLL(None, use_errno=True)
X86 = platform.machine() == "x86_64"
AIMS: dict[str, str] = json.loads(sys.argv[1]) if __name__ == "__main__" else {}
OPEN = "open"
MS_BIND, MS_REMOUNT = 4096, 32
TIOCSTI = 0x5412


def call(number: int, *arguments: object) -> str:
    """What the kernel says to a system call."""
    done = LIBC.syscall(number, *arguments)
    return OPEN if done >= 0 else errno.errorcode[ctypes.get_errno()]


def mount(source: str, target: str, kind: str, flags: int) -> str:
    """Mount by the C library, as every program would."""
    done = LIBC.mount(source.encode(), target.encode(), kind.encode(), flags, None)
    return OPEN if done == 0 else errno.errorcode[ctypes.get_errno()]


def write(path: str) -> str:
    """Write a line to a file."""
    try:
        with Path(path).open("w") as file:
            file.write("planted\n")
    except OSError as error:
        return errno.errorcode[error.errno or 0]
    return OPEN


def open_writable(path: str) -> str:
    """Open a file for writing and leave it at that: what it sets would hold for the whole machine."""
    try:
        os.close(os.open(path, os.O_WRONLY))
    except OSError as error:
        return errno.errorcode[error.errno or 0]
    return OPEN


def read(path: str) -> str:
    """Look whether a file still says what nobody should see."""
    try:
        text = Path(path).read_text(errors="replace")
    except OSError as error:
        return errno.errorcode[error.errno or 0]
    return OPEN if AIMS["secret"] in text else "not shown"


def connect(name: str) -> str:
    """Connect to a socket of somebody outside."""
    with socket.socket(socket.AF_UNIX) as client:
        try:
            client.connect(name)
        except OSError as error:
            return errno.errorcode[error.errno or 0]
    return OPEN


def rename_git() -> str:
    """Move git's folder away and put another one with a hook in its place."""
    git = Path(AIMS["checkout"], ".git")
    try:
        git.rename(git.with_name("moved"))
    except OSError as error:
        return errno.errorcode[error.errno or 0]
    return OPEN


def write_by_descriptor() -> str:
    """Write through a folder that was opened for reading."""
    folder = os.open(AIMS["outside"], os.O_RDONLY)
    return write(f"/proc/self/fd/{folder}/by-descriptor")


def write_by_link() -> str:
    """Write through a link in the workspace that leads outside."""
    link = Path(AIMS["work"], "way-out")
    link.symlink_to(AIMS["outside"])
    return write(str(link / "by-link"))


def reopen_writable() -> str:
    """Open a file that is open for reading again, for writing."""
    file = os.open(AIMS["hook"], os.O_RDONLY)
    return write(f"/proc/self/fd/{file}")


def signal_outside() -> str:
    """Signal a process outside by its number."""
    with suppress(ProcessLookupError):
        os.kill(int(AIMS["pid"]), 0)
        return OPEN
    return "ESRCH"


def look_at_processes() -> str:
    """Look for processes of others in /proc."""
    texts = [path.read_bytes() for path in Path("/proc").glob("[0-9]*/cmdline")]
    return OPEN if f"sleep\0{AIMS['marker']}\0".encode() in texts else "not shown"


def type_into_terminal() -> str:
    """Type a letter into a terminal."""
    _, terminal = os.openpty()
    try:
        fcntl.ioctl(terminal, TIOCSTI, b"x")
    except OSError as error:
        return errno.errorcode[error.errno or 0]
    return OPEN


def make_device() -> str:
    """Make a file for the machine's first disk."""
    try:
        os.mknod(str(Path(AIMS["work"], "disk")), stat.S_IFBLK | 0o600, os.makedev(254, 0))
    except OSError as error:
        return errno.errorcode[error.errno or 0]
    return OPEN


def find_disks() -> str:
    """Look for disks among the devices."""
    found = [path for path in Path("/dev").iterdir() if path.is_block_device()]
    return OPEN if found else "not shown"


def share_memory() -> str:
    """Look for a file that somebody outside put into the shared memory."""
    return OPEN if Path("/dev/shm", AIMS["shared"]).exists() else "not shown"


def count_descriptors() -> str:
    """Look for descriptors that were left open for us."""
    left = [number for number in range(3, 1024) if Path(f"/proc/self/fd/{number}").is_symlink()]
    return OPEN if left else "none left open"


def open_vsock() -> str:
    """Open a socket to the host of a virtual machine."""
    try:
        socket.socket(40, socket.SOCK_STREAM).close()
    except OSError as error:
        return errno.errorcode[error.errno or 0]
    return OPEN


def clone_user() -> str:
    """Fork a process into a user namespace of its own."""
    done = LIBC.syscall(56 if X86 else 220, 0x10000000 | 17, 0, 0, 0, 0)
    if done == 0:
        os._exit(0)
    return OPEN if done > 0 else errno.errorcode[ctypes.get_errno()]


def unlink_hidden() -> str:
    """Take away what lies over the credentials."""
    done = LIBC.umount2(str(Path(AIMS["home"], ".ssh")).encode(), 2)
    return OPEN if done == 0 else errno.errorcode[ctypes.get_errno()]


KEYCTL, PERF, UFFD, BPF, URING = (250, 298, 323, 321, 425) if X86 else (219, 241, 282, 280, 425)
ATTACKS: dict[str, Callable[[], str]] = {
    "find open descriptors": count_descriptors,
    "remount the root writable": lambda: mount("none", "/", "", MS_REMOUNT | MS_BIND),
    "remount a hidden folder": lambda: mount("none", str(Path(AIMS["home"], ".ssh")), "", MS_REMOUNT | MS_BIND),
    "unmount what hides credentials": unlink_hidden,
    "mount a new file system": lambda: mount("none", AIMS["work"], "tmpfs", 0),
    "mount proc anew": lambda: mount("none", AIMS["work"], "proc", 0),
    "bind a folder": lambda: mount(AIMS["outside"], AIMS["work"], "", MS_BIND),
    "open a file system": lambda: call(430, b"tmpfs", 0),
    "open a tree of mounts": lambda: call(428, -100, b"/", 1),
    "change the flags of a mount": lambda: call(442, -100, b"/", 0, None, 0),
    "move the root": lambda: call(155 if X86 else 41, b".", b"."),
    "make a user namespace": lambda: call(272 if X86 else 97, 0x10000000),
    "make a mount namespace": lambda: call(272 if X86 else 97, 0x00020000),
    "clone into a user namespace": clone_user,
    "clone3": lambda: call(435, None, 0),
    "enter a namespace": lambda: call(308 if X86 else 268, os.open("/proc/1/ns/mnt", os.O_RDONLY), 0),
    "mount by the numbers of x32": lambda: call(0x40000000 + 165, b"none", b"/", b"", MS_REMOUNT | MS_BIND, None),
    "write outside": lambda: write(str(Path(AIMS["outside"], "plain"))),
    "write by a link": write_by_link,
    "write by a descriptor": write_by_descriptor,
    "write to a file that is open": reopen_writable,
    "write by the root of process 1": lambda: write(f"/proc/1/root{AIMS['outside']}/by-root"),
    "write by the folder of process 1": lambda: write(f"/proc/1/cwd/..{AIMS['outside']}/by-cwd"),
    "write a hook of the main repository": lambda: write(AIMS["hook"]),
    "write a hook of the checkout it works in": lambda: write(str(Path(AIMS["checkout"], ".git/hooks/pre-commit"))),
    "write the configuration of that checkout": lambda: write(str(Path(AIMS["checkout"], ".git/config"))),
    "move git's folder away": rename_git,
    "lead git elsewhere": lambda: write(str(Path(AIMS["work"], ".git"))),
    "write the records of runs": lambda: write(str(Path(AIMS["checkout"], ".git/drumline/state.db"))),
    "write a setting of the kernel": lambda: open_writable("/proc/sys/kernel/core_pattern"),
    "write to sysrq": lambda: open_writable("/proc/sysrq-trigger"),
    "write to sysfs": lambda: open_writable("/sys/kernel/mm/transparent_hugepage/enabled"),
    "signal a process outside": signal_outside,
    "trace a process outside": lambda: call(101 if X86 else 117, 16, int(AIMS["pid"]), 0, 0),
    "hold a process outside": lambda: call(434, int(AIMS["pid"]), 0),
    "see processes outside": look_at_processes,
    "ask for keys": lambda: call(KEYCTL, 0, -3, 0),
    "load a program into the kernel": lambda: call(BPF, 0, None, 0),
    "watch the processor": lambda: call(PERF, struct.pack("=IIQ", 1, 112, 0) + b"\0" * 96, 0, -1, -1, 0),
    "handle page faults": lambda: call(UFFD, 1),
    "open a ring of calls": lambda: call(URING, 1, None),
    "open a socket to the host": open_vsock,
    "type into a terminal": type_into_terminal,
    "make a device": make_device,
    "find disks": find_disks,
    "find shared memory": share_memory,
    "connect to a socket in /tmp": lambda: connect(AIMS["socket"]),
    "connect to a socket in the home": lambda: connect(AIMS["home_socket"]),
    "connect to an abstract socket": lambda: connect("\0" + AIMS["abstract"]),
    "read a key": lambda: read(str(Path(AIMS["home"], ".ssh/id_ed25519"))),
    "read a key by process 1": lambda: read(f"/proc/1/root{AIMS['home']}/.ssh/id_ed25519"),
    "read a cloud's credentials": lambda: read(str(Path(AIMS["home"], ".aws/credentials"))),
    "read gh's token": lambda: read(str(Path(AIMS["home"], ".config/gh/hosts.yml"))),
    "read a browser's profile": lambda: read(str(Path(AIMS["home"], ".mozilla/firefox/logins.json"))),
    "read netrc": lambda: read(str(Path(AIMS["home"], ".netrc"))),
    "read npm's token": lambda: read(str(Path(AIMS["home"], ".npmrc"))),
    "read the token of a repository beside": lambda: read(str(Path(AIMS["beside"], ".git/config"))),
    "read what is to be hidden": lambda: read(AIMS["hide"]),
}

if __name__ == "__main__":
    print(json.dumps({name: attack() for name, attack in ATTACKS.items()}))
