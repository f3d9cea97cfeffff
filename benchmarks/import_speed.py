"""Median time to import the longest config.json files: `python benchmarks/import_speed.py [FILE...]`.

They are the longest of those given with the importer, and of the files of the hub the deepest stack (nemotron-h-56b,
118 layers) and the largest file (Qwen3.6-27B in NVFP4, whose quantization lists every projection).

After start, that is with all modules loaded; the budget is 50 ms for a file. Beside it the part that is reading the
file with the positions of its keys, and, for comparison, reading it with `json.loads` alone.
"""

import json
import statistics
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from designspace.document import Document, read
from designspace.huggingface import Imported, import_config
from designspace.huggingface.places import placed

CONFIGS = Path(__file__).parent.parent / "tests" / "configs"
HERE = Path(__file__).parent / "configs"
GIVEN = ("minimax-text-01.json", "nemotron-3-nano-30b.json", "gpt-oss-20b.json", "deepseek-v3.2.json")
REPEATS = 200
BUDGET_MILLISECONDS = 50.0
MILLISECONDS = 1000.0


def median_milliseconds(act: Callable[[], object]) -> float:
    """Median of `REPEATS` calls after one that loads what is loaded once."""
    act()
    times = []
    for _ in range(REPEATS):
        start = time.perf_counter()
        act()
        times.append(time.perf_counter() - start)
    return MILLISECONDS * statistics.median(times)


def document(path: Path) -> Document:
    """The file, read as the command reads it."""
    return read(path, special_numbers=True)


def importing(path: Path) -> Imported:
    """What `sextant import` does."""
    return import_config(document(path))


def linting(path: Path) -> Document:
    """What `sextant lint` does before the rules: the import and the places of the fields."""
    file = document(path)
    return placed(file, import_config(file))


def loading(path: Path) -> object:
    """The file as plain data."""
    return json.loads(path.read_text())


def main() -> None:
    """Print a line per file; exit code 1 where an import takes more than the budget."""
    paths = [Path(name) for name in sys.argv[1:]] or [*(CONFIGS / name for name in GIVEN), *sorted(HERE.glob("*.json"))]
    acts = (loading, document, importing, linting)
    print("  ".join(f"{name:>10}" for name in ("json.loads", "reading", "importing", "with places")), " (ms)")
    slowest = 0.0
    for path in paths:
        medians = [median_milliseconds(partial(act, path)) for act in acts]
        slowest = max(slowest, medians[acts.index(importing)])
        layers = importing(path).candidate.num_layers
        print("  ".join(f"{value:10.3f}" for value in medians), f"  {path.name}, {layers} layers")
    sys.exit(slowest > BUDGET_MILLISECONDS)


if __name__ == "__main__":
    main()
