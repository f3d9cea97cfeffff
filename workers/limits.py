"""What a run may take of its machine: wall time and memory. A candidate is somebody's idea; it must not cost a host."""

import math
import os
import resource
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

import torch

USABLE = 0.8  # of the memory; the rest is for the owner, the system and what torch does not count
CGROUP_LIMIT = Path("/sys/fs/cgroup/memory.max")

OUT_OF_MEMORY = ("can't allocate memory", "out of memory", "not enough memory")  # in RuntimeErrors of torch


class LateError(TimeoutError):
    """The time of a block is over."""


@contextmanager
def alarm(seconds: float) -> Iterator[None]:
    """Raises LateError in the block once it took so long, between two operations of torch; in a main thread only.

    Other threads get no signals, so there the block runs on to its end, as it does for infinitely many seconds.
    """
    if math.isinf(seconds) or threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGALRM, _ring)
    signal.setitimer(signal.ITIMER_REAL, max(seconds, 1e-3))
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before or signal.SIG_DFL)


def limit_memory() -> None:
    """Caps this process at its share of the machine, one per core, so that a huge model fails and not its neighbours.

    An allocation beyond the cap raises what torch and numpy raise on a full machine. A process that trains on a GPU
    is left alone: the driver reserves far more addresses than it uses, and a full GPU raises by itself.
    """
    if torch.cuda.is_available():
        return
    share = int(USABLE * memory_bytes()) // (os.cpu_count() or 1)
    _, hard = resource.getrlimit(resource.RLIMIT_DATA)
    soft = share if hard == resource.RLIM_INFINITY else min(share, hard)
    resource.setrlimit(resource.RLIMIT_DATA, (soft, hard))


def memory_bytes() -> int:
    """Memory of this machine, or of the container if that is less."""
    physical = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    limit = CGROUP_LIMIT.read_text().strip() if CGROUP_LIMIT.exists() else "max"
    return min(physical, int(limit)) if limit.isdecimal() else physical


def _ring(number: int, frame: FrameType | None) -> None:  # noqa: ARG001
    raise LateError("the time is over")


def is_out_of_memory(error: BaseException) -> bool:
    """The error says that memory ran out; torch says so on a processor in words only."""
    return isinstance(error, MemoryError | torch.OutOfMemoryError) or (
        isinstance(error, RuntimeError) and any(words in str(error).lower() for words in OUT_OF_MEMORY)
    )
