"""Static verdicts held against measured ones, rule by rule, and predicted quantities against measured ones.

.venv/bin/python -m tests.agreement.report --specs 2000 --first 50000 --jobs 2
.venv/bin/python -m tests.agreement.report --specs 200 --rules score-scale,short-horizon
.venv/bin/python -m tests.agreement.report --specs 200 --quantities
.venv/bin/python -m tests.agreement.report --rules score-scale --show 21,101
.venv/bin/python -m tests.agreement.report --specs 2000 --markdown
"""

import argparse
import sys
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from multiprocessing import get_context
from pathlib import Path

import torch

from designspace.candidate import Candidate
from tests.agreement.cases import STEERED, Case, cases, published
from tests.agreement.explained import EXPLANATIONS, Explanation, explanation
from tests.agreement.judge import Judge, Reading, found
from tests.agreement.judges import JUDGES
from tests.agreement.judges.unprobed import UNPROBED
from tests.agreement.quantities import Agreement, agreements

OF_EACH = 10  # specs for each decided one of each verdict: 2,000 give 200 passes and 200 fails
SEARCHED = 30  # steered draws for one spec wanted, at most
MEASURED = 4  # specs of one verdict that are measured for each decided one wanted, at most
ANSWERS = ("pass", "fail", "unknown", "inapplicable")
UNDECLARED = "is not declared"  # in the reason of an answer
PAGE = Path(__file__).parents[2] / "docs" / "agreement.md"
START, END = "<!-- measured: start -->", "<!-- measured: end -->"


@dataclass
class Tally:
    """What one rule said and what was measured."""

    rule: str
    static: Counter[str] = field(default_factory=Counter)  # over the random specs
    undeclared: int = 0  # of them, unknown because the spec leaves out where a decay starts
    agreed: Counter[str] = field(default_factory=Counter)
    undecided: Counter[str] = field(default_factory=Counter)
    beyond: Counter[str] = field(default_factory=Counter)  # what the probe cannot reach, whatever it would say
    explained: Counter[str] = field(default_factory=Counter)
    wrong: list[tuple[Case, Reading]] = field(default_factory=list)
    published: Counter[str] = field(default_factory=Counter)  # catalogue entries: agreed, undecided, wrong
    published_wrong: list[tuple[str, Case, Reading]] = field(default_factory=list)
    seconds: float = 0.0

    def decided(self, answer: str) -> int:
        """Static verdicts of this kind that a measurement decided."""
        return self.agreed[answer] + self.explained[answer] + sum(case.answer == answer for case, _ in self.wrong)

    @property
    def unknown_share(self) -> float:
        """Unknown answers among those that judge, where the spec declares what the rule asks for."""
        judged = sum(self.static[answer] for answer in ("pass", "fail", "unknown")) - self.undeclared
        return (self.static["unknown"] - self.undeclared) / judged if judged else 0.0


def tally(rule: str, judge: Judge, specs: int, first: int = 0) -> Tally:
    """`specs / 10` of each static verdict that a measurement decides."""
    found_, start = Tally(rule), time.monotonic()
    for case in _wanted(rule, judge, range(first, first + specs), found_):
        reading = judge.read(found(case.candidate, judge))
        if reading.verdict == "undecided":
            found_.undecided[case.answer] += 1
        elif reading.verdict == case.answer:
            found_.agreed[case.answer] += 1
        elif _known(rule, case):
            found_.explained[case.answer] += 1
        else:
            found_.wrong.append((case, reading))
    found_.seconds = time.monotonic() - start
    return found_


def _known(rule: str, case: Case) -> Explanation | None:
    """What is known of a candidate under this rule."""
    known = (explanation(rule, located.mixer) for located in case.candidate.mixers())
    return next((one for one in known if one is not None), None)


def _is_beyond(rule: str, case: Case) -> bool:
    known = _known(rule, case)
    return known is not None and known.undecided


def entries(found_: Tally, judge: Judge) -> Tally:
    """The same with the catalogue held against its probes."""
    for name, case in published(found_.rule, judge.longest):
        if case.answer not in ("pass", "fail") or _is_beyond(found_.rule, case):
            continue
        reading = judge.read(found(case.candidate, judge))
        agrees = {"undecided": "undecided", case.answer: "agreed"}.get(reading.verdict, "wrong")
        found_.published[agrees] += 1
        if agrees == "wrong":
            found_.published_wrong.append((name, case, reading))
    return found_


def _wanted(rule: str, judge: Judge, specs: range, found_: Tally) -> Iterator[Case]:
    """Cases with a pass or a fail until enough of both are decided; all random ones are counted."""
    wanted = max(len(specs) // OF_EACH, 1)
    measured: Counter[str] = Counter()

    def lacks(answer: str) -> bool:
        return found_.decided(answer) < wanted and measured[answer] < MEASURED * wanted

    for case in cases(rule, judge.draw, judge.steers, specs=specs, more=SEARCHED * wanted):
        if case.number in specs:
            found_.static[case.answer] += 1
            found_.undeclared += case.answer == "unknown" and UNDECLARED in case.reason
        elif not (lacks("pass") or lacks("fail")):
            return
        if case.answer not in ("pass", "fail") or not lacks(case.answer):
            continue
        if _is_beyond(rule, case):
            found_.beyond[case.answer] += 1
        else:
            measured[case.answer] += 1
            yield case


def drawn(judge: Judge, number: int) -> Candidate:
    """The spec of a number."""
    draw = judge.draw if number < STEERED else judge.steers[number % len(judge.steers)]
    return draw(number)


def line(one: Tally) -> str:
    """One row of the verdicts for people."""
    parts = [f"{one.rule:31}"]
    parts += [f"{answer} {one.static[answer]:4}" for answer in ANSWERS]
    parts.append(f"({one.undeclared} undeclared)")
    for answer in ("pass", "fail"):
        more = f", {one.explained[answer]} explained" if one.explained[answer] else ""
        parts.append(
            f"| {answer}: {one.agreed[answer]}/{one.decided(answer)} agree{more}, {one.undecided[answer]} undecided,"
            f" {one.beyond[answer]} beyond the probe"
        )
    return " ".join([*parts, f"| catalogue {_entries(one)} | {one.seconds:.0f} s"])


def _entries(one: Tally) -> str:
    """Catalogue entries that agree, of those decided."""
    decided = one.published["agreed"] + one.published["wrong"]
    return f"{one.published['agreed']} of {decided}; {one.published['undecided']} undecided"


def quantity_line(name: str, one: Agreement) -> str:
    """One row of the quantities for people."""
    left = f"{one.undecided} undecided, {one.not_predicted} not predicted"
    return f"{name:31} {one.agreed}/{one.predicted} within tolerance, {left}"


def main(arguments: list[str]) -> int:
    """Print the report; 1 where something disagrees without an explanation."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--specs", type=int, default=2000, help="random specs; a tenth of them of each verdict")
    parser.add_argument("--first", type=int, default=0, help="number of the first random spec")
    parser.add_argument("--jobs", type=int, default=1, help="processes that measure rules at the same time")
    parser.add_argument("--rules", default="", help="names, separated by commas; all without it")
    parser.add_argument("--quantities", action="store_true", help="the predicted quantities alone")
    parser.add_argument("--compare", type=int, default=0, help="specs whose quantities are compared; all without it")
    parser.add_argument("--show", default="", help="numbers of drawn specs, separated by commas: print these specs")
    parser.add_argument("--markdown", action="store_true", help="write the tables into docs/agreement.md")
    options = parser.parse_args(arguments)
    names = [name for name in options.rules.split(",") if name] or list(JUDGES)
    torch.set_num_threads(1)
    if options.show:
        for number in map(int, options.show.split(",")):
            candidate = drawn(JUDGES[names[0]], number)
            print(number, candidate.model_dump(exclude_defaults=True, mode="json"))
        return 0
    verdicts = [] if options.quantities else list(_tallies(names, options.specs, options.first, options.jobs))
    compared = {} if options.rules else agreements(options.compare or options.specs, first=options.first)
    for name, one in compared.items():
        print(quantity_line(name, one))
        for spec, numbers in one.wrong:
            print(f"    {spec}: {numbers}")
    if options.markdown:
        write(PAGE, page(verdicts, compared, options.specs, options.compare or options.specs))
    return 1 if any(one.wrong for one in verdicts) else 0


def _tallies(names: list[str], specs: int, first: int, jobs: int) -> Iterator[Tally]:
    """Every rule, as soon as it is measured, in the order of the names."""
    with get_context("spawn").Pool(jobs) as pool:
        yield from map(_printed, pool.imap(partial(_tally, specs=specs, first=first), names))


def _tally(name: str, specs: int, first: int) -> Tally:
    torch.set_num_threads(1)
    return entries(tally(name, JUDGES[name], specs, first), JUDGES[name])


def _printed(one: Tally) -> Tally:
    print(line(one), flush=True)
    for case, reading in one.wrong:
        print(f"    {case.number}: {case.answer}, measured {reading.verdict}: {reading.numbers} | {case.reason}")
    for entry, case, reading in one.published_wrong:
        print(f"    {entry}: {case.answer}, measured {reading.verdict}: {reading.numbers} | {case.reason}")
    return one


def page(verdicts: list[Tally], compared: dict[str, Agreement], specs: int, compared_specs: int) -> str:
    """The measured part of docs/agreement.md."""
    rows = [
        f"| {one.rule} | {' / '.join(str(one.static[answer]) for answer in ANSWERS)} | {one.undeclared} |"
        f" {one.unknown_share:.0%} | {_share(one, 'pass')} | {_share(one, 'fail')} | {_entries(one)} |"
        for one in verdicts
    ]
    left = [
        f"- {one.rule} {case.number}: {case.answer}, measured {reading.verdict} ({reading.numbers}); {case.reason}"
        for one in verdicts
        for case, reading in one.wrong
    ] + [
        f"- {one.rule} {entry}: {case.answer}, measured {reading.verdict} ({reading.numbers}); {case.reason}"
        for one in verdicts
        for entry, case, reading in one.published_wrong
    ]
    sizes = [
        f"| {name} | {one.agreed} of {one.predicted} ({one.agreed / max(one.predicted, 1):.1%}) | {one.undecided} |"
        f" {one.not_predicted} |"
        for name, one in compared.items()
    ]
    outside = [f"- {name} {number}: {numbers}" for name, one in compared.items() for number, numbers in one.wrong]
    return "\n".join(
        [
            f"### Verdicts, {specs:,} random numbers",
            "",
            f"| rule | {' / '.join(ANSWERS)} | not declared | unknown of the others | passes confirmed |"
            " fails confirmed | catalogue entries confirmed |",
            "|---|---|---|---|---|---|---|",
            *rows,
            "",
            "Disagreements left:",
            "",
            *(left or ["- none"]),
            "",
            f"### Predicted quantities, {compared_specs:,} random specs",
            "",
            "| quantity | within tolerance | undecided | not predicted |",
            "|---|---|---|---|",
            *sizes,
            "",
            "Outside of the tolerance:",
            "",
            *(outside or ["- none"]),
            "",
            "### Explained",
            "",
            *(f"- {one.rule}, {one.specs}: {one.reason}." for one in EXPLANATIONS if not one.undecided),
            "",
            "### Beyond the probes",
            "",
            *(f"- {one.rule}, {one.specs}: {one.reason}." for one in EXPLANATIONS if one.undecided),
            "",
            "### Without a probe",
            "",
            *(f"- {name}: {reason}." for name, reason in UNPROBED.items()),
        ]
    )


def _share(one: Tally, answer: str) -> str:
    decided, more = one.decided(answer), one.explained[answer]
    explained = f", {more} explained" if more else ""
    beyond = f", {one.beyond[answer]} beyond" if one.beyond[answer] else ""
    share = f" ({one.agreed[answer] / decided:.1%})" if decided else ""
    return f"{one.agreed[answer]} of {decided}{share}{explained}; {one.undecided[answer]} undecided{beyond}"


def write(path: Path, measured: str) -> None:
    """Replace the measured part of a page."""
    before, _, rest = path.read_text(encoding="utf-8").partition(START)
    after = rest.partition(END)[2]
    path.write_text(f"{before}{START}\n{measured}\n{END}{after}", encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
