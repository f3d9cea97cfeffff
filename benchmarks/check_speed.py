"""Time and memory of checks: `python -m benchmarks.check_speed [--specs 10000] [--files 1000]`, in the root folder.

1. `checkers.check` on random valid specs of the whole grammar (`tests.strategies`), each checked once: median and 99th
   percentile, of all and of those with one distinct mixer, and the resident memory on the way. Budgets: 1.5 ms, 5 ms,
   and no growth once the caches are full.
2. The same on the catalogue, and on the stacks with the most mixers among the given config.json files.
3. `sextant lint` on 1,000 spec files in one call, start included. Budget: 4 s.

All on one core. Times are of the processor, so that a busy machine counts less; the last line of 3 is the wall clock.
"""

import argparse
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from checkers import check
from designspace import catalogue
from designspace.candidate import Candidate
from designspace.specfile import dump, load
from tests.strategies import random_candidate

ROOT = Path(__file__).parent.parent
CONFIGS = (
    ROOT / "benchmarks" / "configs" / "nemotron-h-56b.json",
    ROOT / "tests" / "configs" / "minimax-text-01.json",
    ROOT / "tests" / "configs" / "nemotron-3-nano-30b.json",
)
FORMATS = ("text", "concise", "json", "sarif")
REPEATS = 20
REPORTS_OF_MEMORY = 10
MILLISECONDS = 1000.0
KIBIBYTES = 1024
WIDE_NAME = 28  # characters


def main() -> None:
    """Print everything."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--specs", type=int, default=10_000, help="random specs to check")
    parser.add_argument("--files", type=int, default=1_000, help="spec files of one call")
    given = parser.parse_args()
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    random_specs(given.specs)
    repeated()
    files(given.files)


def random_specs(count: int) -> None:
    """Check `count` random specs, small and large ones in turn."""
    check(catalogue.get("mamba2").candidate)
    times, single = [], []
    for seed in range(count):
        candidate = random_candidate(seed, small=seed % 2 == 0)
        times.append(milliseconds(candidate))
        if len({located.mixer for located in candidate.mixers()}) == 1:
            single.append(times[-1])
        if (seed + 1) % max(count // REPORTS_OF_MEMORY, 1) == 0:
            print(f"{seed + 1:8,} specs   resident {resident_mebibytes():6.1f} MiB")
    print(f"{count:8,} specs   {spread(times)}")
    print(f"{len(single):8,} of one distinct mixer   {spread(single)}")
    slowest = sorted(range(count), key=lambda seed: -times[seed])[:5]
    print("         slowest seeds " + ", ".join(f"{seed} ({times[seed]:.1f} ms)" for seed in slowest))


def spread(times: list[float]) -> str:
    """Percentiles of times in milliseconds."""
    ordered = sorted(times)
    shares = {"median": 0.5, "p90": 0.9, "p99": 0.99, "p99.9": 0.999}
    found = {name: ordered[int(share * (len(ordered) - 1))] for name, share in shares.items()} | {"max": ordered[-1]}
    return "   ".join(f"{name} {value:.2f} ms" for name, value in found.items())


def repeated() -> None:
    """Medians over the catalogue and of the configs, with warm caches."""
    medians = {name: median_milliseconds(catalogue.get(name).candidate) for name in catalogue.names()}
    slowest = max(medians, key=lambda name: medians[name])
    print(
        f"catalogue        median {statistics.median(medians.values()):.2f} ms of {len(medians)} entries,"
        f" slowest {slowest} {medians[slowest]:.2f} ms"
    )
    for config in CONFIGS:
        candidate = load(config)
        print(f"{config.stem:{WIDE_NAME}} {median_milliseconds(candidate):.1f} ms, {candidate.num_layers} layers")


def files(count: int) -> None:
    """Time `sextant lint` on a folder of `count` spec files."""
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(count):
            text = dump(random_candidate(seed, small=seed % 2 == 0))
            (Path(folder) / f"spec{seed:05}.yaml").write_text(text, encoding="utf-8")
        for name in FORMATS:
            before, start = children_seconds(), time.perf_counter()
            command = [sys.executable, "-c", "from search.cli import main; main()", "lint", folder, "--format", name]
            ended = subprocess.run([*command, "--fail-on", "never"], cwd=ROOT, capture_output=True, check=True)
            wall = time.perf_counter() - start
            used = children_seconds() - before
            size = len(ended.stdout) / KIBIBYTES**2
            print(f"{count:8,} files   --format {name:8} {used:.2f} s ({wall:.2f} s wall clock), {size:.1f} MiB")


def milliseconds(candidate: Candidate) -> float:
    """Processor time of one check."""
    start = time.process_time()
    check(candidate)
    return MILLISECONDS * (time.process_time() - start)


def median_milliseconds(candidate: Candidate) -> float:
    """Median of `REPEATS` checks after one that fills the caches of quadratures."""
    check(candidate)
    return statistics.median(milliseconds(candidate) for _ in range(REPEATS))


def resident_mebibytes() -> float:
    """Memory that this process holds now."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * resource.getpagesize() / KIBIBYTES**2


def children_seconds() -> float:
    """Processor time of the commands that ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


if __name__ == "__main__":
    main()
