"""The executor's process as its owner sees it: started, watched, started again, and sent home."""

import ctypes
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from search.service import TOKEN_VARIABLE

PR_SET_PDEATHSIG = 1  # from linux/prctl.h
MAX_RESTARTS = 3
STABLE_SECONDS = 60.0  # of life after which earlier crashes are forgotten
FAREWELLS = ((signal.SIGINT, 20.0), (signal.SIGTERM, 10.0), (signal.SIGKILL, 5.0))  # signal, seconds to obey
TAIL_BYTES = 2000

_libc = ctypes.CDLL(None) if sys.platform == "linux" else None


class ExecutorDiedError(RuntimeError):
    """The executor died again and again; the message ends with what it wrote last."""


@dataclass
class ExecutorProcess:
    """A child process that claims jobs over HTTP and trains them.

    Args:
        command: what to run.
        token: the secret it sends with every request.
        log: the file its output goes to.
    """

    command: tuple[str, ...]
    token: str
    log: Path
    child: subprocess.Popen[bytes] = field(init=False)
    started: float = field(init=False)
    restarts: int = 0

    def __post_init__(self) -> None:
        self._start()

    def watch(self) -> int | None:
        """Start the executor again if it crashed; the number of the process that died.

        Raises:
            ExecutorDiedError: it crashed too often.
        """
        code = self.child.poll()
        if code is None:
            if time.monotonic() - self.started > STABLE_SECONDS:
                self.restarts = 0
            return None
        if self.restarts >= MAX_RESTARTS:
            raise ExecutorDiedError(
                f"The executor ended {self.restarts + 1} times, last with code {code}; {self.log} ends:\n{self._tail()}"
            )
        self.restarts += 1
        dead = self.child.pid
        self._kill_group()
        self._start()
        return dead

    def end(self, *, patience_seconds: float = 0.0) -> None:
        """Wait for the executor to end by itself, then make it end, with all that it started."""
        ended = self._ends_within(patience_seconds)
        for number, seconds in FAREWELLS:
            if not ended:
                self.child.send_signal(number)
                ended = self._ends_within(seconds)
        self._kill_group()

    def _start(self) -> None:
        self.started = time.monotonic()
        with self.log.open("ab") as output:
            self.child = subprocess.Popen(
                self.command,
                env=os.environ | {TOKEN_VARIABLE: self.token},
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,  # Ctrl-C in the terminal goes to the owner, who ends the executor in order
                preexec_fn=_die_with_parent,
            )

    def _kill_group(self) -> None:
        """End what the executor left in its process group, such as daemons of Ray after a kill -9 of their driver."""
        with suppress(ProcessLookupError):
            os.killpg(self.child.pid, signal.SIGKILL)

    def _ends_within(self, seconds: float) -> bool:
        try:
            self.child.wait(seconds)
        except subprocess.TimeoutExpired:
            return False
        return True

    def _tail(self) -> str:
        return self.log.read_bytes()[-TAIL_BYTES:].decode(errors="replace")


def _die_with_parent() -> None:
    """Ask Linux to interrupt this process when the owner dies, even by SIGKILL."""
    if _libc is not None:
        _libc.prctl(PR_SET_PDEATHSIG, signal.SIGINT)


def executor_command(
    url: str, *, study: str, spool: Path, workers: int, ray_address: str | None = None
) -> tuple[str, ...]:
    """The command that starts the Ray driver on this machine."""
    shared = (url, "--spool", str(spool), "--study", study, "--workers", str(workers))
    address = ("--ray", ray_address) if ray_address else ()
    return (sys.executable, "-m", "workers.executor", *shared, *address)


def worker_command(url: str, *, study: str, spool: Path) -> tuple[str, ...]:
    """The command that starts a plain worker, which trains one job at a time."""
    return (sys.executable, "-m", "workers.worker", url, "--spool", str(spool), "--study", study)
