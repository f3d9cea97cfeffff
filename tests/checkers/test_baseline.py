"""Baselines: what is known stays known, what is new or gone is told, and files are written whole."""

import json
import threading
from pathlib import Path
from typing import Any

import pytest

from checkers import Report, Settings, baseline, check
from checkers.baseline import Baseline
from designspace.errors import SpecError
from designspace.specfile import load_with_places

UNSOUND = "mixer: {readout: {kind: exponential}, scaling: {base: 1}, normalization: {kind: sum}}\n"
CODES = ["CD101", "CD301", "CD501"]  # of `UNSOUND`


@pytest.fixture
def spec(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An unsound spec in the current folder."""
    monkeypatch.chdir(tmp_path)
    path = Path("my.yaml")
    path.write_text(UNSOUND)
    return path


def report(path: Path | str, **settings: Any) -> Report:
    loaded = load_with_places(path)
    return check(loaded.candidate, Settings(**settings), document=loaded.document)


def known(*reports: Report, path: Path = Path("known.json")) -> Baseline:
    return baseline.written(reports, Baseline(), path)


def use(found: Report, entries: Baseline, path: Path = Path("known.json")) -> baseline.Applied:
    return baseline.applied([found], entries, path)


def active(found: baseline.Applied) -> list[str]:
    return sorted(finding.code for finding in found.reports[0].active)


def test_what_was_written_is_hidden_and_counted(spec: Path):
    found = use(report(spec), known(report(spec)))
    assert (active(found), found.hidden, found.stale) == ([], len(CODES), ())
    assert found.reports[0].summary.errors == found.reports[0].summary.warnings == 0
    assert {finding.suppressed for finding in found.reports[0].findings} == {"baseline known.json"}


def test_an_entry_names_spec_rule_place_and_digest(spec: Path):
    first = report(spec)
    entries = known(first)
    assert {entry.source for entry in entries.findings} == {"my.yaml"}
    assert sorted(entry.code for entry in entries.findings) == CODES
    assert {entry.spec_digest for entry in entries.findings} == {first.candidate.fingerprint}
    assert {entry.path for entry in entries.findings} == {finding.path for finding in first.findings}


@pytest.mark.parametrize(
    "text",
    [
        f"# a comment\n\n\n{UNSOUND}",
        f"name: other\n{UNSOUND}",
        UNSOUND.replace("base: 1", "base: 1.0"),
        "blocks:\n- mixer:\n    normalization: {kind: sum}\n    scaling: {base: 1}\n    readout: {kind: exponential}\n",
    ],
)
def test_lines_comments_and_spelling_do_not_matter(text: str, spec: Path):
    entries = known(report(spec))
    spec.write_text(text)
    found = use(report(spec), entries)
    assert (active(found), found.stale) == ([], ())


def test_a_change_of_what_a_rule_reads_makes_its_finding_new(spec: Path):
    entries = known(report(spec))
    spec.write_text(UNSOUND.replace("base: 1", "base: 2"))
    found = use(report(spec), entries)
    assert "CD501" in active(found)
    assert "CD501" in [entry.code for entry in found.stale]
    assert "CD101" not in active(found)


def test_what_is_repaired_is_stale_until_pruned(spec: Path):
    entries = known(report(spec))
    spec.write_text(UNSOUND.replace("base: 1", "base: n^-1/2"))
    found = use(report(spec), entries)
    assert [entry.code for entry in found.stale] == ["CD501"]
    assert active(found) == ["CD502"]  # which CD501 spoke for
    pruned = baseline.pruned(entries, found.stale)
    assert sorted(entry.code for entry in pruned.findings) == ["CD101", "CD301"]
    assert use(report(spec), pruned).stale == ()


def test_rules_and_specs_that_did_not_run_are_not_judged(spec: Path):
    Path("other.yaml").write_text(UNSOUND)
    entries = known(report(spec), report("other.yaml"))
    assert use(report(spec, select=("CD1",)), entries).stale == ()
    assert baseline.written([report(spec, select=("CD1",))], entries, Path("known.json")) == entries


def test_a_spec_that_is_gone_is_stale(spec: Path):
    Path("other.yaml").write_text(UNSOUND)
    entries = known(report(spec), report("other.yaml"))
    Path("other.yaml").unlink()
    assert {entry.source for entry in use(report(spec), entries).stale} == {"other.yaml"}


def test_the_same_defect_in_another_file_is_new(spec: Path):
    entries = known(report(spec))
    Path("other.yaml").write_text(UNSOUND)
    assert active(use(report("other.yaml"), entries)) == CODES


def test_more_of_the_same_than_counted_is_new(spec: Path):
    found = report(spec)
    doubled = found.model_copy(update={"findings": found.findings * 2})
    entries = known(found)
    assert active(use(doubled, entries)) == CODES
    assert {entry.count for entry in known(doubled).findings} == {2}
    assert {entry.count for entry in use(found, known(doubled)).stale} == {1}


def test_suppressed_findings_are_not_written(spec: Path):
    spec.write_text(UNSOUND + "lint: {ignore: [{rule: CD501, reason: a test}]}\n")
    assert "CD501" not in [entry.code for entry in known(report(spec)).findings]


def test_a_finding_that_the_spec_silences_keeps_its_reason_and_leaves_the_baseline(spec: Path):
    entries = known(report(spec))
    spec.write_text(UNSOUND + "lint: {ignore: [{rule: CD501, reason: a test}]}\n")
    found = use(report(spec), entries)
    assert {one.suppressed for one in found.reports[0].findings if one.code == "CD501"} == {"a test"}
    assert (found.hidden, [entry.code for entry in found.stale]) == (len(CODES) - 1, ["CD501"])


def test_sources_are_relative_to_the_baseline(spec: Path):
    path = Path("lint/known.json")
    entries = known(report(spec.absolute()), path=path)
    assert {entry.source for entry in entries.findings} == {"../my.yaml"}
    assert active(use(report(spec), entries, path)) == []
    assert {entry.source for entry in known(report("catalogue:softmax_nope")).findings} == {"catalogue:softmax_nope"}


def test_a_spec_named_twice_counts_once(spec: Path):
    assert known(report(spec), report("./my.yaml")) == known(report(spec))


def test_files_are_deterministic_and_read_back(spec: Path):
    Path("other.yaml").write_text(UNSOUND)
    texts = []
    for order in (("my.yaml", "other.yaml"), ("other.yaml", "my.yaml")):
        baseline.save(Path("known.json"), known(*map(report, order)))
        texts.append(Path("known.json").read_text())
    assert texts[0] == texts[1]
    assert json.loads(texts[0])["schema"] == "sextant.baseline/1"
    assert baseline.load(Path("known.json")) == known(report(spec), report("other.yaml"))


@pytest.mark.usefixtures("spec")
@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", r"known.json:1: not a JSON file"),
        ("[]", "no baseline of schema"),
        ('{"schema": "sextant.baseline/2", "findings": []}', "`schema`: Input should be 'sextant.baseline/1'"),
        ('{"schema": "sextant.baseline/1", "findings": [{"code": "CD1"}]}', r"`findings\.0\.source`: Field required"),
        (UNSOUND, "not a JSON file"),
        ("[" * 200_000, "nests too deep"),
        ("9" * 5_000, "a number is too long"),
        ('{"schema": "sextant.baseline/1", "findings": [], "findings": []}', "key `findings` stands twice"),
    ],
)
def test_another_file_is_refused(text: str, message: str):
    Path("known.json").write_text(text)
    with pytest.raises(SpecError, match=message):
        baseline.load(Path("known.json"))


def test_an_entry_that_stands_twice_is_refused(spec: Path):
    entries = known(report(spec)).findings
    baseline.save(Path("known.json"), Baseline(findings=(*entries, entries[0])))
    with pytest.raises(SpecError, match=r"`my\.yaml` has 2 entries of the fingerprint"):
        baseline.load(Path("known.json"))


@pytest.mark.parametrize("source", ["\udcff.yaml", "a" * 5_000, "a/" * 5_000])
def test_a_source_that_is_no_file_name_is_stale_and_written_back(source: str, spec: Path):
    entry = known(report(spec)).findings[0].model_copy(update={"source": source})
    baseline.save(Path("known.json"), Baseline(findings=(entry,)))
    loaded = baseline.load(Path("known.json"))
    assert loaded.findings == (entry,)
    assert use(report(spec), loaded).stale == (entry,)


@pytest.mark.usefixtures("spec")
def test_a_missing_file_is_refused_with_the_remedy():
    with pytest.raises(SpecError, match=r"`--baseline write known\.json` makes it"):
        baseline.load(Path("known.json"))


def test_a_failed_write_leaves_the_old_file_and_nothing_else(spec: Path, monkeypatch: pytest.MonkeyPatch):
    path = Path("known.json")
    baseline.save(path, known(report(spec)))
    before = path.read_text()

    def broken(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.replace", broken)
    with pytest.raises(SpecError, match="No space left"):
        baseline.save(path, Baseline())
    assert path.read_text() == before
    assert sorted(entry.name for entry in Path().iterdir()) == ["known.json", "my.yaml"]


@pytest.mark.usefixtures("spec")
def test_changes_at_once_do_not_lose_each_other():
    path = Path("known.json")
    names = [f"spec{index}.yaml" for index in range(8)]
    for name in names:
        Path(name).write_text(UNSOUND)

    def write(name: str) -> None:
        found = report(name)
        with baseline.exclusive(path):
            old = baseline.load(path) if path.exists() else Baseline()
            baseline.save(path, baseline.written([found], old, path))

    threads = [threading.Thread(target=write, args=(name,)) for name in names]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {entry.source for entry in baseline.load(path).findings} == set(names)


def test_a_file_too_large_for_a_baseline_is_not_read_to_its_end(tmp_path: Path):
    path = tmp_path / "large.json"
    with path.open("wb") as stream:
        stream.truncate(baseline.MAX_BYTES + 1)
    with pytest.raises(SpecError, match="larger than 64 MiB"):
        baseline.load(path)
