"""SVG of a picture, to stand inside a page: colours are the page's custom properties, so it follows light and dark.

Nothing in it is told by colour alone: findings are written into the boxes, and the scale of a heat map is labelled.
"""

from collections.abc import Sequence
from html import escape
from math import floor, isfinite, log10
from typing import NamedTuple

from checkers.finding import Finding, Severity
from checkers.location import LEVELS
from checkers.picture import Box, Group, Heatmap, Picture, Row

WIDTH = 720
LEFT, RIGHT = 100, 100  # room for the skip and its label, and for how often the blocks are repeated
BOX, GAP, ARROW = 52, 8, 30  # height of a box, between boxes side by side, between rows
FRAME = 24  # room for the title of a group
CHARACTER = 7.0  # width of one at 12 px
MAX_GROUPS = 40
LEVELS_SHOWN = 8  # of |alpha|, from the largest down
DECADES = 3  # that they span
BROKEN = -1  # level of a coefficient that is not finite
CELL = 8


class _Part(NamedTuple):
    """A piece of SVG and the height it takes."""

    svg: str
    height: int


def stack(picture: Picture, findings: Sequence[Finding]) -> str:
    """The drawing of the stack; each box names its worst finding and how many it has."""
    groups = picture.groups[:MAX_GROUPS]
    parts = [_row(Row((picture.embedding,)), (), findings, top=0)]
    top = parts[0].height
    times_top = top
    for group in groups:
        parts.append(_group(group, findings, top=top))
        top += parts[-1].height
    if len(picture.groups) > len(groups):
        text = f"and {len(picture.groups) - len(groups)} more groups of blocks"
        parts.append(_Part(_text(LEFT, top + FRAME, text), FRAME + GAP))
        top += FRAME + GAP
    bracket = _bracket(times_top + GAP, top, f"{picture.times} times") if picture.times > 1 else ""
    parts.append(_row(Row((picture.head,), norm="rms"), (), findings, top=top))
    height = top + parts[-1].height
    drawn = "".join(part.svg for part in parts)
    return _svg(WIDTH, height, "The stack from the embedding down to the head", bracket + drawn, edge=1)


def _group(group: Group, findings: Sequence[Finding], *, top: int) -> _Part:
    inner = top + GAP + FRAME
    parts = []
    for row in group.rows:
        parts.append(_row(row, group.paths, findings, top=inner))
        inner += parts[-1].height
    title = group.title + (f", {group.repeat} layers" if group.repeat > 1 else "")
    height = inner - top - GAP
    x, width = LEFT - 92, WIDTH - LEFT - RIGHT + 104
    frame = f'<rect class="frame" x="{x}" y="{top + GAP}" width="{width}" height="{height}" rx="8"/>'
    label = _text(LEFT, top + GAP + 16, title, "strong")
    return _Part(frame + label + "".join(part.svg for part in parts), inner - top + GAP)


def _row(row: Row, paths: Sequence[str], findings: Sequence[Finding], *, top: int) -> _Part:
    """An arrow with the norm, the boxes side by side, and the skip around them."""
    first = row.norm == "none" and row.skip is None and not paths
    arrow = 4 if first else ARROW
    middle = LEFT + (WIDTH - LEFT - RIGHT) // 2
    parts = []
    if not first:
        parts.append(f'<path class="line" d="M{middle} {top}v{arrow - 4}m-4 -5l4 5l4 -5"/>')
        parts.append(_text(middle + 10, top + 18, f"norm {row.norm}" if row.norm != "none" else "no norm", "label"))
    width = (WIDTH - LEFT - RIGHT - GAP * (len(row.boxes) - 1)) // len(row.boxes)
    for index, box in enumerate(row.boxes):
        own = _findings(box, paths, findings)
        parts.append(_box(box, own, x=LEFT + index * (width + GAP), y=top + arrow, width=width))
    if row.skip is not None:
        parts.append(f'<path class="line skip" d="M{middle} {top + 4}H{LEFT - 14}v{arrow + BOX}H{middle}"/>')
        label = "skip" if row.skip == 1 else f"skip x {row.skip:.3g}"
        parts.append(_text(LEFT - 20, top + arrow - 2, label, "label end"))
    height = arrow + BOX + (8 if row.skip is not None else 0)
    return _Part("".join(parts), height)


def _findings(box: Box, paths: Sequence[str], findings: Sequence[Finding]) -> list[Finding]:
    """The findings on a box, in every block that the drawing stands for."""
    if not box.path:
        return []
    places = tuple(f"{path}.{box.path}" for path in paths)
    return [
        finding
        for finding in findings
        if finding.path in places or finding.path.startswith(tuple(f"{place}{end}" for place in places for end in ".["))
    ]


def _box(box: Box, findings: Sequence[Finding], *, x: int, y: int, width: int) -> str:
    lines = [box.title, box.detail]
    worst: Severity | None = min((finding.severity for finding in findings), key=LEVELS.index, default=None)
    if worst is not None:
        codes = list(dict.fromkeys(finding.code for finding in findings if finding.severity == worst))
        lines.append(f"{worst} {', '.join(codes)}")
    room = int((width - 16) / CHARACTER)
    texts = "".join(
        _text(x + 8, y + 15 + 15 * index, _cut(line, room), "strong" if index == 0 else worst if index == 2 else "")
        for index, line in enumerate(lines)
    )
    tip = escape("\n".join(line for line in lines if line))
    return (
        f'<g><title>{tip}</title><rect class="box {box.kind} {worst or ""}" x="{x}" y="{y}" width="{width}"'
        f' height="{BOX}" rx="6"/>{texts}</g>'
    )


def _bracket(top: int, bottom: int, label: str) -> str:
    x = WIDTH - RIGHT + 22
    middle = (top + bottom) // 2
    return f'<path class="line" d="M{x - 5} {top}h5V{bottom}h-5"/>' + _text(x + 6, middle, label, "strong")


def heatmap(heatmap: Heatmap) -> str:
    """The drawing of |alpha|: a cell per pair, darker for larger, on a scale of powers of ten below the largest.

    Pairs whose coefficient is not finite have a colour of their own and are counted in the label.
    """
    largest = max((value for row in heatmap.rows for value in row if isfinite(value)), default=0.0)
    cells: dict[int, list[str]] = {}
    for i, row in enumerate(heatmap.rows):
        for j, value in enumerate(row):
            cells.setdefault(_level(value, largest), []).append(f"M{j * CELL} {i * CELL}h{CELL}v{CELL}h-{CELL}z")
    broken = cells.pop(BROKEN, [])
    cells.pop(0, None)
    paths = "".join(
        f'<path class="cell" fill-opacity="{level / LEVELS_SHOWN:g}" d="{"".join(found)}"/>'
        for level, found in sorted(cells.items())
    )
    if broken:
        paths += f'<path class="broken" d="{"".join(broken)}"/>'
    width, height = CELL * max(map(len, heatmap.rows)), CELL * len(heatmap.rows)
    border = f'<rect class="frame" x="0" y="0" width="{width}" height="{height}"/>'
    label = f"|alpha| of {heatmap.title}: output positions down, source positions across; the largest is {largest:.3g}"
    label += f"; {len(broken)} are not finite" if broken else ""
    return _svg(width, height, label, paths + border, edge=1)


def _level(value: float, largest: float) -> int:
    """0 (below a thousandth of the largest) to `LEVELS_SHOWN`, or `BROKEN`."""
    if not isfinite(value):
        return BROKEN
    if value <= 0:
        return 0
    return max(0, LEVELS_SHOWN + floor(log10(value / largest) * LEVELS_SHOWN / DECADES))


def legend() -> str:
    """The scale of the heat maps."""
    steps = "".join(
        f'<rect class="cell" fill-opacity="{level / LEVELS_SHOWN:g}" x="{(level - 1) * 24}" y="0" width="24"'
        ' height="14"/>'
        for level in range(1, LEVELS_SHOWN + 1)
    )
    ends = _text(0, 28, f"1e-{DECADES} of it", "label") + _text(LEVELS_SHOWN * 24, 28, "the largest", "label end")
    return _svg(LEVELS_SHOWN * 24, 32, f"Scale: from 1e-{DECADES} of the largest to the largest", steps + ends)


def _svg(width: int, height: int, label: str, content: str, *, edge: int = 0) -> str:
    box = f"{-edge} {-edge} {width + 2 * edge} {height + 2 * edge}"
    size = f'viewBox="{box}" width="{width}" height="{height}"'
    return f'<svg role="img" {size}><title>{escape(label)}</title>{content}</svg>'


def _text(x: int, y: int, text: str, kind: str | None = "") -> str:
    named = f' class="{kind}"' if kind else ""
    return f'<text{named} x="{x}" y="{y}">{escape(text)}</text>'


def _cut(text: str, room: int) -> str:
    return text if len(text) <= room else f"{text[: max(room - 1, 1)]}…"
