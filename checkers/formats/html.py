"""One HTML file for people: findings, verdicts, the stack as a drawing, and |alpha| of its mixers where it is known.

It needs no network and no script: the file forbids both (Content-Security-Policy). Everything folds with the native
`details` element, so a keyboard reaches all of it; colours follow the reader's light or dark setting.
"""

import re
from collections.abc import Mapping, Sequence
from html import escape
from itertools import groupby

from checkers import drawing
from checkers.alike import apart
from checkers.entries import SEE_ALL, Entry, counts_text, entries, probes_text, shown, totals_text
from checkers.finding import Report, Verdict
from checkers.format import Format
from checkers.location import has_file, one_line, source_name
from checkers.picture import Heatmap, Picture
from checkers.principles import FAMILIES

MOST_UNFOLDED = 20  # specs of a page; of more, each is folded
IN_BACKTICKS = re.compile("`([^`]+)`")
POLICY = "default-src 'none'; style-src 'unsafe-inline'"
STYLE = """
:root{color-scheme:light dark;--page:#fff;--text:#1c2024;--soft:#5a636c;--line:#d5dae0;--panel:#f5f7f9;--link:#0b57d0;
--error:#b3261e;--warning:#8a5300;--info:#1558b0;--cell:#14315c}
@media(prefers-color-scheme:dark){:root{--page:#14171a;--text:#e6e9ec;--soft:#a3adb7;--line:#3a424a;--panel:#1d2226;
--link:#8ab4f8;--error:#ff8a80;--warning:#ffc46b;--info:#8ab4f8;--cell:#a8c7fa}}
*{box-sizing:border-box}
body{margin:0 auto;max-width:62rem;padding:1rem;background:var(--page);color:var(--text);
font:16px/1.5 system-ui,sans-serif;overflow-wrap:anywhere}
h1{font-size:1.5rem}h2{font-size:1.25rem;border-top:1px solid var(--line);padding-top:1.5rem}h3{font-size:1rem}
a{color:var(--link)}:focus-visible{outline:3px solid var(--link);outline-offset:2px}
.skip-link{position:absolute;left:-99rem}.skip-link:focus{left:1rem}
.soft{color:var(--soft)}code{font-size:.9em}
.scroll{overflow-x:auto}table{border-collapse:collapse;width:100%}
th,td{text-align:left;vertical-align:top;padding:.3rem .6rem;border-bottom:1px solid var(--line);
overflow-wrap:break-word}
.numbers{width:auto}.numbers td{padding-left:1.5rem}
td.number,th.number{text-align:right;font-variant-numeric:tabular-nums}
details{border:1px solid var(--line);border-radius:6px;margin:.5rem 0;background:var(--panel)}
summary{cursor:pointer;padding:.6rem .8rem}details>div{padding:0 .8rem .8rem}
.error{color:var(--error)}.warning{color:var(--warning)}.info{color:var(--info)}
.badge{font-weight:600;border:1px solid;border-radius:4px;padding:0 .35rem}
figure{margin:1rem 0}.maps{display:flex;flex-wrap:wrap;gap:1rem}.maps figure{margin:0;max-width:15rem}
figcaption{font-size:.875rem;color:var(--soft)}
svg{max-width:100%;height:auto;font:12px system-ui,sans-serif}svg text{fill:var(--text)}
svg .label{fill:var(--soft)}svg .end{text-anchor:end}svg .strong{font-weight:600}
svg text.error{fill:var(--error)}svg text.warning{fill:var(--warning)}svg text.info{fill:var(--info)}
svg .box{fill:var(--panel);stroke:var(--soft)}svg .box.error{stroke:var(--error);stroke-width:2.5}
svg .box.warning{stroke:var(--warning);stroke-width:2}svg .box.info{stroke:var(--info)}
svg .outside{stroke-dasharray:5 3}svg .frame{fill:none;stroke:var(--line)}
svg .line{fill:none;stroke:var(--soft)}svg .cell{fill:var(--cell)}
svg .broken{fill:var(--error)}
.spec{background:var(--page)}.spec details{background:var(--panel)}
.spec>summary h2{display:inline;border:0;padding:0;font-size:1.05rem}.spec>summary span{color:var(--soft)}
@media print{body{max-width:none;font-size:11pt}details{break-inside:avoid}.spec{break-inside:auto}
.skip-link{display:none}details:not([open])>summary::after{content:" (folded)";color:var(--soft)}}
"""


def render(reports: Sequence[Report], *, colour: bool = False) -> str:  # noqa: ARG001 - the page has its own colours
    """The page without pictures."""
    return illustrate(reports, [None] * len(reports))


def illustrate(reports: Sequence[Report], pictures: Sequence[Picture | None]) -> str:
    """The page; `pictures` goes with `reports`."""
    title = "sextant lint" + (
        f": {one_line(reports[0].candidate.name)}" if len(reports) == 1 else f": {len(reports):,} specs"
    )
    section = _section if len(reports) <= MOST_UNFOLDED else _folded
    sections = [
        section(index, report, picture)
        for index, (report, picture) in enumerate(zip(reports, pictures, strict=True), start=1)
    ]
    overview = f"<p>{totals_text(reports)}.</p>\n{_overview(reports)}" if len(reports) > 1 else ""
    versions = ", ".join(sorted({report.tool_version for report in reports}))
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">\n'
        f"<title>{escape(title)}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n"
        '<a class="skip-link" href="#findings">Skip to the findings</a>\n'
        f'<header><h1>{escape(title)}</h1>\n<p class="soft">sextant {escape(versions)}</p></header>\n'
        f'{overview}<main id="findings" tabindex="-1">\n{"".join(sections)}</main>\n</body>\n</html>\n'
    )


def _overview(reports: Sequence[Report]) -> str:
    rows = "".join(
        f'<tr><td><a href="#spec-{index}">{escape(one_line(report.candidate.name))}</a></td>'
        + "".join(
            f'<td class="number">{count}</td>'
            for count in (
                report.summary.errors,
                report.summary.warnings,
                report.summary.infos,
                report.summary.passed,
                report.summary.unknown,
            )
        )
        + "</tr>\n"
        for index, report in enumerate(reports, start=1)
    )
    heads = "".join(
        f'<th scope="col" class="number">{name}</th>' for name in ("errors", "warnings", "infos", "pass", "not judged")
    )
    return (
        '<nav aria-label="Specs" class="scroll"><table>\n'
        f'<thead><tr><th scope="col">spec</th>{heads}</tr></thead>\n<tbody>\n{rows}</tbody></table></nav>\n'
    )


def _section(index: int, report: Report, picture: Picture | None) -> str:
    name = f"spec-{index}"
    return (
        f'<section id="{name}" aria-labelledby="{name}-title">\n'
        f'<h2 id="{name}-title">{escape(one_line(report.candidate.name))}</h2>\n{_body(report, picture)}</section>\n'
    )


def _folded(index: int, report: Report, picture: Picture | None) -> str:
    """A section of a page of many specs: closed, and opened by the link of the overview, which leads inside."""
    name = f"spec-{index}"
    title = f"<h2>{escape(one_line(report.candidate.name))}</h2> <span>{counts_text(report)}</span>"
    body = f'<div id="{name}">\n{_body(report, picture)}</div>'
    return f'<details class="spec"><summary>{title}</summary>\n{body}</details>\n'


def _body(report: Report, picture: Picture | None) -> str:
    drawn = "" if picture is None else _pictures(report, picture)
    return f"{_about(report)}{_findings(report)}{_probes(report)}{drawn}{_verdicts(report)}"


def _about(report: Report) -> str:
    target = report.target
    source = f"<code>{escape(source_name(report))}</code>, " if has_file(report) else ""
    needs = f", needs {', '.join(target.needs)}" if target.needs else ""
    return (
        f'<p class="soft">{source}fingerprint <code>{report.candidate.fingerprint}</code>; judged for length'
        f" {target.seq_len:,}, {target.dtype}, {target.provenance}{escape(needs)}.</p>\n"
        f"<p>{counts_text(report)}; {report.summary.passed} rules pass, {report.summary.unknown} not judged.</p>\n"
    )


def _prose(text: str) -> str:
    """`text` with what stands in backticks as code."""
    return IN_BACKTICKS.sub(r"<code>\1</code>", escape(text))


def _findings(report: Report) -> str:
    blocks = [_finding(entry) for entry in entries(report)] or ["<p>Nothing to report.</p>\n"]
    silenced = apart(finding for finding in report.findings if finding.suppressed is not None)
    if silenced:
        items = "".join(
            f"<li>{finding.code} {finding.name} at <code>{escape(finding.path)}</code>:"
            f" {escape(finding.suppressed or '')}</li>\n"
            for finding in silenced
        )
        blocks.append(
            f"<details><summary>{len(silenced)} suppressed</summary><div><ul>\n{items}</ul></div></details>\n"
        )
    return f"<h3>Findings</h3>\n{''.join(blocks)}"


def _finding(entry: Entry) -> str:
    first = entry.first
    folded = "" if first.severity == "info" else " open"
    lines = f", {entry.lines}" if entry.lines else ""
    assumptions = "".join(f"<p>Assumes {_prose(text)}.</p>\n" for text in first.assumptions)
    probe = "" if entry.probe is None else f"<p>Probe: {_prose(entry.probe)}.</p>\n"
    sources = f'<p class="soft">{escape("; ".join(first.sources))}</p>\n' if first.sources else ""
    return (
        f'<details{folded}><summary><span class="badge {first.severity}">{first.severity}</span>'
        f" <strong>{first.code} {first.name}</strong>: {_prose(first.message)}{_others(entry)}</summary>\n"
        f"<div><p><code>{escape(entry.where)}</code>{lines}</p>\n"
        f"{_ends(entry)}{_numbers(entry.evidence)}{assumptions}{probe}{_fix(entry)}{sources}</div></details>\n"
    )


def _others(entry: Entry) -> str:
    count = len(entry.findings) - 1
    return f' <span class="soft">(and {count:,} alike)</span>' if count else ""


def _ends(entry: Entry) -> str:
    """The messages of the lowest and the highest number, where alike findings differ in numbers."""
    if len(entry.ends) == 1:
        return ""
    items = "".join(f"<li><code>{escape(one.path)}</code>: {_prose(one.message)}</li>\n" for one in entry.ends)
    more = f"<li>{entry.unshown:,} more between these two; {SEE_ALL} shows each</li>\n" if entry.unshown else ""
    return f"<ul>\n{items}{more}</ul>\n"


def _numbers(evidence: Mapping[str, str]) -> str:
    rows = "".join(
        f'<tr><th scope="row">{escape(name)}</th><td class="number">{escape(value)}</td></tr>\n'
        for name, value in evidence.items()
    )
    return f'<div class="scroll"><table class="numbers"><tbody>\n{rows}</tbody></table></div>\n' if rows else ""


def _fix(entry: Entry) -> str:
    fix = entry.first.fix
    if fix is None:
        return ""
    text = "; ".join(part for part in (*map(escape, entry.edits), _prose(fix.note.rstrip("."))) if part)
    return f"<p>Fix ({fix.applicability}): {text}.</p>\n" if text else ""


def _probes(report: Report) -> str:
    """What was measured, the verdicts on the findings, and the faults of the implementation."""
    told = probes_text(report)
    if not told and not report.faults:
        return ""
    faults = "".join(
        f'<details open><summary><span class="badge error">error</span> <strong>{escape(fault.code)}</strong>:'
        f" {_prose(fault.message)}</summary>\n<div><p><code>{escape(fault.path)}</code></p></div></details>\n"
        for fault in report.faults
    )
    lines = "".join(f"<p>{escape(line)}</p>\n" for line in told)
    return f"<h3>Probes</h3>\n{lines}{faults}"


def _pictures(report: Report, picture: Picture) -> str:
    maps = "".join(map(_heatmap, picture.heatmaps))
    heading = (
        "<h3>|α| at a small length</h3>\n"
        '<p class="soft">Rows are the output positions i (down), columns the source positions j (across).</p>\n'
        '<div class="maps">'
        if maps
        else ""
    )
    scale = f"</div>\n<figure>{drawing.legend()}</figure>\n" if maps else ""
    return f"<h3>Stack</h3>\n<figure>{drawing.stack(picture, apart(report.active))}</figure>\n{heading}{maps}{scale}"


def _heatmap(heatmap: Heatmap) -> str:
    drawn = drawing.heatmap(heatmap) if heatmap.rows else ""
    return f"<figure>{drawn}<figcaption>{escape(heatmap.title)}. {escape(heatmap.note)}</figcaption></figure>\n"


def _verdicts(report: Report) -> str:
    summary = report.summary
    failed = len(report.verdicts) - summary.passed - summary.unknown
    groups = groupby(report.verdicts, key=lambda verdict: verdict.principle)
    rows = "".join(
        f'<tr><th colspan="3" scope="colgroup">{_family(principle)}</th></tr>\n{"".join(map(_verdict, verdicts))}'
        for principle, verdicts in groups
    )
    return (
        f"<h3>Verdicts</h3>\n<details><summary>{summary.passed} pass, {failed} fail, {summary.unknown} not judged"
        f'</summary><div class="scroll"><table><tbody>\n{rows}</tbody></table></div></details>\n'
    )


def _family(principle: int) -> str:
    return f"P{principle} {escape(FAMILIES[principle].title)}"


def _verdict(verdict: Verdict) -> str:
    numbers = "; ".join(f"{name} = {shown(quantity)}" for name, quantity in verdict.evidence.items())
    evidence = f' <span class="soft">{escape(numbers)}</span>' if numbers else ""
    return (
        f"<tr><td>{verdict.code} {verdict.name}</td><td>{verdict.verdict}</td>"
        f"<td>{_prose(verdict.reason)}{evidence}</td></tr>\n"
    )


format = Format(  # noqa: A001 - the attribute that units.discover takes
    render=render, media_type="text/html", extension="html", illustrate=illustrate
)
