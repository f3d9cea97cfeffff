"""What people and programs read."""

import json

from checkers import check
from checkers.format import Format
from checkers.formats import json as json_format
from checkers.formats import text as text_format
from checkers.rule import resolved
from designspace.specfile import load_with_places
from designspace.units import discover
from tests.checkers.fixed_report import deep, finding, probed, report

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
    text = text_format.format.render([check(resolved({"blocks": [UNSCALED] * 5}))])
    assert text.count("CD501 score-scale  ") == 1
    assert "blocks[0..4].mixer.scaling.base (5 layers)" in text


def test_text_shows_the_ends_of_findings_that_differ_in_numbers():
    text = " ".join(text_format.format.render([deep()]).split())
    for part in (
        "blocks[0..14 step 2].mixer.decay (16 layers) at blocks[0].mixer.decay: half-life 3.5 steps, below 1,024 at"
        " blocks[14].mixer.decay: half-life 17.5 steps, below 1,024 and 6 more between these two;"
        " --format concise shows each half_life = 3.5 to 17.5 steps limit = 1,024",
        "fix (unsafe): set blocks[0..14 step 2].mixer.decay.initial[1] to 0.99",
        "8 errors, 0 warnings, 0 infos in 1 entry (0 suppressed)".replace(" (0 suppressed)", ""),
    ):
        assert part in text


def test_text_says_what_was_measured():
    text = " ".join(text_format.format.render([probed()]).split())
    for part in (
        "probe: contradicted, score_std = 6.3 ± 0.05 over 8 seeds at length 64 (expected at least 6.8)",
        "Probes [40 numbers measured on the compiled module; 1 fault of the implementation]",
        "error probe-later-tokens specs/a b.yaml:2 blocks[0].mixer an output changes with later tokens",
        "contradicted (1): CD501 score-scale not measured (1): CD402 commuting-transitions",
        ", 1 probe fault;",
    ):
        assert part in text
    sound = probed().model_copy(update={"faults": ()})
    assert "Probes  [40 numbers measured on the compiled module; no fault]" in text_format.format.render([sound])
    assert "Probes" not in text_format.format.render([report()])


def test_text_tells_what_does_not_apply_from_what_is_not_known():
    lines = text_format.format.render([check(resolved({"mixer": {}}))]).splitlines()
    (unknown,) = [index for index, line in enumerate(lines) if line.startswith("not judged (")]
    assert "CD702 recall-capacity: `target.recall_pairs` is not declared" in " ".join(lines[unknown:])
    (inapplicable,) = [line for line in lines if line.startswith("not applicable (")]
    assert "CD302 bias-grows-with-distance" in inapplicable


def test_text_of_several_ends_with_the_sums():
    lines = text_format.format.render([report(), probed()]).splitlines()
    assert lines[-1] == "4 errors, 2 warnings, 0 infos, 1 suppressed, 1 probe fault in 2 specs"
    assert " in 1 spec" not in text_format.format.render([report()])


def test_text_holds_no_escape_of_a_message():
    text = text_format.format.render([report(finding(message="a\x1b[31mb", path="blocks[0].\x1b"))])
    assert "\x1b" not in text


def test_text_has_escapes_only_where_colour_is_asked():
    report = check(resolved(UNSCALED))
    assert "\033[" not in text_format.format.render([report])
    assert "\033[31merror" in text_format.format.render([report], colour=True)


def test_text_hides_suppressed_findings_and_counts_them():
    spec = {**UNSCALED, "lint": {"ignore": [{"rule": "CD501", "reason": "a reproduction"}]}}
    text = text_format.format.render([check(resolved(spec))])
    assert "CD501 score-scale  " not in text
    assert "(1 suppressed)" in text
