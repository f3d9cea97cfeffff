"""`python -m tests.verdicts.mutation [RULE...]`: is there a test for every decision that the rules take?

Each rule file, and each module that rules lean on, is broken in one place at a time. A mutant that no example, table
row or labelled case notices is a survivor: write the row that tells the two apart, or say in `equivalent.yaml` why
there is none.
"""

import argparse
import importlib
import json
import signal
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from time import perf_counter
from types import CodeType, FrameType, ModuleType
from typing import Protocol

from checkers.rule import PACKAGE, Rule, all_rules
from designspace.document import read
from tests.verdicts.expectations import Expectation, called, expectations
from tests.verdicts.mutants import Mutant, applied, live_function, mutants
from tests.verdicts.tables_broken import LIMITS, of_limits, of_severity, thresholds_of

LOGIC = "checkers"
SECONDS = 2.0  # a mutant that runs longer is noticed
EQUIVALENT = Path(__file__).parent / "equivalent.yaml"
PLAIN = ("checkers.finding", "checkers.rule", "checkers.severity", "checkers.thresholds", "checkers.check")


class HasCache(Protocol):
    """A function that remembers its results."""

    def cache_clear(self) -> None:
        """Forget them."""


class TooLongError(Exception):
    """A mutant that does not end."""


@dataclass(frozen=True)
class Survivor:
    """A mutant that nothing noticed; `why` says that it cannot be noticed."""

    mutant: str
    line: int
    why: str | None


@dataclass(frozen=True)
class Result:
    """What became of the mutants of one rule or module."""

    unit: str
    made: int
    survivors: tuple[Survivor, ...]
    broken_tests: tuple[str, ...]
    seconds: float

    @property
    def unexplained(self) -> tuple[Survivor, ...]:
        """Survivors that `equivalent.yaml` does not name."""
        return tuple(one for one in self.survivors if one.why is None)


def units() -> dict[str, tuple[str, ...]]:
    """Codes of the rules that use a unit, by its name: a rule by its code, a module that rules lean on by its own."""
    found: dict[str, tuple[str, ...]] = {rule.code: (rule.code,) for rule in all_rules()}
    for module in sorted({one for rule in all_rules() for one in _leans_on(_home(rule))}):
        found[module.partition(".")[2]] = tuple(rule.code for rule in all_rules() if module in _leans_on(_home(rule)))
    return found


def _home(rule: Rule) -> str:
    return f"{PACKAGE}.{rule.name.replace('-', '_')}"


@cache
def _leans_on(module: str) -> frozenset[str]:
    """The modules of logic that `module` imports, directly or not."""
    loaded = importlib.import_module(module)
    direct = {
        home
        for value in vars(loaded).values()
        if (home := value.__name__ if isinstance(value, ModuleType) else getattr(value, "__module__", None))
        and home.startswith(f"{LOGIC}.")
        and not home.startswith(PACKAGE)
        and home not in (module, *PLAIN)
    }
    return frozenset(direct).union(*map(_leans_on, direct))


def run(unit: str) -> Result:
    """Every mutant of the unit against every test of the rules that use it."""
    started = perf_counter()
    codes = units()[unit]
    tests = [(one, one.failures()) for code in codes for one in expectations(code)]
    broken = tuple(f"{one.rule.code} {one.name}: {'; '.join(sorted(wrong))}" for one, wrong in tests if wrong)
    reach = _Reach([one for one, wrong in tests if not wrong], _cached_within(unit))
    made = list(_mutants(unit))
    reasons = equivalent()
    survivors = tuple(
        Survivor(one.name, one.line, reasons.get(one.name)) for one in made if not _is_noticed(one, reach)
    )
    return Result(unit, len(made), survivors, broken, perf_counter() - started)


def _mutants(unit: str) -> Iterator[Mutant]:
    rule = next((one for one in all_rules() if one.code == unit), None)
    if rule is None:
        yield from mutants(importlib.import_module(f"{LOGIC}.{unit}"))
        return
    yield from mutants(importlib.import_module(_home(rule)))
    yield from of_severity(rule)
    yield from of_limits(rule)


class _Reach:
    """Which tests call which functions; the test that noticed the last mutant of a function comes first."""

    def __init__(self, tests: Sequence[Expectation], cached: str) -> None:
        self.tests = list(tests)
        self.cached = cached
        self.calls: dict[int, frozenset[CodeType]] = {}
        self.first: dict[str, int] = {}

    def order(self, mutant: Mutant) -> Iterator[int]:
        """Numbers of the tests that can notice the mutant."""
        code = None if mutant.code is None else live_function(sys.modules[mutant.module], mutant.function).__code__
        first = self.first.get(mutant.module + mutant.function)
        if first is not None:
            yield first
        yield from (
            index
            for index in range(len(self.tests))
            if index != first and (code is None or code in self._called(index))
        )

    def _called(self, index: int) -> frozenset[CodeType]:
        if index not in self.calls:
            forget(self.cached)
            self.calls[index] = called(self.tests[index].failures)
        return self.calls[index]


def _is_noticed(mutant: Mutant, reach: _Reach) -> bool:
    order = list(reach.order(mutant))  # before the code is broken, which would no longer be found
    with ExitStack() as stack:
        if mutant.module != LIMITS:
            stack.enter_context(applied(mutant))
        forget(reach.cached)
        stack.callback(forget, reach.cached)
        for index in order:
            if _fails(reach.tests[index], mutant):
                reach.first[mutant.module + mutant.function] = index
                return True
    return False


def _fails(test: Expectation, mutant: Mutant) -> bool:
    try:
        with _limit(SECONDS):
            return bool(test.failures(thresholds_of(mutant)))
    except Exception:
        return True


@contextmanager
def _limit(seconds: float) -> Iterator[None]:
    """Ends what runs longer."""

    def stop(_signal: int, _frame: FrameType | None) -> None:
        raise TooLongError

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)


def _cached_within(unit: str) -> str:
    """Where results may be remembered that a mutant of the unit changes: a rule is asked by nobody else."""
    return next((_home(rule) for rule in all_rules() if rule.code == unit), LOGIC)


def forget(package: str) -> None:
    """Empties the caches of a module, or of all logic: they hold what a sound or a broken function said."""
    for function in _caches(package):
        function.cache_clear()


@cache
def _caches(package: str) -> tuple[HasCache, ...]:
    modules = [sys.modules[name] for name in list(sys.modules) if name == package or name.startswith(f"{package}.")]
    logic = [one for one in modules if one.__name__ not in PLAIN and not one.__name__.startswith(f"{LOGIC}.format")]
    found = [value for one in logic for value in vars(one).values() if hasattr(value, "cache_clear")]
    return tuple({id(one): one for one in found}.values())


@cache
def equivalent() -> dict[str, str]:
    """Why a mutant cannot be noticed, by its name."""
    return {name: str(why) for name, why in (read(EQUIVALENT).data or {}).items()}


def main(arguments: Sequence[str] | None = None) -> int:
    """Print what became of the mutants; 1 where one survived without a reason, 2 for an unknown unit."""
    parser = argparse.ArgumentParser(prog="python -m tests.verdicts.mutation", description=__doc__)
    parser.add_argument("units", nargs="*", metavar="RULE", help="codes (CD501) or modules (growth); all without any")
    parser.add_argument("--format", choices=("text", "json"), default="text")
    given = parser.parse_args(arguments)
    unknown = sorted({*given.units} - units().keys())
    if unknown:
        print(f"no such rule or module: {', '.join(unknown)}; choose from {', '.join(units())}.", file=sys.stderr)
        return 2
    results = []
    for unit in given.units or units():
        results.append(run(unit))
        if given.format == "text":
            print("\n".join(_lines(results[-1])), flush=True)
    if given.format == "json":
        print(json.dumps([asdict(one) for one in results], indent=2))
    else:
        print(_summary(results))
    return 1 if any(one.unexplained or one.broken_tests for one in results) else 0


def _lines(result: Result) -> Iterator[str]:
    left, explained = len(result.unexplained), len(result.survivors) - len(result.unexplained)
    yield (
        f"{result.unit}: {result.made} mutants, {result.made - len(result.survivors)} noticed, {explained} equivalent,"
        f" {left} left ({result.seconds:.1f} s)"
    )
    yield from (f"  test fails already: {one}" for one in result.broken_tests)
    yield from (f"  line {one.line}: {one.mutant}" for one in result.unexplained)


def _summary(results: Sequence[Result]) -> str:
    total = Counter(
        {
            "made": sum(one.made for one in results),
            "survived": sum(len(one.survivors) for one in results),
            "left": sum(len(one.unexplained) for one in results),
        }
    )
    noticed = total["made"] - total["survived"]
    equal = total["survived"] - total["left"]
    return f"all: {total['made']} mutants, {noticed} noticed, {equal} equivalent, {total['left']} left"


if __name__ == "__main__":
    raise SystemExit(main())
