"""html: one page that needs nothing else, in light and dark, on a phone, by keyboard."""

import re
from collections import Counter
from html.parser import HTMLParser

from checkers import check
from checkers.drawing import heatmap, stack
from checkers.finding import Quantity
from checkers.formats.html import format as page
from checkers.picture import Heatmap, picture
from designspace import catalogue
from designspace.candidate import Candidate
from tests.checkers.fixed_report import deep, finding, probed, report

VOID = {"meta", "br", "hr", "img", "input", "link"}
LOADS = {"src", "href", "srcset", "data", "action", "poster", "xlink:href"}
ONE_MIXER = "<g><title>"


class Page(HTMLParser):
    """What a page holds: counts of its tags, attributes by name, text, and whether every tag is closed in its place."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: Counter[str] = Counter()
        self.attributes: list[tuple[str, str, str]] = []
        self.text: list[str] = []
        self.open: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags[tag] += 1
        self.attributes += [(tag, name, value or "") for name, value in attrs]
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags[tag] += 1
        self.attributes += [(tag, name, value or "") for name, value in attrs]

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text.append(data)

    def values(self, name: str) -> list[str]:
        return [value for _, attribute, value in self.attributes if attribute == name]


def drawn(candidate: Candidate, *maps: Heatmap) -> str:
    assert page.illustrate is not None
    return page.illustrate([check(candidate)], [picture(candidate, maps)])


def test_the_page_is_well_formed_and_refers_to_nothing_outside():
    triangle = Heatmap("blocks[0].mixer", ((1.0, 0.0), (0.5, 0.25)), "two tokens")
    text = drawn(catalogue.get("softmax_unscaled").candidate, triangle)
    found = Page(text)
    assert found.open == []
    assert not found.tags.keys() & {"script", "link", "img", "iframe", "object", "embed", "form", "base"}
    assert all(value.startswith("#") for name in LOADS for value in found.values(name))
    assert not re.search(r"url\(|@import|https?:|//", text)
    assert "default-src 'none'; style-src 'unsafe-inline'" in found.values("content")
    assert not [name for _, name, _ in found.attributes if name.startswith("on")]


def test_links_lead_to_sections_of_the_page():
    text = page.render([report(), report(name="other")])
    found = Page(text)
    ids = found.values("id")
    assert len(ids) == len(set(ids))
    assert {value.removeprefix("#") for value in found.values("href")} <= set(ids)
    assert {"spec-1", "spec-2"} <= set(ids)
    assert set(found.values("aria-labelledby")) <= set(ids)


def test_the_page_fits_phones_dark_screens_and_keyboards():
    text = page.render([report()])
    found = Page(text)
    assert "width=device-width, initial-scale=1" in found.values("content")
    assert "prefers-color-scheme:dark" in text
    assert ("html", "lang", "en") in found.attributes
    assert found.tags["summary"] == found.tags["details"] >= 3  # folding is native, so a keyboard works it
    assert not [value for value in found.values("tabindex") if int(value) > 0]


def test_findings_show_numbers_places_assumptions_and_fixes():
    text = "".join(Page(page.render([report()])).text)
    for part in (
        "2 errors, 1 warning, 0 infos in 2 entries (1 suppressed); 2 rules pass, 1 not judged.",
        "CD501 score-scale: std 8, 100% outside [0.5, 2]: a < b & c | d (and 1 alike)",
        "blocks[0].mixer.scaling.base, line 7",
        "score_std8",
        "Assumes unit q and k.",
        "Fix (unsafe): set blocks[0].mixer.scaling to n^-1/2.",
        "CD301 position-blind at blocks[0].mixer: a reproduction",
        "2 pass, 2 fail, 1 not judged",
        "CD401 parity-excludedunknownnot <applicable>",
    ):
        assert part in text


def test_verdicts_show_their_numbers():
    passed = report().verdicts[1].model_copy(update={"evidence": {"share": Quantity(value=0.5, unit="of <scores>")}})
    text = page.render([report().model_copy(update={"verdicts": (passed,)})])
    assert "a half-lineshare = 0.5 of <scores>" in "".join(Page(text).text).replace("line share", "lineshare")


def test_errors_are_unfolded_and_infos_are_not():
    unfolded = [name for tag, name, _ in Page(page.render([report()])).attributes if (tag, name) == ("details", "open")]
    assert len(unfolded) == 2  # alike errors are one
    info = Page(page.render([report(finding(severity="info"))]))
    assert ("details", "open", "") not in info.attributes


def test_names_cannot_write_markup():
    found = Page(page.render([report(finding(message="<script>x</script>"), name="<img src=x>", source="<b>.yaml")]))
    assert not found.tags.keys() & {"script", "img", "b"}
    assert "<img src=x>" in "".join(found.text)


def test_every_picture_has_a_name():
    text = drawn(catalogue.get("linear").candidate, Heatmap("m", ((1.0,),)))
    assert text.count("<svg ") == text.count('<svg role="img"') == 3
    assert len(re.findall(r"<svg [^>]*><title>[^<]+</title>", text)) == 3


def test_the_stack_is_drawn_once_for_layers_that_look_alike():
    mixer, other = {"lift": {"kind": "none"}}, {"readout": {"kind": "exponential"}, "normalization": {"kind": "sum"}}
    blocks = [{"mixer": mixer, "repeat": 3}, {"mixer": other}] * 4
    candidate = Candidate.model_validate({"blocks": blocks})
    drawing = picture(candidate)
    assert (drawing.times, [group.repeat for group in drawing.groups]) == (4, [3, 1])
    assert drawing.groups[1].paths == ("blocks[1]", "blocks[3]", "blocks[5]", "blocks[7]")
    svg = stack(drawing, [finding(path="blocks[5].mixer.readout"), finding(path="blocks[5].mixerless")])
    assert svg.count("error CD501") == 2  # the box and its tip: a finding of any of the blocks, and only of them
    assert ">4 times<" in svg
    assert "blocks[0], 3 layers" in svg


def test_branches_stand_side_by_side():
    branch = {"readout": {"kind": "exponential"}, "normalization": {"kind": "sum"}}
    parallel = Candidate.model_validate({"blocks": [{"mixer": {"parallel": [branch, {}]}, "skip": {"lambda": 0.5}}]})
    (group,) = picture(parallel).groups
    assert [box.path for box in group.rows[0].boxes] == ["mixer.parallel[0]", "mixer.parallel[1]"]
    svg = stack(picture(parallel), [])
    boxes = re.findall(r'class="box mixer " x="(\d+)" y="(\d+)" width="(\d+)"', svg)
    (left, top, width), (right, same, _) = [tuple(map(int, box)) for box in boxes]
    assert top == same
    assert left + width <= right
    assert "skip x 0.5" in svg


def test_a_heat_map_has_a_cell_for_each_pair_down_to_a_thousandth_of_the_largest():
    svg = heatmap(Heatmap("m", ((2.0, 0.0, 0.0), (0.2, 0.0201, 0.0), (1e-3, float("nan"), float("inf")))))
    cells = {
        (int(x) // 8, int(y) // 8): float(opacity)
        for opacity, path in re.findall(r'class="cell" fill-opacity="([\d.]+)" d="([^"]+)"', svg)
        for x, y in re.findall(r"M(\d+) (\d+)", path)
    }
    assert cells.keys() == {(0, 0), (0, 1), (1, 1)}  # 1e-3 of 2 is below a thousandth
    assert 1.0 == cells[0, 0] > cells[0, 1] > cells[1, 1] > 0
    assert "the largest is 2; 2 are not finite" in svg
    assert re.findall(r'class="broken" d="(M8 16[^"]+M16 16[^"]+)"', svg)


def test_pages_stay_small():
    pages = [page.render([check(catalogue.get(name).candidate)]) for name in ("linear", "gated_deltanet", "diff")]
    assert max(len(text) for text in pages) < 40_000


def test_alike_findings_of_a_deep_stack_are_one_block():
    text = "".join(Page(page.render([deep()])).text)
    for part in (
        "8 errors, 0 warnings, 0 infos in 1 entry; ",
        "half-life 3.5 steps, below 1,024 (and 7 alike)",
        "blocks[0..14 step 2].mixer.decay (16 layers), line 7",
        "blocks[14].mixer.decay: half-life 17.5 steps",
        "6 more between these two",
        "half_life3.5 to 17.5 steps",
    ):
        assert part in text


def test_probes_have_a_section_with_their_faults():
    text = "".join(Page(page.render([probed()])).text)
    for part in (
        "40 numbers measured on the compiled module; 1 fault of the implementation",
        "contradicted (1): CD501 score-scale",
        "probe-later-tokens: an output changes with later tokens: <b> & 50%",
        "Probe: contradicted, score_std = 6.3 ± 0.05 over 8 seeds",
    ):
        assert part in text
    assert "<h3>Probes" not in page.render([report()])


def test_a_page_of_many_specs_is_folded_and_the_overview_leads_into_each():
    text = page.render([report(name=f"spec {index}") for index in range(21)])
    found = Page(text)
    assert text.count('<details class="spec"><summary><h2>') == 21
    assert re.search(r'<details class="spec"><summary>.*</summary>\n<div id="spec-21">', text)
    assert "#spec-21" in found.values("href")
    assert found.open == []


def contrast(one: str, other: str) -> float:
    """The contrast ratio of two colours #rrggbb or #rgb. Source: WCAG 2.2, relative luminance."""

    def luminance(colour: str) -> float:
        digits = colour[1:] if len(colour) == 7 else "".join(2 * digit for digit in colour[1:])
        parts = [int(digits[start : start + 2], 16) / 255 for start in (0, 2, 4)]
        linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def test_text_has_the_contrast_of_the_guidelines_in_light_and_dark():
    for theme in re.findall(r":root\{([^}]*)\}", page.render([report()])):
        colours = dict(re.findall(r"--(\w+):(#[0-9a-f]+)", theme))
        for text in ("text", "soft", "link", "error", "warning", "info"):
            for ground in ("page", "panel"):
                assert contrast(colours[text], colours[ground]) >= 4.5, (text, ground)
