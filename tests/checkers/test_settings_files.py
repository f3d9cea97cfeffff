"""Settings files: where they are found, what they say about each spec, and how mistakes in them are told."""

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from checkers import Settings, check, tomlfile
from checkers.rule import Example, all_rules, resolved
from checkers.settings_file import Overrides, Resolved, matches, resolver, rows
from checkers.thresholds import DEFAULTS, Thresholds, listed
from designspace.errors import SpecError

EXP = {"readout": {"kind": "exponential"}, "normalization": {"kind": "sum"}}
IDENTITY = {"readout": {"kind": "identity"}}
DECAY = {"granularity": "scalar", "source": "learned", "map": "sigmoid"}
UNSKIPPED = [{"repeat": 4, "skip": {"lambda": 0.0}, "mixer": EXP}]
NO_ROOT = {"granularity": "scalar", "map": "rglru", "range": [0.0, 0.9999], "initial": [0.9, 0.99]}

MOVES: list[tuple[str, str, Any, Example, str, str]] = [  # rule, key, value, spec, finding before, finding after
    ("score-scale", "band", [0.5, 3.5], {"mixer": EXP | {"scaling": {"base": 0.375}}}, "warning", "none"),
    ("score-scale", "wide-band", [0.4, 2.5], {"mixer": EXP | {"scaling": {"base": 0.375}}}, "warning", "error"),
    ("fragile-zero-set", "near-zero", 0.05, {"mixer": IDENTITY}, "info", "none"),
    ("fragile-zero-set", "fragile-below", 0.005, {"mixer": IDENTITY}, "info", "none"),
    (
        "fragile-zero-set",
        "robust-from",
        0.9,
        {"mixer": EXP | {"readout": {"kind": "exponential", "softcap": 20.0}}},
        "none",
        "warning",
    ),
    ("numerator-grows", "raised", 8.5, {"target": {"seq_len": 64}, "mixer": IDENTITY}, "warning", "none"),
    ("numerator-grows", "large", 7.5, {"target": {"seq_len": 64}, "mixer": IDENTITY}, "warning", "error"),
    (
        "short-horizon",
        "wanted-fraction",
        0.01,
        {"target": {"seq_len": 512}, "mixer": {"decay": DECAY | {"initial": [0.5, 0.9]}}},
        "warning",
        "none",
    ),
    (
        "short-horizon",
        "vanishing",
        7.0,
        {"target": {"needs": ["recall"]}, "mixer": {"decay": DECAY | {"initial": [0.5, 0.9]}}},
        "warning",
        "error",
    ),
    (
        "recall-capacity",
        "pairs-per-row",
        0.9,
        {"target": {"recall_pairs": 64}, "mixer": {"heads": {"state_dim": 64}}},
        "none",
        "warning",
    ),
    ("rank-collapse", "depth", 5, {"blocks": UNSKIPPED}, "warning", "none"),
    (
        "steep-square-root-gate",
        "slope",
        50.0,
        {"mixer": {"decay": NO_ROOT, "scaling": {"gate": "sqrt_1_minus_a2"}}},
        "none",
        "warning",
    ),
    (
        "unbounded-log-decay",
        "steps",
        32,
        {"mixer": {"decay": {"granularity": "scalar", "range": [0.0067, 1.0]}, "execution": {"form": "chunked"}}},
        "none",
        "info",
    ),
]
JUDGED_BY = {("fragile-zero-set", "robust-from"): "positive-floor"}  # the two rules share their limits


def write(folder: Path, text: str, name: str = "sextant.toml") -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def of(folder: Path, spec: str = "my.yaml", overrides: Overrides | None = None) -> Resolved:
    return resolver(overrides)(str(folder / spec))


def origins(found: Resolved) -> Mapping[str, str]:
    return {row.key: row.origin for row in rows(found)}


def level(spec: Example, rule: str, thresholds: Thresholds) -> str:
    report = check(resolved(spec), Settings(thresholds=thresholds))
    return next((finding.severity for finding in report.findings if finding.name == rule), "none")


@pytest.mark.parametrize(("rule", "key", "value", "spec", "before", "after"), MOVES)
def test_each_threshold_moves_a_verdict(rule: str, key: str, value: Any, spec: Example, before: str, after: str):
    judge = JUDGED_BY.get((rule, key), rule)
    moved = Thresholds.model_validate({rule: {key: value}})
    assert (level(spec, judge, DEFAULTS), level(spec, judge, moved)) == (before, after)


def test_every_threshold_is_moved_by_a_case_and_belongs_to_a_rule():
    assert {(rule, key) for rule, key, *_ in MOVES} == {(one.rule, one.key) for one in listed(DEFAULTS)}
    assert {one.rule for one in listed(DEFAULTS)} <= {rule.name for rule in all_rules()}


def test_every_threshold_says_its_unit_its_range_and_what_it_is():
    assert all(one.unit and one.allowed and one.description for one in listed(DEFAULTS))


def test_messages_name_the_moved_threshold():
    moved = Thresholds.model_validate({"short-horizon": {"wanted-fraction": 0.25}})
    spec = resolved({"target": {"seq_len": 512}, "mixer": {"decay": DECAY | {"initial": [0.5, 0.9]}}})
    report = check(spec, Settings(thresholds=moved, select=("CD701",)))
    assert "below L / 4 = 128 at length 512" in report.findings[0].message


@pytest.mark.parametrize(
    ("files", "found"),
    [
        ({"sextant.toml": ""}, "sextant.toml"),
        ({"pyproject.toml": "[tool.sextant]\n"}, "pyproject.toml"),
        ({"pyproject.toml": '[project]\nname = "sextant"\n'}, None),
        ({"pyproject.toml": "[tool.sextant]\n", "sextant.toml": ""}, "sextant.toml"),
        ({"a/pyproject.toml": "[tool.ruff]\n", "sextant.toml": ""}, "sextant.toml"),
        ({"a/sextant.toml": "", "sextant.toml": ""}, "a/sextant.toml"),
        ({"a/b/c/sextant.toml": ""}, None),
    ],
)
def test_the_nearest_file_upwards_is_taken(files: dict[str, str], found: str | None, tmp_path: Path):
    for name, text in files.items():
        write(tmp_path, text, name)
    assert of(tmp_path, "a/b/my.yaml").file == (None if found is None else str(tmp_path / found))


def test_files_that_nobody_names_are_not_merged(tmp_path: Path):
    write(tmp_path, 'ignore = ["CD1"]\n')
    write(tmp_path, 'fail-on = "info"\n', "a/sextant.toml")
    found = of(tmp_path, "a/my.yaml")
    assert (found.settings.ignore, found.fail_on) == ((), "info")


def test_extended_files_are_laid_under_value_by_value(tmp_path: Path):
    write(
        tmp_path,
        'extend-select = ["CD1"]\nignore = ["CD3"]\n[severity]\nCD2 = "info"\nCD5 = "info"\n'
        "[thresholds.score-scale]\nwide-band = [0.1, 10.0]\n",
        "base.toml",
    )
    write(
        tmp_path,
        'extend = "../base.toml"\nextend-select = ["CD2"]\n[severity]\nCD5 = "error"\n'
        "[thresholds.score-scale]\nband = [0.2, 8]\n",
        "a/sextant.toml",
    )
    found = of(tmp_path, "a/my.yaml")
    assert found.settings.extend_select == ("CD1", "CD2")
    assert found.settings.ignore == ("CD3",)
    assert found.settings.severity == {"CD2": "info", "CD5": "error"}
    assert found.settings.thresholds.score_scale.band == (0.2, 8.0)
    assert found.settings.thresholds.score_scale.wide_band == (0.1, 10.0)
    shown = origins(found)
    assert shown["thresholds.score-scale.wide-band"] == f"{tmp_path / 'base.toml'}:7"
    assert shown["thresholds.score-scale.band"] == f"{tmp_path / 'a' / 'sextant.toml'}:6"
    assert shown["thresholds.rank-collapse.depth"] == "default"


def test_a_select_starts_anew(tmp_path: Path):
    write(tmp_path, 'select = ["CD1"]\nextend-select = ["CD2"]\n', "base.toml")
    write(tmp_path, 'extend = "base.toml"\nselect = ["CD5"]\n')
    settings = of(tmp_path).settings
    assert (settings.select, settings.extend_select) == (("CD5",), ())


def test_the_command_line_wins_over_the_file(tmp_path: Path):
    write(tmp_path, 'select = ["CD1"]\nignore = ["CD101"]\nfail-on = "info"\n')
    found = of(tmp_path, overrides=Overrides(select=("CD5",), fail_on="never"))
    assert (found.settings.select, found.settings.ignore, found.fail_on) == (("CD5",), ("CD101",), "never")
    shown = origins(found)
    assert (shown["select"], shown["ignore"]) == ("command line", f"{tmp_path / 'sextant.toml'}:2")


def test_isolated_reads_nothing_and_config_names_the_file(tmp_path: Path):
    write(tmp_path, "nonsense")
    config = write(tmp_path, 'ignore = ["CD1"]\n', "elsewhere/team.toml")
    assert resolver(isolated=True)(str(tmp_path / "my.yaml")).file is None
    assert resolver(config=config)(str(tmp_path / "my.yaml")).settings.ignore == ("CD1",)


def test_ignores_of_one_spec_leave_the_others(tmp_path: Path):
    write(tmp_path, '[per-file-ignores]\n"old/**" = ["CD1"]\n"*_draft.yaml" = ["CD2", "CD301"]\n')
    settings_of = resolver()
    found = {name: settings_of(str(tmp_path / name)).settings.ignore for name in ("a.yaml", "old/b/c_draft.yaml")}
    assert found == {"a.yaml": (), "old/b/c_draft.yaml": ("CD1", "CD2", "CD301")}


def test_globs_are_relative_to_the_file_that_holds_them(tmp_path: Path):
    write(tmp_path, '[per-file-ignores]\n"a/*.yaml" = ["CD1"]\n', "base.toml")
    write(tmp_path, 'extend = "../base.toml"\n[per-file-ignores]\n"b/*.yaml" = ["CD2"]\n', "a/sextant.toml")
    assert of(tmp_path, "a/x.yaml").settings.ignore == ("CD1",)
    assert of(tmp_path, "a/b/x.yaml").settings.ignore == ("CD2",)


@pytest.mark.parametrize(
    ("glob", "path", "expected"),
    [
        ("*.yaml", "a/b/c.yaml", True),
        ("a/*.yaml", "a/c.yaml", True),
        ("a/*.yaml", "a/b/c.yaml", False),
        ("a/**/c.yaml", "a/c.yaml", True),
        ("a/**/c.yaml", "a/b/d/c.yaml", True),
        ("a/**", "ab/c.yaml", False),
        ("?.yaml", "ab.yaml", False),
        ("catalogue:mamba*", "catalogue:mamba2", True),
        ("[a].yaml", "a.yaml", False),
        ("a/**", "a/b/c.yaml", True),
        ("**/c.yaml", "a/b/c.yaml", True),
        ("**/c.yaml", "a/bc.yaml", False),
        ("a/*/c.yaml", "a/c.yaml", False),
        ("a/**b.yaml", "a/c/ab.yaml", True),
        ("a/?b.yaml", "a//b.yaml", False),
        ("*", "", True),
        ("*a" * 60 + "b", "a" * 200, False),
        ("**/" * 60 + "**a" * 60 + "b", "a/" * 200, False),
        ("***" * 10_000 + "/b", "a/" * 200 + "b", True),
    ],
)
def test_globs(glob: str, path: str, expected: bool):
    assert matches(glob, path) is expected


MISTAKES = [
    ("# a\n" + "a." * 20_000 + "a = 1\n", 2, "a dotted key has more than 64 parts"),
    ("[" + "'a' . " * 20_000 + "a]\n", 1, "a dotted key has more than 64 parts"),
    ('selct = ["CD1"]\n', 1, "unknown key `selct`; did you mean `select`?"),
    ('\nselect = ["CD1", "CD99"]\n', 2, "`CD99` names no rule; did you mean"),
    ('ignore = "CD1"\n', 1, "`ignore` must be a list, got `CD1`"),
    ('ignore = [\n  "CD1",\n  "score-scle",\n]\n', 3, "did you mean `score-scale`?"),
    ('ignore = [""]\n', 1, "`` names no rule"),
    ('extend_select = ["CD1"]\n', 1, "unknown key `extend_select`; did you mean `extend-select`?"),
    ('fail-on = "eror"\n', 1, "did you mean `error`?"),
    ('[severity]\nCD5 = "info"\nCD77 = "info"\n', 3, "`CD77` names no rule"),
    ('[severity]\nCD5 = "high"\n', 2, "`CD5` must be 'error', 'warning' or 'info', got `high`"),
    ('[per-file-ignores]\n"*.yaml" = ["CD1"]\n"b.yaml" = [\n "CX"]\n', 4, "`CX` names no rule"),
    ("[thresholds.score-scle]\nband = [1, 2]\n", 1, "unknown key `score-scle`; did you mean `score-scale`?"),
    ("[thresholds.score-scale]\nbnd = [1, 2]\n", 2, "unknown key `bnd`; did you mean `band`?"),
    ("[thresholds]\nscore_scale = {band = [1, 2]}\n", 2, "did you mean `score-scale`?"),
    ("[thresholds.score-scale]\nband = [2, 1]\n", 2, "0 < low < high, got [2, 1]"),
    ("[thresholds.score-scale]\nband = [0.1, 1]\n", 2, "must lie in `wide-band` [0.25, 4]"),
    ("[thresholds.numerator-grows]\nlarge = 3\n", 2, "`raised` of `numerator-grows` is above `large` (3)"),
    ("[thresholds.fragile-zero-set]\nrobust-from = 1e-3\n", 2, "`fragile-below` of `fragile-zero-set` is above"),
    ("[thresholds.short-horizon]\nwanted-fraction = 1.5\n", 2, "`wanted-fraction` must be less than or equal to 1"),
    ("[thresholds.short-horizon]\nvanishing = nan\n", 2, "`vanishing` must be a finite number"),
    ("[thresholds.rank-collapse]\ndepth = 2.5\n", 2, "`depth` must be an integer"),
    ("thresholds = 3\n", 1, "`thresholds` must be a mapping of keys"),
    ('extend = "sextant.toml"\n', 1, "cut the circle"),
    ('extend = "nothing.toml"\n', 1, "there is no file"),
    ("\nselect = [\n", 2, "not a TOML file"),
    (f"[thresholds.rank-collapse]\ndepth = {'9' * 5_000}\n", 2, "not a TOML file"),
    ("select = ['\xff']\n".encode("latin-1"), 1, "is not UTF-8 text"),
]


@pytest.mark.parametrize(("text", "line", "message"), MISTAKES)
def test_mistakes_are_told_with_file_line_and_remedy(text: str | bytes, line: int, message: str, tmp_path: Path):
    path = tmp_path / "sextant.toml"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(SpecError) as error:
        of(tmp_path)
    assert message in str(error.value)
    assert str(error.value).startswith(f"{path}:{line}: ")


@pytest.mark.parametrize("name", ["sextant.toml", "pyproject.toml"])
@pytest.mark.parametrize(
    ("before", "line_break"), [(b"", b"\n"), (b"", b"\r\n"), (b"\xef\xbb\xbf", b"\n"), (b"\xef\xbb\xbf", b"\r\n")]
)
def test_byte_order_marks_and_line_breaks_do_not_matter(name: str, before: bytes, line_break: bytes, tmp_path: Path):
    prefix = "tool.sextant." if name == "pyproject.toml" else ""
    lines = [
        f'{prefix}ignore = ["CD1"] # no rule',
        f"[{prefix}severity]",
        'score-scale = "info"',
        '"CD2" = """error"""',
    ]
    (tmp_path / name).write_bytes(before + line_break.join(line.encode() for line in lines) + line_break)
    found = of(tmp_path)
    assert (found.settings.ignore, found.settings.severity) == (("CD1",), {"score-scale": "info", "CD2": "error"})
    assert origins(found)["severity.CD2"] == f"{tmp_path / name}:4"


def test_a_folder_called_like_a_settings_file_is_none(tmp_path: Path):
    (tmp_path / "a" / "sextant.toml").mkdir(parents=True)
    write(tmp_path, 'ignore = ["CD1"]\n')
    assert of(tmp_path, "a/my.yaml").settings.ignore == ("CD1",)


@pytest.mark.parametrize("spec", ["catalogue:mamba2", "-", "<stdin>"])
def test_specs_without_a_file_have_the_settings_of_the_current_folder(
    spec: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    write(tmp_path, '[per-file-ignores]\n"catalogue:mamba*" = ["CD1"]\n"<stdin>" = ["CD2"]\n"-" = ["CD3"]\n')
    (tmp_path / "a").mkdir()
    monkeypatch.chdir(tmp_path / "a")
    expected = {"catalogue:mamba2": ("CD1",), "<stdin>": ("CD2",), "-": ("CD3",)}
    assert resolver()(spec).settings.ignore == expected[spec]


def test_a_settings_file_of_both_names_is_the_own_one_and_the_project_file_is_not_read(tmp_path: Path):
    write(tmp_path, 'ignore = ["CD1"]\n')
    write(tmp_path, 'not toml\n[tool.sextant]\nignore = ["CD2"]\n', "pyproject.toml")
    assert of(tmp_path).settings.ignore == ("CD1",)


def test_lines_of_a_project_file_are_those_of_the_file(tmp_path: Path):
    write(tmp_path, '[project]\nname = "x"\n\n[tool.sextant]\nselect = ["CD9999"]\n', "pyproject.toml")
    with pytest.raises(SpecError, match=r"pyproject.toml:5: `CD9999` names no rule"):
        of(tmp_path)


@pytest.mark.parametrize("text", ["tool.sextant = 3\n", "[tool]\nsextant = []\n"])
def test_the_table_of_a_project_file_must_be_one(text: str, tmp_path: Path):
    write(tmp_path, text, "pyproject.toml")
    with pytest.raises(SpecError, match=r"`tool\.sextant` must be a table"):
        of(tmp_path)


def test_a_named_project_file_needs_the_table(tmp_path: Path):
    config = write(tmp_path, "[tool.ruff]\n", "pyproject.toml")
    with pytest.raises(SpecError, match=r"no table `\[tool.sextant\]`"):
        resolver(config=config)("my.yaml")


def test_a_longer_circle_of_extends_is_refused(tmp_path: Path):
    write(tmp_path, 'extend = "b.toml"\n')
    write(tmp_path, '\nextend = "./sextant.toml"\n', "b.toml")
    with pytest.raises(SpecError, match=r"b.toml:2: `extend` leads back"):
        of(tmp_path)


TOML = '''# comment [with] = "signs"
title = "x = y" # [no.table]
numbers = [1, [2, "]"], # c ]
  -3.5e2, ]
point = {x = 1, "y z" = {deep = [true]}}
[a.b."c.d"]  # header
key . sub = """text
[not.a.table]
"quoted" \\""" still"""
'single quoted' = \'\'\'
k = 1\'\'\'
[[list]]
when = 1979-05-27 07:32:00
[list.inner]
one = 1
[[list]]
[[list.deep]]
two = "\\" = "
'''


def keys(data: Any, path: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    pairs = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    return [at for key, value in pairs for at in ((*path, key), *keys(value, (*path, key)))]


def test_every_key_of_a_toml_file_has_its_place(tmp_path: Path):
    document = tomlfile.read(write(tmp_path, TOML))
    assert document is not None
    lines = TOML.splitlines()
    found = keys(tomllib.loads(TOML))
    assert len(found) == 27
    for path in found:
        span = document.span(path)
        if isinstance(path[-1], str):
            rest = lines[span.line - 1][span.column - 1 :]
            assert rest.lstrip("\"'").startswith(path[-1]), path


def test_the_documentation_lists_every_threshold_at_its_default():
    text = (Path(__file__).parents[2] / "docs" / "lint.md").read_text()
    for one in listed(DEFAULTS):
        low, *high = one.value if isinstance(one.value, tuple) else (one.value,)
        value = f"[{low:g}, {high[0]:g}]" if high else f"{low:g}"
        assert f"| `{one.rule}.{one.key}` | {value} |" in text
