"""`python -m tests.cases`: recall on the labelled defects, false alarms on the traps, and each miss."""

import argparse
import json
import sys
from collections.abc import Iterator, Sequence

from designspace.errors import SpecError
from tests.cases.score import CLASSES, Score, score


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the score; 1 where a case is not as it should be, 2 where a record cannot be read."""
    parser = argparse.ArgumentParser(prog="python -m tests.cases", description=__doc__)
    parser.add_argument("records", nargs="*", help="first letters of case names, such as B01 or X; all without any")
    parser.add_argument("--format", choices=("text", "json"), default="text")
    given = parser.parse_args(arguments)
    try:
        found = score(given.records)
    except SpecError as error:
        print(error, file=sys.stderr)
        return 2
    print(json.dumps(found.data(), indent=2) if given.format == "json" else "\n".join(_lines(found)))
    return 1 if found.problems else 0


def _lines(found: Score) -> Iterator[str]:
    yield "defects found            cases  records"
    for letter, meaning in CLASSES.items():
        yield f"  {letter} {meaning:<33}{found.cases[letter]!s:>8}{found.records[letter]!s:>8}"
    yield f"false alarms on traps    {found.false_alarms}/{found.traps}"
    for name, codes in found.infos.items():
        yield f"  infos of {name}: {', '.join(codes)}"
    for problem in found.problems:
        yield f"\n{problem.case}: {problem.title}"
        yield from (f"  WRONG  {line}" for line in problem.wrong)
        yield from (f"         {line}" for line in problem.findings)


if __name__ == "__main__":
    raise SystemExit(main())
