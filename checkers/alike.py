"""Infos that say the same of several layers: one finding in a report, and one for each layer where places count."""

import re
from collections.abc import Iterable, Sequence

from checkers.finding import Edit, Elsewhere, Finding, Fix
from designspace.events import split_path
from designspace.spec import replaced

BLOCK = re.compile(r"blocks\[\d+\]")


def together(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """The findings by place in the spec (blocks[10] after blocks[2]), then code; infos that are the same but for the
    block stand at the first of them, which names the other places in `also`.
    """
    groups: list[list[Finding]] = []
    first: dict[tuple[str, str, str | None], list[Finding]] = {}
    for finding in sorted(findings, key=_position):
        group = [finding]
        if finding.severity == "info":
            group = first.setdefault((finding.code, finding.message, finding.suppressed), group)
        if group[0] is finding:
            groups.append(group)
        elif _alike(group[0], finding):
            group.append(finding)
        else:
            groups.append([finding])
    return tuple(map(_joined, groups))


def apart(findings: Iterable[Finding]) -> list[Finding]:
    """The same with a finding for each place, which has the edits of its own place: undoes `together`."""
    return [one for finding in findings for one in (_places(finding) if finding.also else (finding,))]


def _position(finding: Finding) -> tuple[list[tuple[bool, int, str]], str, str]:
    parts = [
        (isinstance(part, str), part if isinstance(part, int) else 0, str(part)) for part in split_path(finding.path)
    ]
    return parts, finding.code, finding.message


def _alike(one: Finding, other: Finding) -> bool:
    """Both say the same, and their edits differ in the block alone."""
    edits = _inside(one)
    return edits is not None and edits == _inside(other) and _said(one) == _said(other)


def _said(finding: Finding) -> tuple[object, ...]:
    return finding.evidence, finding.assumptions, finding.probe, _with(finding.fix, ())


def _inside(finding: Finding) -> list[Edit] | None:
    """The edits, their paths inside the block of the finding; None where it has none or an edit lies elsewhere."""
    block = BLOCK.match(finding.path)
    edits = _edits(finding)
    if block is None or not all(edit.path.startswith(block[0]) for edit in edits):
        return None
    return [edit.model_copy(update={"path": edit.path.removeprefix(block[0])}) for edit in edits]


def _edits(finding: Finding) -> tuple[Edit, ...]:
    return () if finding.fix is None else finding.fix.edits


def _joined(group: Sequence[Finding]) -> Finding:
    first, *others = group
    if not others:
        return first
    edits = tuple(edit for finding in group for edit in _edits(finding))
    elsewhere = tuple(Elsewhere(path=one.path, span=one.span, fingerprint=one.fingerprint) for one in others)
    return replaced(first, {"also": elsewhere, "fix": _with(first.fix, edits)})


def _places(finding: Finding) -> list[Finding]:
    here = Elsewhere(path=finding.path, span=finding.span, fingerprint=finding.fingerprint)
    places, edits = (here, *finding.also), _edits(finding)
    share = len(edits) // len(places)
    return [
        replaced(
            finding,
            {
                "path": place.path,
                "span": place.span,
                "fingerprint": place.fingerprint,
                "fix": _with(finding.fix, edits[index * share : (index + 1) * share]),
                "also": (),
            },
        )
        for index, place in enumerate(places)
    ]


def _with(fix: Fix | None, edits: tuple[Edit, ...]) -> Fix | None:
    return fix if fix is None or fix.edits == edits else replaced(fix, {"edits": edits})
