"""Limits of time and memory, in processes of their own where they last."""

import subprocess
import sys
import threading
import time

import pytest

from workers.limits import LateError, alarm, memory_bytes

GREEDY = """
import torch
from workers.limits import limit_memory, memory_bytes
torch.set_num_threads(1)
limit_memory()
torch.empty(8, dtype=torch.uint8)
try:
    torch.empty(memory_bytes(), dtype=torch.uint8)
except RuntimeError as error:
    print("refused:", error)
"""


def test_a_block_that_takes_too_long_is_ended() -> None:
    started = time.monotonic()
    with pytest.raises(LateError), alarm(0.05):
        time.sleep(10)
    assert time.monotonic() - started < 5


@pytest.mark.parametrize("seconds", [30.0, float("inf")])
def test_a_block_in_time_leaves_no_alarm_behind(seconds: float) -> None:
    with alarm(seconds):
        pass
    with pytest.raises(LateError), alarm(0.01):
        time.sleep(1)
    time.sleep(0.02)


def test_another_thread_runs_to_its_end() -> None:
    ended: list[bool] = []

    def work() -> None:
        with alarm(0.001):
            time.sleep(0.05)
        ended.append(True)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert ended == [True]


def test_an_allocation_beyond_the_share_fails_in_the_process_that_asks() -> None:
    assert memory_bytes() > 1 << 28
    found = subprocess.run([sys.executable, "-c", GREEDY], capture_output=True, text=True, timeout=60, check=True)
    assert "refused:" in found.stdout
    assert "memory" in found.stdout
