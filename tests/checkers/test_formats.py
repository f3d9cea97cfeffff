"""What people and programs read."""

import json

from checkers import check
from checkers.format import Format
from checkers.formats import json as json_format
from checkers.formats import text as text_format
from checkers.rule import resolved
from designspace.specfile import load_with_places
from designspace.units import discover

UNSCALED = {"mixer": {"readout": {"kind": "exponential"}, "normalization": {"kind": "sum"}, "scaling": {"base": 1.0}}}


def test_formats_are_found_by_their_files():
    assert {"json", "text"} <= set(discover("checkers.formats", "format", Format))


def test_json_is_an_object_for_one_and_an_array_for_more():
    report = check(resolved(UNSCALED))
    one = json.loads(json_format.format.render([report]))
    two = json.loads(json_format.format.render([report, report]))
    assert one["schema"] == "sextant.report/1"
    assert two == [one, one]


def test_text_groups_by_principle_with_formula_and_numbers():
    loaded = load_with_places("catalogue:softmax_unscaled")
    text = text_format.format.render([check(loaded.candidate, document=loaded.document)])
    headings = [line for line in text.splitlines() if line.startswith("P") and "[" in line]
    assert headings == sorted(headings)
    assert "P5 scale of the scores  [std z_ij at initialisation in [0.5, 2]]" in headings
    for part in ("error CD501 score-scale", "score_std = 8", "fix (unsafe): set", "not judged"):
        assert part in text


def test_text_names_equal_blocks_once():
    blocks = [UNSCALED, UNSCALED, UNSCALED, UNSCALED, UNSCALED]
    text = text_format.format.render([check(resolved({"blocks": blocks}))])
    assert text.count("CD501 score-scale  ") == 1
    assert "and 2 more" in text


def test_text_has_escapes_only_where_colour_is_asked():
    report = check(resolved(UNSCALED))
    assert "\033[" not in text_format.format.render([report])
    assert "\033[31merror" in text_format.format.render([report], colour=True)


def test_text_hides_suppressed_findings_and_counts_them():
    spec = {**UNSCALED, "lint": {"ignore": [{"rule": "CD501", "reason": "a reproduction"}]}}
    text = text_format.format.render([check(resolved(spec))])
    assert "CD501 score-scale  " not in text
    assert "(1 suppressed)" in text
