"""One HTML file for people: findings, verdicts, the stack as a drawing, and |alpha| of its mixers where it is known.

It needs no network and no script: the file forbids both (Content-Security-Policy). Everything folds with the native
`details` element, so a keyboard reaches all of it; colours follow the reader's light or dark setting.
"""

import re
from collections.abc import Sequence
from html import escape
from itertools import groupby

from checkers import drawing
from checkers.finding import Edit, Finding, Fix, Report, Verdict
from checkers.format import Format
from checkers.formats.text import shown
from checkers.location import alike, has_file, one_line, source_name
from checkers.picture import Heatmap, Picture
from checkers.principles import FAMILIES

SHOWN_PATHS = 12
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
td.number,th.number{text-align:right;font-variant-numeric:tabular-nums}
details{border:1px solid var(--line);border-radius:6px;margin:.5rem 0;background:var(--panel)}
summary{cursor:pointer;padding:.6rem .8rem}details>div{padding:0 .8rem .8rem}
.error{color:var(--error)}.warning{color:var(--warning)}.info{color:var(--info)}
.badge{font-weight:600;border:1px solid;border-radius:4px;padding:0 .35rem}
figure{margin:1rem 0}.maps{display:flex;flex-wrap:wrap;gap:1rem}.maps figure{margin:0;max-width:15rem}
figcaption{font-size:.875rem;color:var(--soft)}
svg{max-width:100%;height:auto;font:12px system-ui,sans-serif}svg text{fill:var(--text)}
svg .label{fill:var(--soft)}svg .strong{font-weight:600}
svg text.error{fill:var(--error)}svg text.warning{fill:var(--warning)}svg text.info{fill:var(--info)}
svg .box{fill:var(--panel);stroke:var(--soft)}svg .box.error{stroke:var(--error);stroke-width:2.5}
svg .box.warning{stroke:var(--warning);stroke-width:2}svg .box.info{stroke:var(--info)}
svg .outside{stroke-dasharray:5 3}svg .frame{fill:none;stroke:var(--line)}
svg .line{fill:none;stroke:var(--soft)}svg .cell{fill:var(--cell)}
svg .broken{fill:var(--error)}
@media print{details{break-inside:avoid}}
"""


def render(reports: Sequence[Report], *, colour: bool = False) -> str:  # noqa: ARG001 - the page has its own colours
    """The page without pictures."""
    return illustrate(reports, [None] * len(reports))


def illustrate(reports: Sequence[Report], pictures: Sequence[Picture | None]) -> str:
    """The page; `pictures` goes with `reports`."""
    title = "sextant lint" + (
        f": {one_line(reports[0].candidate.name)}" if len(reports) == 1 else f": {len(reports):,} specs"
    )
    sections = [
        _section(index, report, picture)
        for index, (report, picture) in enumerate(zip(reports, pictures, strict=True), start=1)
    ]
    overview = _overview(reports) if len(reports) > 1 else ""
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
    drawn = "" if picture is None else _pictures(report, picture)
    return (
        f'<section id="{name}" aria-labelledby="{name}-title">\n'
        f'<h2 id="{name}-title">{escape(one_line(report.candidate.name))}</h2>\n{_about(report)}'
        f"{_findings(report)}{drawn}{_verdicts(report)}</section>\n"
    )


def _about(report: Report) -> str:
    target, summary = report.target, report.summary
    source = f"<code>{escape(source_name(report))}</code>, " if has_file(report) else ""
    needs = f", needs {', '.join(target.needs)}" if target.needs else ""
    return (
        f'<p class="soft">{source}fingerprint <code>{report.candidate.fingerprint}</code>; judged for length'
        f" {target.seq_len:,}, {target.dtype}, {target.provenance}{escape(needs)}.</p>\n"
        f"<p>{_counted(summary.errors, 'error')}, {_counted(summary.warnings, 'warning')},"
        f" {_counted(summary.infos, 'info')}; {summary.passed} rules pass, {summary.unknown} not judged.</p>\n"
    )


def _prose(text: str) -> str:
    """`text` with what stands in backticks as code."""
    return IN_BACKTICKS.sub(r"<code>\1</code>", escape(text))


def _counted(count: int, name: str) -> str:
    return f"{count:,} {name}{'' if count == 1 else 's'}"


def _findings(report: Report) -> str:
    blocks = [_finding(like) for like in alike(report.active)] or ["<p>Nothing to report.</p>\n"]
    silenced = [finding for finding in report.findings if finding.suppressed is not None]
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


def _finding(like: list[Finding]) -> str:
    first = like[0]
    folded = "" if first.severity == "info" else " open"
    places = ", ".join(f"<code>{escape(_where(finding))}</code>" for finding in like[:SHOWN_PATHS])
    more = f" and {len(like) - SHOWN_PATHS} more" if len(like) > SHOWN_PATHS else ""
    evidence = "".join(
        f'<tr><th scope="row">{escape(name)}</th><td class="number">{escape(shown(quantity))}</td></tr>\n'
        for name, quantity in first.evidence.items()
    )
    table = f'<div class="scroll"><table><tbody>\n{evidence}</tbody></table></div>\n' if evidence else ""
    assumptions = "".join(f"<p>Assumes {_prose(text)}.</p>\n" for text in first.assumptions)
    fix = "" if first.fix is None else _fix(first.fix)
    sources = f'<p class="soft">{escape("; ".join(first.sources))}</p>\n' if first.sources else ""
    return (
        f'<details{folded}><summary><span class="badge {first.severity}">{first.severity}</span> {first.code}'
        f" {first.name}: {_prose(first.message)}</summary>\n<div><p>{places}{more}</p>\n"
        f"{table}{assumptions}{fix}{sources}</div></details>\n"
    )


def _where(finding: Finding) -> str:
    return f"{finding.path}, line {finding.span.line}" if finding.span else finding.path


def _fix(fix: Fix) -> str:
    parts = [*map(_edit, fix.edits), _prose(fix.note.rstrip("."))]
    text = "; ".join(part for part in parts if part)
    return f"<p>Fix ({fix.applicability}): {text}.</p>\n" if text else ""


def _edit(edit: Edit) -> str:
    path = f"<code>{escape(edit.path)}</code>"
    return f"remove {path}" if edit.action == "remove" else f"set {path} to <code>{escape(str(edit.value))}</code>"


def _pictures(report: Report, picture: Picture) -> str:
    maps = "".join(map(_heatmap, picture.heatmaps))
    heading = '<h3>|α| at a small length</h3>\n<div class="maps">' if maps else ""
    scale = f"</div>\n<figure>{drawing.legend()}</figure>\n" if maps else ""
    return f"<h3>Stack</h3>\n<figure>{drawing.stack(picture, report.active)}</figure>\n{heading}{maps}{scale}"


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
    return (
        f"<tr><td>{verdict.code} {verdict.name}</td><td>{verdict.verdict}</td><td>{_prose(verdict.reason)}</td></tr>\n"
    )


format = Format(  # noqa: A001 - the attribute that units.discover takes
    render=render, media_type="text/html", extension="html", illustrate=illustrate
)
