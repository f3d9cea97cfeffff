"""Median time of `checkers.check` over the catalogue: `python benchmarks/check_speed.py`. The budget is 2 ms."""

import statistics
import time

from checkers import check
from designspace import catalogue
from designspace.candidate import Candidate

REPEATS = 20
MILLISECONDS = 1000.0


def median_milliseconds(candidate: Candidate) -> float:
    """Median of `REPEATS` checks after one that fills the caches of quadratures."""
    check(candidate)
    times = []
    for _ in range(REPEATS):
        start = time.perf_counter()
        check(candidate)
        times.append(time.perf_counter() - start)
    return MILLISECONDS * statistics.median(times)


def main() -> None:
    """Print the median of each entry and of all."""
    medians = {name: median_milliseconds(catalogue.get(name).candidate) for name in catalogue.names()}
    for name, value in sorted(medians.items(), key=lambda item: item[1]):
        print(f"{value:8.3f} ms  {name}")
    print(f"{statistics.median(medians.values()):8.3f} ms  median of {len(medians)} catalogue entries")


if __name__ == "__main__":
    main()
