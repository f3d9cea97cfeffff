"""Findings as people read them: those that say the same at many places, or differ in numbers alone, are one entry.

Programs get every finding; what is folded here is only how a page shows them, so counts stay those of the report.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby, pairwise

from checkers.alike import apart
from checkers.finding import Edit, Fault, Finding, Probed, Quantity, Report
from checkers.location import LEVELS

NUMBER = re.compile(r"(?<![\w.])[-+]?\d+(?:,\d{3})*(?:\.\d+)?(?:e[-+]?\d+)?")
HOLE = "\0"  # in place of a number; no message has it
BLOCK = re.compile(r"blocks\[(\d+)\](.*)", re.DOTALL)
COUNTED = re.compile(r"^(layer|token|step|byte|channel|head|block|mixer|row|pair)s\b")  # units that have a plural
SEE_ALL = "--format concise"  # a line for each finding
MOST_PIECES = 12  # of a list of block numbers
MOST_PLACES = 4  # of an entry, beyond what ranges hold
MOST_VALUES = 3  # of a quantity that is no number
EXACT = re.compile(r"bytes?\b|tokens?\b")  # units that people compare digit by digit
EXACT_UP_TO, SHORT_UP_TO = 1e12, 1e7  # whole numbers above are rounded, of such units and of others
FEW_STEPS = 3  # numbers with one distance that are worth writing as a range


@dataclass(frozen=True)
class Entry:
    """Findings of one rule and severity, one or many; their messages differ in numbers at most.

    Attributes:
        findings: in the order of the report.
        layers: how many layers each block of the stack stands for.
    """

    findings: tuple[Finding, ...]
    layers: tuple[int, ...] = ()

    @property
    def first(self) -> Finding:
        """The finding that stands for all of them."""
        return self.findings[0]

    @cached_property
    def each(self) -> list[Finding]:
        """A finding for each place."""
        return apart(self.findings)

    @cached_property
    def ends(self) -> tuple[Finding, ...]:
        """The findings whose messages are shown: one, or those with the lowest and the highest number."""
        if len({finding.message for finding in self.findings}) == 1:
            return (self.first,)
        numbers = [NUMBER.findall(finding.message) for finding in self.findings]
        column = next(index for index, values in enumerate(zip(*numbers, strict=True)) if len(set(values)) > 1)
        ordered = sorted(range(len(numbers)), key=lambda index: _value_of(numbers[index][column]))
        return self.findings[ordered[0]], self.findings[ordered[-1]]

    @property
    def unshown(self) -> int:
        """How many findings say something that `ends` does not."""
        shown_messages = {finding.message for finding in self.ends}
        return sum(finding.message not in shown_messages for finding in self.findings)

    @property
    def places(self) -> list[str]:
        """Where the entry stands, block numbers as ranges: `blocks[0..6, 8..14].mixer.decay`."""
        return ranges(finding.path for finding in self.each)

    @property
    def where(self) -> str:
        """`places` in one line, with the number of layers where it is more than one."""
        places = self.places
        more = len(places) - MOST_PLACES
        listed = ", ".join(places[:MOST_PLACES]) + (f" and {more} more places" if more > 0 else "")
        return f"{listed} ({self.num_layers:,} layers)" if self.num_layers > 1 else listed

    @property
    def num_layers(self) -> int:
        """Layers of the stack that the entry is about; 0 where it names no block."""
        blocks = {int(match[1]) for finding in self.each if (match := BLOCK.match(finding.path))}
        return sum(self.layers[index] if index < len(self.layers) else 1 for index in blocks)

    @property
    def lines(self) -> str:
        """`line 7`, or `lines 7 to 90`; empty where the candidate has no document."""
        found = sorted({finding.span.line for finding in self.each if finding.span is not None})
        if not found:
            return ""
        return f"line {found[0]}" if len(found) == 1 else f"lines {found[0]} to {found[-1]}"

    @property
    def evidence(self) -> dict[str, str]:
        """The numbers; one that differs as `lowest to highest`."""
        return {
            name: _together([finding.evidence[name] for finding in self.findings if name in finding.evidence])
            for name in self.first.evidence
        }

    @property
    def edits(self) -> list[str]:
        """The edits of the fix in words; those of alike findings together."""
        fixes = [finding.fix.edits if finding.fix is not None else () for finding in self.each]
        if len({tuple((edit.action, BLOCK.sub(r"\2", edit.path)) for edit in edits) for edits in fixes}) != 1:
            return [_edited([edit]) for edit in fixes[0]]
        return [_edited(column) for column in zip(*fixes, strict=True)]

    @property
    def probe(self) -> str | None:
        """What the probes say, the worst answer with its numbers; None where nothing was probed."""
        probed = [finding.probe for finding in self.findings if finding.probe is not None]
        if not probed:
            return None
        by_verdict = {verdict: [one for one in probed if one.verdict == verdict] for verdict in VERDICTS}
        counts = ", ".join(f"{len(found)} {verdict}" for verdict, found in by_verdict.items() if found)
        worst = next(found[0] for found in by_verdict.values() if found)
        text = probe_text(worst)
        return text if len(probed) == 1 or text == worst.verdict else f"{counts}; the first {text}"


VERDICTS = ("contradicted", "confirmed", "not measured")  # in the order of what a reader must look at


def entries(report: Report) -> list[Entry]:
    """The findings of the report that nothing silences, by severity, then code."""
    found: dict[tuple[int, str, str], list[Finding]] = {}
    for finding in report.active:
        key = (LEVELS.index(finding.severity), finding.code, NUMBER.sub(HOLE, finding.message))
        found.setdefault(key, []).append(finding)
    ordered = sorted(found.items(), key=lambda item: item[0][:2])
    return [Entry(tuple(findings), report.layers) for _, findings in ordered]


def ranges(paths: Iterable[str]) -> list[str]:
    """The paths, each once; those that differ in the block alone are one, with the block numbers as ranges."""
    blocks: dict[str, list[int]] = {}
    for path in dict.fromkeys(paths):
        match = BLOCK.fullmatch(path)
        if match is None:
            blocks[path] = []
        else:
            blocks.setdefault(match[2], []).append(int(match[1]))
    return [f"blocks[{_pieces(sorted(found))}]{rest}" if found else rest for rest, found in blocks.items()]


def _pieces(numbers: Sequence[int]) -> str:
    """`0..6, 8..14` for a rising list of numbers, `3..27 step 8` where they keep one distance."""
    steps = {after - before for before, after in pairwise(numbers)}
    if len(numbers) >= FEW_STEPS and len(steps) == 1 and steps != {1}:
        return f"{numbers[0]}..{numbers[-1]} step {steps.pop()}"
    pieces = list(_runs(numbers))
    more = len(pieces) - MOST_PIECES
    return ", ".join(pieces if more <= 0 else [*pieces[: MOST_PIECES - 1], "...", pieces[-1]])


def _runs(numbers: Sequence[int]) -> Iterator[str]:
    for _, group in groupby(enumerate(numbers), key=lambda pair: pair[1] - pair[0]):
        run = [number for _, number in group]
        yield str(run[0]) if len(run) == 1 else f"{run[0]}..{run[-1]}"


def _value_of(number: str) -> float:
    return float(number.replace(",", ""))


def shown(quantity: Quantity) -> str:
    """`8 steps` for a quantity."""
    match quantity.value:
        case str() as text:
            value = text
        case tuple() as values:
            value = "[" + ", ".join(f"{item:.3g}" for item in values) + "]"
        case number:
            most = EXACT_UP_TO if EXACT.match(quantity.unit) else SHORT_UP_TO
            value = f"{number:,.0f}" if number == int(number) and abs(number) < most else f"{number:.4g}"
    unit = COUNTED.sub(r"\1", quantity.unit) if value == "1" else quantity.unit
    return f"{value} {unit}".rstrip()


def _together(quantities: Sequence[Quantity]) -> str:
    distinct = list(dict.fromkeys(map(shown, quantities)))
    numbers = [one for one in quantities if isinstance(one.value, int | float)]
    if len(distinct) == 1:
        return distinct[0]
    if len(numbers) == len(quantities):
        low, *_, high = sorted(numbers, key=_value)
        return f"{shown(low.model_copy(update={'unit': ''}))} to {shown(high)}"
    more = len(distinct) - MOST_VALUES
    return "; ".join(distinct[:MOST_VALUES]) + (f" and {more} more" if more > 0 else "")


def _value(quantity: Quantity) -> float:
    return quantity.value if isinstance(quantity.value, int | float) else 0.0


def _edited(edits: Sequence[Edit]) -> str:
    """One edit at several places in words."""
    places = ", ".join(ranges(edit.path for edit in edits))
    if edits[0].action == "remove":
        return f"remove {places}"
    values = list(dict.fromkeys(value_text(edit.value) for edit in edits))
    more = f" (the first; {len(values) - 1} other values)" if len(values) > 1 else ""
    return f"set {places} to {values[0]}{more}"


def value_text(value: object) -> str:
    """The value of an edit as a spec file would hold it."""
    match value:
        case bool():
            return str(value).lower()
        case None:
            return "null"
        case tuple() | list():
            return "[" + ", ".join(map(value_text, value)) + "]"
        case float() | int():
            return f"{value:.6g}"
        case _:
            return str(value)


def probe_text(probed: Probed) -> str:
    """`confirmed, score_std = 8.03 ± 0.05 over 8 seeds (expected 6.8 to 9.2)`."""
    if probed.quantity is None or probed.value is None:
        return probed.verdict
    return f"{probed.verdict}, {probed.quantity} = {measured_text(probed)}"


def measured_text(probed: Probed) -> str:
    """`8.03 ± 0.05 over 8 seeds (expected 6.8 to 9.2)`."""
    interval = f" ± {probed.uncertainty:.2g}" if probed.uncertainty else ""
    unit = f" {probed.unit}" if probed.unit else ""
    length = f" at length {probed.length:,}" if probed.length is not None else ""
    due = "" if probed.expected is None else f" (expected {expected_text(probed.expected)})"
    return f"{probed.value:.4g}{interval}{unit} over {probed.draws} seeds{length}{due}"


def told(one: Finding | Fault) -> str:
    """The message of a finding or fault, with what the probes say of the finding and where else it holds."""
    if isinstance(one, Fault):
        return one.message
    probed = "" if one.probe is None else f" [probe: {probe_text(one.probe)}]"
    also = f" [also at {', '.join(ranges(other.path for other in one.also))}]" if one.also else ""
    return f"{one.message}{probed}{also}"


def expected_text(expected: tuple[float | None, float | None]) -> str:
    """`6.8 to 9.2`, `at least 6.8` or `at most 9.2`."""
    match expected:
        case (None, None):
            return "anything"
        case (low, None):
            return f"at least {low:.4g}"
        case (None, high):
            return f"at most {high:.4g}"
        case (low, high):
            return f"{low:.4g}" if low == high else f"{low:.4g} to {high:.4g}"


def counted(count: int, name: str) -> str:
    """`1 error`, `1,200 errors`."""
    return f"{count:,} {name}{'' if count == 1 else 's'}"


def counts_text(report: Report) -> str:
    """`0 errors, 80 warnings, 290 infos in 6 entries (1 suppressed), 1 fault`."""
    summary = report.summary
    levels = ((summary.errors, "error"), (summary.warnings, "warning"), (summary.infos, "info"))
    text = ", ".join(counted(count, name) for count, name in levels)
    folded = len(entries(report))
    if folded < len(report.active):
        text += f" in {counted(folded, 'entry') if folded == 1 else f'{folded} entries'}"
    silenced = len(report.findings) - len(report.active)
    text += f" ({silenced:,} suppressed)" if silenced else ""
    return f"{text}, {counted(len(report.faults), 'probe fault')}" if report.faults else text


def totals_text(reports: Sequence[Report]) -> str:
    """`1 error, 3 warnings, 0 infos, 2 suppressed in 4 specs`."""
    summaries = [report.summary for report in reports]
    counts = {
        "error": sum(summary.errors for summary in summaries),
        "warning": sum(summary.warnings for summary in summaries),
        "info": sum(summary.infos for summary in summaries),
    }
    silenced = sum(len(report.findings) - len(report.active) for report in reports)
    faults = sum(len(report.faults) for report in reports)
    parts = [counted(count, name) for name, count in counts.items()]
    parts += [f"{silenced:,} suppressed"] if silenced else []
    parts += [counted(faults, "probe fault")] if faults else []
    return f"{', '.join(parts)} in {counted(len(reports), 'spec')}"


def probes_text(report: Report) -> list[str]:
    """What the probes said of the findings, and their faults, one line each; nothing where nothing was probed."""
    if not report.measured and not any(finding.probe for finding in report.active):
        return []
    lines = []
    for verdict in VERDICTS:
        found = [one for one in report.active if one.probe is not None and one.probe.verdict == verdict]
        names = list(dict.fromkeys(f"{one.code} {one.name}" for one in found))
        if found:
            lines.append(f"{verdict} ({len(found):,}): {', '.join(names)}")
    faults = f"{counted(len(report.faults), 'fault')} of the implementation" if report.faults else "no fault"
    return [f"{report.measured:,} numbers measured on the compiled module; {faults}", *lines]
