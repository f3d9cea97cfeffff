"""Findings as people read them: ranges of blocks, numbers from the lowest to the highest, and counts that stay."""

import pytest

from checkers.entries import Entry, entries, expected_text, ranges, shown, value_text
from checkers.finding import Edit, Fix, Probed, Quantity
from checkers.location import one_line
from tests.checkers.fixed_report import deep, finding, report


@pytest.mark.parametrize(
    ("blocks", "expected"),
    [
        ([3], "3"),
        ([3, 4], "3..4"),
        ([0, 1, 2, 4, 5, 8], "0..2, 4..5, 8"),
        ([3, 11, 19], "3..19 step 8"),
        ([3, 11], "3, 11"),
        ([0, 2, 4, 5], "0, 2, 4..5"),
        ([5, 1, 3, 1], "1..5 step 2"),
    ],
)
def test_paths_that_differ_in_the_block_are_one(blocks: list[int], expected: str):
    assert ranges(f"blocks[{block}].mixer.decay" for block in blocks) == [f"blocks[{expected}].mixer.decay"]


def test_other_paths_stand_for_themselves():
    paths = [
        "blocks[0].mixer.parallel[0].io",
        "target",
        "blocks[0].mixer.parallel[1].io",
        "blocks[1].mixer.parallel[0].io",
    ]
    assert ranges(paths) == ["blocks[0..1].mixer.parallel[0].io", "target", "blocks[0].mixer.parallel[1].io"]


def test_a_long_list_of_blocks_keeps_its_end():
    numbers = [index for index in range(100) if index % 3]
    (text,) = ranges(f"blocks[{number}]" for number in numbers)
    assert text.startswith("blocks[1..2, 4..5, ")
    assert text.endswith(", ..., 97..98]")


def test_alike_findings_are_one_entry_and_others_are_not():
    (entry,) = entries(deep())
    assert len(entry.findings) == 8
    assert (entry.num_layers, entry.unshown, entry.lines) == (16, 6, "line 7")
    assert [one.path for one in entry.ends] == ["blocks[0].mixer.decay", "blocks[14].mixer.decay"]
    assert entry.evidence == {"half_life": "3.5 to 17.5 steps", "limit": "1,024"}
    assert entry.edits == ["set blocks[0..14 step 2].mixer.decay.initial[1] to 0.99"]
    words, levels = deep(message="half-life {}.5 steps"), report(finding(severity="info"), finding())
    assert len(entries(words)) == 1
    assert [one.first.severity for one in entries(levels)] == ["error", "info"]


@pytest.mark.parametrize(
    ("one", "other", "count"),
    [
        ("score std 8, below", "score std 1,024.5, below", 1),
        ("a = 1e-06", "a = -3", 1),
        ("a = 1.0", "a = 1", 1),
        ("a # b", "a 5 b", 2),
        ("head CD501", "head CD502", 2),
        ("8 steps", "8 tokens", 2),
    ],
)
def test_messages_are_alike_if_only_numbers_differ(one: str, other: str, count: int):
    assert len(entries(report(finding(message=one), finding(message=other)))) == count


def test_the_ends_are_those_of_the_first_number_that_differs():
    messages = ["at length 64: gain 9, limit 4", "at length 64: gain 100, limit 4", "at length 64: gain 20, limit 4"]
    (entry,) = entries(report(*(finding(message=message) for message in messages)))
    assert [one.message for one in entry.ends] == messages[:2]
    assert entry.unshown == 1


def test_layers_are_those_of_the_stack():
    at = [finding(path=path) for path in ("blocks[1].mixer.a", "blocks[1].mixer.b", "blocks[2].mixer.a", "target")]
    assert Entry(tuple(at), (4, 8, 16)).num_layers == 24
    assert Entry((finding(path="target"),), (4,)).num_layers == 0
    assert Entry((finding(path="blocks[0].mixer"),)).where == "blocks[0].mixer"


def test_fixes_that_differ_are_told_by_the_first():
    def fixed(block: int, key: str, value: float) -> Fix:
        return Fix(applicability="safe", edits=(Edit(action="set", path=f"blocks[{block}].{key}", value=value),))

    same_key = [finding(path=f"blocks[{block}]", fix=fixed(block, "a", block + 0.5)) for block in (0, 1)]
    other_key = [finding(path=f"blocks[{block}]", fix=fixed(block, key, 1.0)) for block, key in ((0, "a"), (1, "b"))]
    assert Entry(tuple(same_key)).edits == ["set blocks[0..1].a to 0.5 (the first; 1 other values)"]
    assert Entry(tuple(other_key)).edits == ["set blocks[0].a to 1"]


def test_of_many_probes_the_worst_is_told():
    def probed(verdict: str, value: float | None) -> Probed:
        quantity = None if value is None else "gain"
        return Probed.model_validate({"verdict": verdict, "quantity": quantity, "value": value, "draws": 4})

    unmeasured, good, bad = probed("not measured", None), probed("confirmed", 1.0), probed("contradicted", 9.0)
    told = Entry(tuple(finding(probe=one) for one in (unmeasured, good, bad))).probe
    assert told == "1 contradicted, 1 confirmed, 1 not measured; the first contradicted, gain = 9 over 4 seeds"
    assert Entry((finding(probe=unmeasured), finding(probe=unmeasured))).probe == "not measured"
    assert Entry((finding(),)).probe is None


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (8.0, "8 token"),
        (4294967296.0, "4,294,967,296 token"),
        (0.00635712, "0.006357 token"),
        (9.007e15, "9.007e+15 token"),
        (1_074_270.0, "1,074,270 token"),
        ((0.5, 2.0), "[0.5, 2] token"),
        ("infinite", "infinite token"),
    ],
)
def test_quantities_are_short_and_exact_where_they_are_counts(value: float | str | tuple[float, ...], expected: str):
    assert shown(Quantity(value=value, unit="token")) == expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (0.999994712, "0.999995"),
        (64, "64"),
        ((0.5, 1.0), "[0.5, 1]"),
        (None, "null"),
        ("n^-1/2", "n^-1/2"),
        (True, "true"),
    ],
)
def test_values_of_edits_are_those_of_a_spec_file(value: object, expected: str):
    assert value_text(value) == expected


@pytest.mark.parametrize(
    ("interval", "expected"),
    [((1.0, 2.5), "1 to 2.5"), ((None, 2.0), "at most 2"), ((1.0, None), "at least 1"), ((0.0, 0.0), "0")],
)
def test_intervals_in_words(interval: tuple[float | None, float | None], expected: str):
    assert expected_text(interval) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("::error::x", ": :error::x"),
        ("  ::add-mask::x", ": :add-mask::x"),
        ("a::b", "a::b"),
        ("a ##[error]b", "a : :[error]b"),
        ("a\u202eb\nc", "a\ufffdb c"),
    ],
)
def test_a_line_is_no_command_of_a_runner(text: str, expected: str):
    assert one_line(text) == expected


@pytest.mark.parametrize(
    ("value", "unit", "expected"),
    [
        (1, "layers", "1 layer"),
        (1, "bytes per token", "1 byte per token"),
        (1, "output rms", "1 output rms"),
        (1.5, "steps", "1.5 steps"),
        (1_074_270_000, "MACs", "1.074e+09 MACs"),
        (1_074_270_000, "bytes per layer", "1,074,270,000 bytes per layer"),
    ],
)
def test_one_of_a_unit_has_no_plural(value: float, unit: str, expected: str):
    assert shown(Quantity(value=value, unit=unit)) == expected
