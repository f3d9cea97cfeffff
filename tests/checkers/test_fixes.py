"""Fixes: each repairs its finding, keeps or changes the function as it says, and leaves the rest of the text alone."""

import json
import re
from typing import Any

import pytest
import yaml
from hypothesis import given, settings

from checkers import Report, Rule, Settings, all_rules, check
from checkers.edited import edited
from checkers.edits import replacements, with_values, without
from checkers.finding import Edit, Fix
from checkers.fixes import FixConflictError, Fixed, fixed
from checkers.remedies import lasting_factor, rounded_down
from checkers.rule import Example, loaded
from designspace import catalogue
from designspace.candidate import Candidate
from designspace.canonical import fingerprint
from designspace.decay import half_life
from designspace.document import parse
from designspace.errors import SpecError
from designspace.events import split_path
from designspace.specfile import Loaded, dump, load_document, loads, record
from tests.strategies import candidates

EXP: dict[str, Any] = {"readout": {"kind": "exponential"}, "normalization": {"kind": "sum"}}
ALIBI: dict[str, Any] = {"source": "constant", "sign": "increasing", "slopes": [0.1, -0.2, 0.0, -1.0]}
DELTA: dict[str, Any] = {"scaling": {"gate": "tied_to_erase"}, "features": {"norm": "l2"}}
RG_LRU: dict[str, Any] = {"scaling": {"gate": "sqrt_1_minus_a2"}, "heads": {"state_dim": 1}}

# one example for each branch of a fix that the failing examples of the rules do not reach
BRANCHES: list[tuple[str, dict[str, Any]]] = [
    ("CD302", {"mixer": {**EXP, "shear": ALIBI}}),
    ("CD501", {"mixer": {**EXP, "scaling": {"base": 1.0, "where": "after"}, "features": {"q_std": 0.5}}}),
    ("CD501", {"mixer": {**EXP, "features": {"map": "elu+1", "gain": 9.0}}}),
    ("CD602", {"mixer": {**DELTA, "erase": {"direction": "key", "gain": [0.0, 3.0]}}}),
    ("CD602", {"mixer": {**DELTA, "erase": {"direction": "free", "gain": [0.0, 3.0]}}}),
    (
        "CD602",
        {
            "mixer": {
                **DELTA,
                "erase": {"direction": "key", "gain": [0.0, 1.7], "compose": "additive"},
                "decay": {"granularity": "scalar", "range": [0.5, 1.0]},
            }
        },
    ),
    ("CD602", {"mixer": {"decay": {"granularity": "scalar", "map": "exp", "range": [0.5, 2], "initial": [0.9, 1.5]}}}),
    ("CD602", {"mixer": {"decay": {"granularity": "scalar", "source": "constant", "map": "fixed", "range": [0.5, 2]}}}),
    ("CD603", {"mixer": {**EXP, "support": {"mask": "strict"}}}),
    ("CD603", {"mixer": {"normalization": {"kind": "length"}, "support": {"mask": "strict"}}}),
    ("CD604", {"mixer": {**EXP, "execution": {"stabiliser": "floor"}}}),
    ("CD604", {"mixer": {"readout": {"kind": "exponential"}}}),
    ("CD604", {"mixer": {"readout": {"kind": "exponential"}, "execution": {"dtype": {"scores": "float16"}}}}),
    ("CD604", {"mixer": {"scaling": {"gate": "exp"}}}),
    ("CD701", {"mixer": {"decay": {"granularity": "scalar", "range": [0.0, 0.9], "initial": [0.1, 0.5]}}}),
    ("CD706", {"mixer": {"decay": {"granularity": "scalar", "initial": [0.5, 1.0]}}}),
    (
        "CD701",
        {"mixer": {"decay": {"granularity": "scalar", "source": "constant", "map": "fixed", "range": [0.1, 0.5]}}},
    ),
    (
        "CD704",
        {"blocks": [{"skip": {"lambda": 0.0}, "mixer": {**EXP, "heads": {"head_dim": dim}}} for dim in (8, 16, 8, 16)]},
    ),
    ("CD801", {"mixer": {"execution": {"dtype": {"state": "bfloat16"}}}}),
    ("CD803", {"mixer": {**RG_LRU, "decay": {"granularity": "scalar", "map": "rglru", "initial": [0.9, 1.0]}}}),
    ("CD804", {"mixer": {**EXP, "scaling": {"where": "after"}, "execution": {"dtype": {"scores": "float16"}}}}),
    (
        "CD805",
        {"mixer": {"decay": {"granularity": "diagonal", "initial": [0.001, 0.99]}, "execution": {"form": "chunked"}}},
    ),
]
FAILS = [(rule.code, example) for rule in all_rules() for example in rule.fails]


def judge(found: Loaded) -> Report:
    return check(found.candidate, document=found.document)


def verdict(report: Report, code: str) -> str:
    return next(one.verdict for one in report.verdicts if one.code == code)


def only(code: str) -> Any:
    """A judge that runs one rule, so that nothing but its fix is applied."""
    chosen = Settings(select=(code,))
    return lambda found: check(found.candidate, chosen, document=found.document)


def rule_of(code: str) -> Rule:
    return next(rule for rule in all_rules() if rule.code == code)


@pytest.mark.parametrize(("code", "example"), FAILS + BRANCHES, ids=lambda value: str(value)[:60])
def test_a_fix_repairs_its_finding_and_does_what_it_says_to_the_function(code: str, example: Example):
    before = loaded(example)
    found = [one for one in check(before.candidate, unread=before.unread).findings if one.code == code]
    kinds = {one.fix.applicability for one in found if one.fix}
    assert len(kinds) == 1
    if kinds == {"display"}:
        assert all(one.fix and (one.fix.note or one.fix.edits) for one in found)
        return
    text = dump(before.candidate)
    after = fixed(text, "a.yaml", only(code), unsafe=True)
    assert verdict(after.report, code) == "pass"
    assert not after.left
    same = fingerprint(after.loaded.candidate) == fingerprint(before.candidate)
    assert same == (kinds == {"safe"})
    assert check(after.loaded.candidate).summary.errors <= check(before.candidate).summary.errors


@pytest.mark.parametrize(("code", "example"), FAILS + BRANCHES, ids=lambda value: str(value)[:60])
def test_a_finding_without_edits_says_what_to_decide(code: str, example: Example):
    before = loaded(example)
    for finding in check(before.candidate, unread=before.unread).findings:
        if finding.code == code and finding.fix and not finding.fix.edits:
            assert finding.fix == Fix(applicability="display", edits=(), note=rule_of(code).fix)


@pytest.mark.parametrize(("code", "example"), FAILS, ids=lambda value: str(value)[:60])
def test_safe_fixes_alone_keep_the_fingerprint(code: str, example: Example):  # noqa: ARG001
    before = loaded(example).candidate
    after = fixed(dump(before), "a.yaml", judge)
    assert fingerprint(after.loaded.candidate) == fingerprint(before)
    assert all(one.fix and one.fix.applicability == "safe" for one in after.applied)


def test_the_rules_offer_every_kind_of_fix():
    found = [one for _, example in FAILS for one in check(loaded(example).candidate).findings if one.fix]
    kinds = ("safe", "unsafe", "display")
    by_kind = {kind: {one.code for one in found if one.fix and one.fix.applicability == kind} for kind in kinds}
    assert by_kind["safe"] >= {"CD604", "CD801", "CD802", "CD804", "CD902"}
    assert by_kind["unsafe"] >= {
        "CD302",
        "CD501",
        "CD601",
        "CD602",
        "CD603",
        "CD701",
        "CD704",
        "CD803",
        "CD805",
        "CD901",
    }
    assert by_kind["display"] >= {"CD101", "CD301", "CD702", "CD703", "CD904", "CD907"}


def styles(candidate: Candidate) -> list[tuple[str, str]]:
    """The candidate in every way of writing that a file may have."""
    data = json.loads(json.dumps(record(candidate)))
    block = yaml.safe_dump(data, sort_keys=False)
    return [
        ("a.yaml", dump(candidate)),
        ("a.yaml", "\n".join(f"{line}  # note {index}" for index, line in enumerate(block.splitlines()))),
        ("a.yaml", yaml.safe_dump(data, default_flow_style=True, width=60)),
        ("a.json", json.dumps(data)),
        ("a.json", json.dumps(data, indent=2)),
    ]


def notes(text: str) -> list[str]:
    return re.findall(r"# note \d+", text)


@settings(max_examples=25, deadline=None)
@given(candidates())
def test_random_specs_stay_valid_and_get_no_more_errors(candidate: Candidate):
    outcomes: dict[bool, set[str]] = {False: set(), True: set()}
    for file, text in styles(candidate):
        before = load_document(parse(text, file))
        for unsafe in (False, True):
            try:
                after = fixed(text, file, judge, unsafe=unsafe)
            except FixConflictError:
                outcomes[unsafe].add("conflict")
                continue
            assert judge(load_document(parse(after.text, file))) == after.report
            assert after.report.summary.errors <= judge(before).summary.errors
            assert unsafe or fingerprint(after.loaded.candidate) == fingerprint(before.candidate)
            assert "CD902" in {one.code for one in after.applied} or notes(after.text) == notes(text)
            outcomes[unsafe].add(after.loaded.candidate.model_dump_json())
    assert all(len(found) == 1 for found in outcomes.values())  # every style ends at the same spec


def replaced(text: str, file: str, fix: Fix) -> str:
    """The text after the replacements of a fix, by line and column, the last one first."""
    found = load_document(parse(text, file))
    lines = [*text.splitlines(keepends=True), ""]
    starts = [sum(map(len, lines[:index])) for index in range(len(lines))]
    for place, inserted in reversed(replacements(text, found.document, fix, candidate=found.candidate)):
        start = starts[place.line - 1] + place.column - 1
        end = starts[place.end_line - 1] + place.end_column - 1
        text = text[:start] + inserted + text[end:]
    return text


@settings(max_examples=25, deadline=None)
@given(candidates())
def test_the_replacements_of_a_fix_make_exactly_its_edits(candidate: Candidate):
    for file, text in styles(candidate):
        before = load_document(parse(text, file))
        for finding in judge(before).findings:
            if finding.fix is None or not finding.fix.edits:
                continue
            after = load_document(parse(replaced(text, file, finding.fix), file)).candidate
            assert after == edited(before.candidate, finding.fix.edits)


def test_a_replacement_names_its_region():
    text = "mixer:\r\n  # first\r\n  readout: {kind: exponential}\r\n  scaling: {base: 1.0}\r\n"
    found = load_document(parse(text, "a.yaml"))
    fix = Fix(applicability="unsafe", edits=(Edit(action="set", path=BASE, value="n^-1/2"),))
    (change,) = replacements(text, found.document, fix)
    place = change.place
    assert (place.line, place.column, place.end_line, place.end_column) == (4, 19, 4, 22)
    assert (place.file, change.inserted) == ("a.yaml", "n^-1/2")


def test_an_insertion_has_an_empty_region_and_the_indent_of_its_lines():
    text = "mixer:\n  readout: {kind: exponential}  # softmax\n# end\n"
    found = load_document(parse(text, "a.yaml"))
    fix = Fix(applicability="unsafe", edits=(Edit(action="set", path="blocks[0].mixer.io.gate", value="silu"),))
    (change,) = replacements(text, found.document, fix)
    assert (change.place.line, change.place.column) == (change.place.end_line, change.place.end_column) == (2, 42)
    assert change.inserted == "\n  io: {gate: silu}"


def test_a_config_and_a_shared_value_have_no_replacements():
    fix = Fix(applicability="safe", edits=(Edit(action="set", path=BASE, value=0.5),))
    config = '{"model_type": "llama", "hidden_size": 64}'
    with pytest.raises(SpecError, match="is not edited"):
        replacements(config, parse(config, "config.json"), fix)
    shared = "blocks:\n- mixer: {scaling: &s {base: 1.0}}\n- mixer: {scaling: *s}\n"
    with pytest.raises(SpecError, match="share a value"):
        replacements(shared, parse(shared, "a.yaml"), fix)


FILE = """\
# my model
sextant: 1
target: {seq_len: 4096}   # long

blocks:
  - repeat: 2     # depth
    mixer:
      readout:    {kind: exponential}
      scaling: {base: n^-1/2,   where: "score"}  # on the score
      normalization: {kind: sum}
      rotation: {source: constant, phase_dtype: 'bfloat16'}
      execution:
        dtype: {scores: float16}

    lint:
      ignore:
      - {rule: CD101, reason: 'it''s fine'}   # keep
      # about the next
      - {rule: CD701, reason: gone}
      # after
  - mixer: {use: gated_deltanet, execution: {dtype: {params: bfloat16}}}
"""


def test_the_rest_of_the_text_stays_as_it_is():
    after = fixed(FILE, "a.yaml", judge)
    changed = [(old, new) for old, new in zip(FILE.splitlines(), after.text.splitlines(), strict=False) if old != new]
    assert after.text == FILE.replace('where: "score"', 'where: "q"').replace("'bfloat16'", "'float32'").replace(
        "params: bfloat16", "params: float32"
    ).replace("      - {rule: CD701, reason: gone}\n", "")
    assert len(changed) > 2


GLA_LOW = (catalogue.get("gla").candidate.blocks[0].mixers[0].decay.initial or (0.0,))[0]
SET: list[tuple[str, dict[str, Any], str]] = [
    ("mixer: {use: softmax_rope}\n", {"scaling.base": 0.5}, "mixer: {use: softmax_rope, scaling: {base: 0.5}}\n"),
    ("mixer: {use: mamba2,}\n", {"scaling.base": 0.5}, "mixer: {use: mamba2, scaling: {base: 0.5},}\n"),
    (
        "mixer:\n  use: gla  # as published\n\n# end\n",
        {"decay.initial[1]": 0.999},
        "mixer:\n  use: gla  # as published\n  decay: {initial: [GLA_LOW, 0.999]}\n\n# end\n",
    ),
    ("mixer: {}", {"io.output_norm": "head_rms"}, "mixer: {io: {output_norm: head_rms}}"),
    (
        "mixer:\n  heads:\n    state_dim: 8\n  scaling: {base: 1}",
        {"scaling.base": "n^-1/2", "scaling.where": "q", "heads.head_dim": 4.0},
        "mixer:\n  heads:\n    state_dim: 8\n    head_dim: 4.0\n  scaling: {base: n^-1/2, where: q}",
    ),
    (
        "mixer:\n  decay:\n    granularity: scalar\n    range:\n      - 0.0  # low\n      - 1.0  # high\n",
        {"decay.range[0]": 0.01, "decay.initial": (0.5, 0.9)},
        "mixer:\n  decay:\n    granularity: scalar\n    range:\n      - 0.01  # low\n      - 1.0  # high\n"
        "    initial: [0.5, 0.9]\n",
    ),
    (
        "mixer:\n  readout:\n    kind: exponential\n    softcap:\n",
        {"readout.softcap": 30.0},
        "mixer:\n  readout:\n    kind: exponential\n    softcap: 30.0\n",
    ),
    (
        "mixer: {decay: {granularity: scalar, range: &r [0.5, 0.9], initial: *r}}\n",
        {"decay.source": "learned"},
        "mixer: {decay: {granularity: scalar, range: &r [0.5, 0.9], initial: *r, source: learned}}\n",
    ),
    (
        "mixer:\r\n  scaling:\r\n    base: 2.0\r\n",
        {"scaling.where": "q"},
        "mixer:\r\n  scaling:\r\n    base: 2.0\r\n    where: q\r\n",
    ),
    (
        "mixer: {\n  scaling: {base: 2.0},  # far\n  heads: {state_dim: 8}   # few\n  }\n",
        {"io.output_norm": "head_rms"},
        "mixer: {\n  scaling: {base: 2.0},  # far\n  heads: {state_dim: 8},   # few\n"
        "  io: {output_norm: head_rms}\n  }\n",
    ),
    (
        '{"mixer": {"scaling": {"base": 2.0}}}',
        {"scaling.where": "q", "io.output_norm": "head_rms"},
        '{"mixer": {"scaling": {"base": 2.0, "where": "q"}, "io": {"output_norm": "head_rms"}}}',
    ),
    (
        '{\n  "mixer": {\n    "scaling": {\n      "where": "k"\n    }\n  }\n}\n',
        {"scaling.where": "q", "scaling.base": 0.5},
        '{\n  "mixer": {\n    "scaling": {\n      "where": "q",\n      "base": 0.5\n    }\n  }\n}\n',
    ),
    (
        "mixer: {heads: &sizes {state_dim: 8}, scaling: {base: &b 2.0}}\n",
        {"heads.head_dim": 4.0, "scaling.base": 0.5},
        "mixer: {heads: &sizes {state_dim: 8, head_dim: 4.0}, scaling: {base: &b 0.5}}\n",
    ),
    (
        "blocks: [{skip: &one {lambda: 1.0}, mixer: {use: gla}}, {mixer: {use: gla}, skip: *one}]\n",
        {"norm.kind": "layer"},
        "blocks: [{skip: &one {lambda: 1.0}, mixer: {use: gla}, norm: {kind: layer}},"
        " {mixer: {use: gla}, skip: *one}]\n",
    ),
]


@pytest.mark.parametrize(("text", "values", "expected"), SET, ids=lambda value: str(value)[:40])
def test_a_value_is_set_where_it_stands_or_in_its_mapping(text: str, values: dict[str, Any], expected: str):
    file = "a.json" if text.startswith("{") else "a.yaml"
    found = load_document(parse(text, file))
    scope = "blocks[0]" if "blocks" in text else "blocks[0].mixer"
    edits = [Edit(action="set", path=f"{scope}.{path}", value=value) for path, value in values.items()]
    wanted = edited(found.candidate, edits)
    paths = {split_path(edit.path): edit.value for edit in edits}
    new = with_values(text, found.document, paths, wanted.model_dump(by_alias=True))
    assert load_document(parse(new, file)).candidate == wanted
    assert new == expected.replace("GLA_LOW", str(GLA_LOW))


REASON = "a long enough reason"
CUT: list[tuple[str, list[str], str]] = [
    (
        f"lint: {{ignore: [{{rule: CD1, reason: {REASON}}}, {{rule: CD2, reason: {REASON}}}]}}  # kept\nmixer: {{}}\n",
        ["lint.ignore[0]"],
        f"lint: {{ignore: [{{rule: CD2, reason: {REASON}}}]}}  # kept\nmixer: {{}}\n",
    ),
    (
        f"lint: {{ignore: [{{rule: CD1, reason: {REASON}}}, {{rule: CD2, reason: {REASON}}}]}}\nmixer: {{}}\n",
        ["lint.ignore[1]"],
        f"lint: {{ignore: [{{rule: CD1, reason: {REASON}}}]}}\nmixer: {{}}\n",
    ),
    (
        f"mixer: {{}}\nlint:\n  ignore:\n    - {{rule: CD1, reason: {REASON}}}\n# end\n",
        ["lint.ignore[0]"],
        "mixer: {}\n# end\n",
    ),
    (
        "mixer:\n  lint:\n    ignore:\n    - rule: CD1\n      reason: >\n        two\n        lines\n\n    # next\n"
        f"    - rule: CD2\n      reason: {REASON}\n  heads: {{state_dim: 8}}\n",
        ["blocks[0].mixer.lint.ignore[0]"],
        f"mixer:\n  lint:\n    ignore:\n\n    # next\n    - rule: CD2\n      reason: {REASON}\n"
        "  heads: {state_dim: 8}\n",
    ),
    (
        f"blocks:\n  - lint: {{ignore: [{{rule: CD1, reason: {REASON}}}]}}\n    mixer: {{}}\n",
        ["blocks[0].lint.ignore[0]"],
        "blocks:\n  - mixer: {}\n",
    ),
    (
        f"blocks: [{{mixer: {{}}, lint: {{ignore: [{{rule: CD1, reason: {REASON}}}]}}}}]\n",
        ["blocks[0].lint.ignore[0]"],
        "blocks: [{mixer: {}}]\n",
    ),
    (
        f"mixer: {{lint: {{ignore: [{{rule: CD1, reason: {REASON}}}]}}}}\n",
        ["blocks[0].mixer.lint.ignore[0]"],
        "mixer: {}\n",
    ),
    (
        f"lint:\n  ignore: [\n    {{rule: CD1, reason: {REASON}}},  # one\n"
        f"    {{rule: CD2, reason: {REASON}}},  # two\n    # 3\n    {{rule: CD3, reason: {REASON}}}]\nmixer: {{}}\n",
        ["lint.ignore[1]"],
        f"lint:\n  ignore: [\n    {{rule: CD1, reason: {REASON}}},  # one\n"
        f"    # 3\n    {{rule: CD3, reason: {REASON}}}]\nmixer: {{}}\n",
    ),
    (
        json.dumps({"lint": {"ignore": [{"rule": f"CD{n}", "reason": "x"} for n in range(4)]}, "mixer": {}}),
        ["lint.ignore[3]", "lint.ignore[2]", "lint.ignore[0]"],
        json.dumps({"lint": {"ignore": [{"rule": "CD1", "reason": "x"}]}, "mixer": {}}),
    ),
    (
        json.dumps({"mixer": {}, "lint": {"ignore": [{"rule": f"CD{n}", "reason": "x"} for n in range(3)]}}, indent=2),
        ["lint.ignore[0]", "lint.ignore[1]", "lint.ignore[2]"],
        json.dumps({"mixer": {}}, indent=2),
    ),
]


@pytest.mark.parametrize(("text", "paths", "expected"), CUT, ids=lambda value: str(value)[:40])
def test_an_item_is_cut_out_with_its_lines_only(text: str, paths: list[str], expected: str):
    file = "a.json" if text.startswith("{") else "a.yaml"
    found = load_document(parse(text, file))
    new = without(text, found.document, [split_path(path) for path in paths])
    wanted = edited(found.candidate, [Edit(action="remove", path=path) for path in paths])
    assert load_document(parse(new, file)).candidate == wanted
    assert new == expected


def test_a_value_that_two_places_share_is_left_alone():
    text = (
        "blocks:\n"
        "- mixer: {readout: {kind: exponential}, normalization: {kind: sum}, execution: &e {stabiliser: none}}\n"
        "- mixer: {readout: {kind: relu}, features: {map: relu}, execution: *e}\n"
    )
    after = fixed(text, "a.yaml", judge)
    assert after.text == text
    assert [(one.finding.code, "several places share" in one.reason) for one in after.left] == [("CD604", True)]


def test_a_value_that_all_places_share_is_fixed_once():
    mixer = "{readout: {kind: exponential}, normalization: {kind: sum}, execution: {stabiliser: none}}"
    after = fixed(f"blocks:\n- mixer: &m {mixer}\n- mixer: *m\n", "a.yaml", judge)
    assert after.text == f"blocks:\n- mixer: &m {mixer.replace('none', 'row_max')}\n- mixer: *m\n"
    assert [one.code for one in after.applied] == ["CD604", "CD604"]


def test_a_file_of_one_mixer_has_no_place_for_keys_of_a_block():
    document = load_document(parse("mixer: {use: gla}\n", "a.yaml")).document
    data = loads("mixer: {use: gla}").model_dump(by_alias=True)
    with pytest.raises(SpecError, match="no place for `skip`"):
        with_values("mixer: {use: gla}\n", document, {("blocks", 0, "skip", "lambda"): 0.5}, data)


def with_fix(report: Report, code: str, *edits: Edit) -> Report:
    """The report whose findings of one rule propose other edits."""
    fix = Fix(applicability="safe", edits=edits)
    changed = tuple(one.model_copy(update={"fix": fix}) if one.code == code else one for one in report.findings)
    return report.model_copy(update={"findings": changed})


def proposing(edits: dict[str, Any]) -> Any:
    """A judge in whose reports CD501 and CD101 want these values."""

    def report(found: Loaded) -> Report:
        made = judge(found)
        for code, (path, value) in edits.items():
            made = with_fix(made, code, Edit(action="set", path=path, value=value))
        return made

    return report


UNSCALED = "mixer:\n  readout: {kind: exponential}\n  normalization: {kind: sum}\n  scaling: {base: 1.0}\n"
BASE = "blocks[0].mixer.scaling.base"


def test_fixes_that_contradict_each_other_stop_with_both_names():
    with pytest.raises(
        FixConflictError, match=r"CD101 sets `.*base` to 0\.5, and CD501 sets `.*base` to 0\.25"
    ) as error:
        fixed(UNSCALED, "a.yaml", proposing({"CD101": (BASE, 0.5), "CD501": (BASE, 0.25)}))
    assert error.value.line == 4


def test_a_fix_inside_what_another_sets_is_a_contradiction():
    whole = "blocks[0].mixer.decay.range"
    with pytest.raises(FixConflictError, match="contradict"):
        fixed(UNSCALED, "a.yaml", proposing({"CD101": (whole, (0.0, 0.5)), "CD501": (f"{whole}[1]", 0.9)}))


@pytest.mark.parametrize(
    ("path", "value", "reason"),
    [
        (BASE, 2.0, "it does not help: CD501"),
        (BASE, -1.0, "would not be valid"),
        ("blocks[0].mixer.normalization.kind", "none", r"bring errors .*CD604"),
    ],
)
def test_a_fix_that_does_no_good_is_undone(path: str, value: Any, reason: str):
    after = fixed(UNSCALED, "a.yaml", proposing({"CD501": (path, value)}))
    assert after.text == UNSCALED
    assert re.search(reason, after.left[0].reason)


def test_one_bad_fix_does_not_keep_others_from_being_made():
    text = "blocks:\n" + "".join(
        f"- {{mixer: {{use: softmax_rope, rotation: {{phase_dtype: {name}}}}}}}\n" for name in ["bfloat16"] * 5
    )

    def report(found: Loaded) -> Report:
        made = judge(found)
        bad = Fix(applicability="safe", edits=(Edit(action="set", path="blocks[2].mixer.rotation.theta", value=-1.0),))
        changed = [
            one.model_copy(update={"fix": bad}) if one.path.startswith("blocks[2]") and one.code == "CD802" else one
            for one in made.findings
        ]
        return made.model_copy(update={"findings": tuple(changed)})

    after = fixed(text, "a.yaml", report)
    assert [line.count("float32") for line in after.text.splitlines()[1:]] == [1, 1, 0, 1, 1]
    assert [one.finding.path for one in after.left] == ["blocks[2].mixer.rotation.phase_dtype"]


def test_fixes_that_never_settle_end():
    def restless(found: Loaded) -> Report:
        base = found.candidate.blocks[0].mixers[0].base
        return with_fix(judge(found), "CD501", Edit(action="set", path=BASE, value=base + 1.0))

    after = fixed(UNSCALED, "a.yaml", restless)
    assert "rounds" in after.left[-1].reason


def test_suppressed_findings_are_not_fixed():
    text = UNSCALED + "lint: {ignore: [{rule: CD501, reason: a reproduction}]}\n"
    after = fixed(text, "a.yaml", judge, unsafe=True)
    assert "base: 1.0" in after.text


def test_an_unsafe_fix_that_another_makes_needless_is_not_applied():
    text = "mixer: {scaling: {gate: exp}}\n"
    before = judge(load_document(parse(text, "a.yaml")))
    assert {"CD601", "CD604"} <= {one.code for one in before.findings if one.fix and one.fix.edits}
    after: Fixed = fixed(text, "a.yaml", judge, unsafe=True)
    assert [one.code for one in after.applied] == ["CD601"]
    assert verdict(after.report, "CD604") == "pass"


@pytest.mark.parametrize("value", [2.0, 0.123456789, 1e-12, 987654.321, 1.0, 0.999999999])
@pytest.mark.parametrize("digits", [1, 3, 6])
def test_rounding_down_stays_below_and_close(value: float, digits: int):
    rounded = rounded_down(value, digits)
    assert rounded <= value
    assert value - rounded <= value * 10.0 ** (1 - digits)
    assert float(f"{rounded:.{digits}g}") == rounded


@pytest.mark.parametrize("seq_len", [1, 2, 64, 2048, 1_048_576])
def test_a_lasting_factor_has_the_half_life_it_promises(seq_len: int):
    factor = lasting_factor(seq_len, 0.125)
    assert half_life(factor) >= seq_len / 8
    assert factor < 1.0


def test_safe_fixes_go_first_and_spare_unsafe_ones():
    text = dump(loaded({"mixer": {**EXP, "execution": {"stabiliser": "none"}}}).candidate)
    assert "CD604" in {one.code for one in judge(load_document(parse(text, "a.yaml"))).findings}
    assert [one.code for one in fixed(text, "a.yaml", judge, unsafe=True).applied] == ["CD604"]


def test_every_block_of_a_collapsing_run_gets_its_skip():
    example = next(example for code, example in BRANCHES if code == "CD704")
    after = fixed(dump(loaded(example).candidate), "a.yaml", only("CD704"), unsafe=True)
    assert [block.skip.weight for block in after.loaded.candidate.blocks] == [1.0] * 4
