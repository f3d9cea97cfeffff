"""Plain text for people: findings by principle, each with its formula and the numbers it used.

What many layers say alike is one entry; `--format concise` has a line for each.
"""

import textwrap
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import groupby

from checkers.entries import SEE_ALL, Entry, counts_text, entries, probes_text, totals_text
from checkers.finding import Report, Severity, Verdict
from checkers.format import Format
from checkers.location import one_line
from checkers.principles import FAMILIES

WIDTH = 110
CACHE = 4096  # texts: the reports of a folder share assumptions, fixes and lists of rules
COLOURS: dict[Severity, str] = {"error": "\033[31m", "warning": "\033[33m", "info": "\033[36m"}
BOLD, RESET = "\033[1m", "\033[0m"
NOT_APPLICABLE = "not applicable"  # what `checkers.check` begins the reason of such a verdict with


def render(reports: Sequence[Report], *, colour: bool = False) -> str:
    """The reports one after the other; after several a line with the sums."""
    told = ["\n".join(_report(report, colour=colour)) + "\n" for report in reports]
    return "\n".join([*told, f"{totals_text(reports)}\n"] if len(reports) > 1 else told)


def _report(report: Report, *, colour: bool) -> Iterator[str]:
    target = report.target
    source = f"  {one_line(report.candidate.source)}" if report.candidate.source else ""
    yield _bold(f"{one_line(report.candidate.name)}  {report.candidate.fingerprint}{source}", colour)
    needs = f", needs {', '.join(target.needs)}" if target.needs else ""
    yield f"  length {target.seq_len:,}, {target.dtype}, {target.provenance}{needs}"
    by_principle = sorted(entries(report), key=lambda entry: entry.first.principle)
    for principle, group in groupby(by_principle, key=lambda entry: entry.first.principle):
        family = FAMILIES[principle]
        yield ""
        yield _bold(f"P{principle} {family.title}", colour) + f"  [{family.formula}]"
        for entry in group:
            yield from _entry(entry, colour=colour)
    yield from _probes(report, colour=colour)
    yield ""
    yield from _closing(report)


def _entry(entry: Entry, *, colour: bool) -> Iterator[str]:
    first = entry.first
    yield from _wrapped(f"{first.severity} {first.code} {first.name}  {_place(entry)}", 2, colour=colour)
    if len(entry.ends) == 1:
        yield from _wrapped(first.message, 6)
    else:
        for finding in entry.ends:
            yield from _wrapped(f"at {finding.path}: {finding.message}", 6)
        if entry.unshown:
            yield f"      and {entry.unshown:,} more between these two; {SEE_ALL} shows each"
    for name, value in entry.evidence.items():
        yield f"      {name} = {value}"
    for assumption in first.assumptions:
        yield from _wrapped(f"assumes {assumption}", 6)
    if entry.probe is not None:
        yield from _wrapped(f"probe: {entry.probe}", 6)
    if first.fix is not None and entry.edits:  # what needs a decision is told by `sextant rule`
        yield from _wrapped(f"fix ({first.fix.applicability}): {'; '.join(entry.edits)}", 6)


def _place(entry: Entry) -> str:
    """File, line and column of the first finding, and the paths of all."""
    span = entry.first.span
    return entry.where if span is None else f"{one_line(span.file)}:{span.line}:{span.column} {entry.where}"


def _probes(report: Report, *, colour: bool) -> Iterator[str]:
    """The section on what was measured; empty where nothing was."""
    told = probes_text(report)
    if not told and not report.faults:
        return
    yield ""
    yield _bold("Probes", colour) + f"  [{told[0] if told else 'what no sound implementation does'}]"
    for fault in report.faults:
        where = f"{one_line(fault.span.file)}:{fault.span.line} " if fault.span else ""
        yield from _wrapped(f"error {fault.code}  {where}{fault.path}", 2, colour=colour)
        yield from _wrapped(fault.message, 6)
    for line in told[1:]:
        yield from _wrapped(line, 2)


def _closing(report: Report) -> Iterator[str]:
    yield f"{counts_text(report)}; {report.summary.passed} rules pass"
    unknown = [verdict for verdict in report.verdicts if verdict.verdict == "unknown"]
    open_questions = [verdict for verdict in unknown if not verdict.reason.startswith(NOT_APPLICABLE)]
    if open_questions:
        yield f"not judged ({len(open_questions)}):"
        for reason, names in _by_reason(open_questions).items():
            yield from _wrapped(f"{', '.join(names)}: {reason}", 2)
    inapplicable = [f"{verdict.code} {verdict.name}" for verdict in unknown if verdict not in open_questions]
    if inapplicable:
        yield from _wrapped(f"{NOT_APPLICABLE} ({len(inapplicable)}): {', '.join(inapplicable)}", 0)


def _by_reason(verdicts: Sequence[Verdict]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for verdict in verdicts:
        found.setdefault(verdict.reason, []).append(f"{verdict.code} {verdict.name}")
    return found


@lru_cache(CACHE)
def _wrapped(text: str, indent: int, *, colour: bool = False) -> list[str]:
    """`text` in lines; with `colour` its first word is a severity and is coloured."""
    spaces = " " * indent
    lines = textwrap.wrap(
        one_line(text),
        WIDTH,
        initial_indent=spaces,
        subsequent_indent=spaces + "  ",
        break_long_words=False,
        break_on_hyphens=False,
    )
    if colour:
        level = text.partition(" ")[0]
        escape = next((escape for name, escape in COLOURS.items() if name == level), "")
        lines[0] = lines[0].replace(level, f"{escape}{level}{RESET}", 1)
    return lines


def _bold(text: str, colour: bool) -> str:
    return f"{BOLD}{text}{RESET}" if colour else text


format = Format(render=render)  # noqa: A001 - the attribute that units.discover takes
