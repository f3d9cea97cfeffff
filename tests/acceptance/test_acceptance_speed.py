"""The time of lint and of a check, and what lint imports."""

import resource
import subprocess
import sys
import time

import numpy as np
from given import ENVIRONMENT, NAMES, candidate, drawn, sextant

from checkers import check
from designspace.specfile import load


def process_seconds(arguments: list[str]) -> tuple[float, float]:
    """Processor and wall seconds of a command, start included."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    start = time.perf_counter()
    sextant(*arguments)
    wall = time.perf_counter() - start
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, wall


def test_lint_takes_under_600_ms_of_process_time() -> None:
    sextant("lint", "catalogue:gla")  # bytecode
    best = min(process_seconds(["lint", "catalogue:gated_deltanet"])[0] for _ in range(5))
    assert best < 0.6, best


def test_check_takes_under_2_ms_per_candidate() -> None:
    rng = np.random.default_rng(8)
    candidates = [load(f"catalogue:{name}") for name in NAMES[:20]]
    while len(candidates) < 120:
        try:
            candidates.append(candidate({"mixer": drawn(rng)}))
        except ValueError:
            continue
    for one in candidates:
        check(one)
    start = time.process_time()
    for one in candidates:
        check(one)
    assert (time.process_time() - start) / len(candidates) < 0.002
    # and the first look at never seen specs, as a search has it: the median
    fresh = [candidate({"mixer": drawn(rng)}) for _ in range(100)]
    times = []
    for one in fresh:
        start = time.process_time()
        check(one)
        times.append(time.process_time() - start)
    assert sorted(times)[len(times) // 2] < 0.002


def test_lint_imports_nothing_heavy() -> None:
    code = (
        "import sys; sys.argv=['sextant','lint','catalogue:gla']\n"
        "from search.cli import main\n"
        "try:\n main()\nexcept SystemExit: pass\n"
        "print([m for m in ('torch','ray','optuna','sqlalchemy','fastapi') if m in sys.modules])"
    )
    found = subprocess.run([sys.executable, "-c", code], env=ENVIRONMENT, capture_output=True, text=True, check=True)
    assert found.stdout.strip().endswith("[]")
