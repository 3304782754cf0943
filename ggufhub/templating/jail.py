"""Close the door behind a child process: limits, and a filter on system calls.

The sandbox of Jinja had an escape about every second year, and resource limits do not bind
root. So the process that renders gives up, before it sees the template, everything but
computing, memory, and reading and writing what is already open (security notes, section 3.4).
"""

import ctypes
import platform
import resource
import struct
import sys

MEMORY = 256 << 20
"""Bytes of address space beyond what the warmed-up interpreter already holds."""

CPU_SECONDS = 2
"""A real template needs 16 ms, the slowest of 70 took 62 ms."""

_PR_SET_NO_NEW_PRIVS = 38
_PR_SET_SECCOMP = 22
_SECCOMP_MODE_FILTER = 2

_LOAD = 0x20  # BPF_LD | BPF_W | BPF_ABS
_JUMP_EQUAL = 0x15  # BPF_JMP | BPF_JEQ | BPF_K
_RETURN = 0x06  # BPF_RET | BPF_K
_ALLOW = 0x7FFF0000
_REFUSE = 0x00050001  # SECCOMP_RET_ERRNO with EPERM
_KILL = 0x80000000  # SECCOMP_RET_KILL_PROCESS

# Numbers from asm/unistd_64.h and asm-generic/unistd.h of Linux: read, write, close, lseek,
# fstat, mmap, mprotect, munmap, mremap, brk, madvise, rt_sigaction, rt_sigprocmask,
# rt_sigreturn, futex, clock_gettime, getrandom, exit, exit_group.
_SYSTEM_CALLS = {
    "x86_64": (
        0xC000003E,
        (0, 1, 3, 8, 5, 9, 10, 11, 25, 12, 28, 13, 14, 15, 202, 228, 318, 60, 231),
    ),
    "aarch64": (
        0xC00000B7,
        (63, 64, 57, 62, 80, 222, 226, 215, 216, 214, 233, 134, 135, 139, 98, 113, 278, 93, 94),
    ),
}
"""Audit architecture and permitted call numbers by machine."""


def available() -> bool:
    """Whether this machine has the filter. Without it nothing is rendered."""
    return sys.platform == "linux" and platform.machine() in _SYSTEM_CALLS


def shut() -> None:
    """Limit this process for good. ``OSError`` where the kernel refuses the filter."""
    for limit, value in (
        (resource.RLIMIT_AS, _address_space() + MEMORY),
        (resource.RLIMIT_CPU, CPU_SECONDS),
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_NPROC, 0),
    ):
        resource.setrlimit(limit, (value, value))
    _filter_system_calls()


def _address_space() -> int:
    """Bytes of address space in use (``/proc/self/statm``, first field, in pages)."""
    with open("/proc/self/statm", encoding="ascii") as statm:
        return int(statm.read().split()[0]) * resource.getpagesize()


def _filter_system_calls() -> None:
    architecture, permitted = _SYSTEM_CALLS[platform.machine()]
    program = [
        (_LOAD, 0, 0, 4),  # seccomp_data.arch
        (_JUMP_EQUAL, 1, 0, architecture),
        (_RETURN, 0, 0, _KILL),
        (_LOAD, 0, 0, 0),  # seccomp_data.nr
    ]
    for index, number in enumerate(permitted):
        program.append((_JUMP_EQUAL, len(permitted) - index, 0, number))
    program += [(_RETURN, 0, 0, _REFUSE), (_RETURN, 0, 0, _ALLOW)]
    code = b"".join(struct.pack("HBBI", *step) for step in program)
    instructions = ctypes.create_string_buffer(code)
    header = struct.pack("HxxxxxxP", len(program), ctypes.addressof(instructions))
    libc = ctypes.CDLL(None, use_errno=True)
    for arguments in (
        (_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0),
        (_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, header, 0, 0),
    ):
        if libc.prctl(*arguments) != 0:
            raise OSError(ctypes.get_errno(), "prctl")
