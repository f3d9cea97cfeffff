"""Plain text for people: findings by principle, each with its formula and the numbers it used."""

import textwrap
from collections.abc import Iterator, Sequence
from itertools import groupby

from checkers.finding import Edit, Finding, Probed, Quantity, Report, Severity
from checkers.format import Format
from checkers.location import alike, one_line
from checkers.principles import FAMILIES

WIDTH = 110
COLOURS: dict[Severity, str] = {"error": "\033[31m", "warning": "\033[33m", "info": "\033[36m"}
BOLD, RESET = "\033[1m", "\033[0m"
SHOWN_PATHS = 3


def render(reports: Sequence[Report], *, colour: bool = False) -> str:
    """The reports one after the other."""
    return "\n".join("\n".join(_report(report, colour=colour)) + "\n" for report in reports)


def _report(report: Report, *, colour: bool) -> Iterator[str]:
    target = report.target
    source = f"  {one_line(report.candidate.source)}" if report.candidate.source else ""
    yield _bold(f"{one_line(report.candidate.name)}  {report.candidate.fingerprint}{source}", colour)
    needs = f", needs {', '.join(target.needs)}" if target.needs else ""
    yield f"  length {target.seq_len:,}, {target.dtype}, {target.provenance}{needs}"
    by_principle = sorted(report.active, key=lambda finding: finding.principle)
    for principle, group in groupby(by_principle, key=lambda finding: finding.principle):
        family = FAMILIES[principle]
        yield ""
        yield _bold(f"P{principle} {family.title}", colour) + f"  [{family.formula}]"
        for like in alike(list(group)):
            yield from _finding(like, colour=colour)
    for fault in report.faults:
        yield ""
        yield from _wrapped(f"probe fault at {fault.path}: {fault.message}", 2)
    yield ""
    yield from _closing(report)


def _finding(like: list[Finding], *, colour: bool) -> Iterator[str]:
    first = like[0]
    level = f"{COLOURS[first.severity]}{first.severity}{RESET}" if colour else first.severity
    yield f"  {level} {first.code} {first.name}  {_where(like)}"
    yield from _wrapped(first.message, 6)
    for name, quantity in first.evidence.items():
        yield f"      {name} = {shown(quantity)}"
    for assumption in first.assumptions:
        yield from _wrapped(f"assumes {assumption}", 6)
    if first.probe is not None:
        yield from _wrapped(_probed(first.probe), 6)
    if first.fix is not None and first.fix.edits:  # what needs a decision is told by `sextant rule`
        edits = "; ".join(_edit(edit) for edit in first.fix.edits)
        yield from _wrapped(f"fix ({first.fix.applicability}): {edits}", 6)


def _probed(probed: Probed) -> str:
    """`probe: confirmed, score_std = 8.03 ± 0.05 (expected 6.8 to 9.2)`."""
    if probed.quantity is None or probed.value is None or probed.expected is None:
        return f"probe: {probed.verdict}"
    low, high = probed.expected
    due = f"at least {low:.4g}" if high is None else f"{low} to {high}" if low is None else f"{low:.4g} to {high:.4g}"
    interval = f" ± {probed.uncertainty:.2g}" if probed.uncertainty else ""
    unit = f" {probed.unit}" if probed.unit else ""
    return (
        f"probe: {probed.verdict}, {probed.quantity} = {probed.value:.4g}{interval}{unit} over {probed.draws} seeds"
        f" (expected {due})"
    )


def _where(like: list[Finding]) -> str:
    places = [
        f"{finding.span.file}:{finding.span.line}:{finding.span.column} {finding.path}"
        if finding.span
        else finding.path
        for finding in like
    ]
    more = len(places) - SHOWN_PATHS
    return ", ".join(places[:SHOWN_PATHS]) + (f" and {more} more" if more > 0 else "")


def shown(quantity: Quantity) -> str:
    """`8.00 token` for a quantity."""
    match quantity.value:
        case str() as text:
            value = text
        case tuple() as values:
            value = "[" + ", ".join(f"{item:.3g}" for item in values) + "]"
        case number:
            value = f"{number:,.0f}" if number == int(number) and abs(number) < 1e6 else f"{number:.4g}"
    return f"{value} {quantity.unit}".rstrip()


def _edit(edit: Edit) -> str:
    return f"remove {edit.path}" if edit.action == "remove" else f"set {edit.path} to {edit.value}"


def _closing(report: Report) -> Iterator[str]:
    summary = report.summary
    counts = ", ".join(
        f"{count} {name}{'' if count == 1 else 's'}"
        for count, name in ((summary.errors, "error"), (summary.warnings, "warning"), (summary.infos, "info"))
    )
    silenced = sum(finding.suppressed is not None for finding in report.findings)
    yield f"{counts}{f' ({silenced} suppressed)' if silenced else ''}; {summary.passed} rules pass"
    unknown = [verdict for verdict in report.verdicts if verdict.verdict == "unknown"]
    if unknown:
        yield f"not judged ({len(unknown)}):"
        by_reason: dict[str, list[str]] = {}
        for verdict in unknown:
            by_reason.setdefault(verdict.reason, []).append(f"{verdict.code} {verdict.name}")
        for reason, names in by_reason.items():
            yield from _wrapped(f"{', '.join(names)}: {reason}", 2)


def _wrapped(text: str, indent: int) -> list[str]:
    spaces = " " * indent
    return textwrap.wrap(text, WIDTH, initial_indent=spaces, subsequent_indent=spaces + "  ", break_long_words=False)


def _bold(text: str, colour: bool) -> str:
    return f"{BOLD}{text}{RESET}" if colour else text


format = Format(render=render)  # noqa: A001 - the attribute that units.discover takes
