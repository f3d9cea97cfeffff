"""Properties of `--fix` on random specs, in every way of writing that a file may have."""

import json
import re
from collections.abc import Iterator
from typing import Any

import yaml
from hypothesis import given, settings

from checkers import Report, Settings, check
from checkers.edited import edited
from checkers.finding import Finding
from checkers.fixes import FixConflictError, Fixed, fixed
from designspace.candidate import Candidate
from designspace.canonical import fingerprint
from designspace.document import parse
from designspace.specfile import Loaded, load_document, record
from designspace.suppression import Lint
from tests.strategies import candidates

LINT = Lint()
UNUSED = "CD902"  # unused suppressions: what is unused depends on the other rules
NOTE = re.compile(r"# note \d+")
KEY = re.compile(r"^[ -]*(\w+):", re.MULTILINE)
QUOTED = re.compile(r"'[^']*'")
BARE_TEXT = re.compile(r": (?!true$|false$|null$)([a-z]\w*)$")


def judge(found: Loaded) -> Report:
    return check(found.candidate, document=found.document)


def errors(report: Report) -> set[tuple[str, str]]:
    """Rule and block of every error."""
    return {(one.code, one.path.partition(".")[0]) for one in report.active if one.severity == "error"}


def fixable(report: Report) -> list[Finding]:
    """The findings with a fix that `--fix --unsafe-fixes` applies."""
    return [one for one in report.active if one.fix and one.fix.edits and one.fix.applicability != "display"]


def repaired(text: str, file: str, *, unsafe: bool = True) -> Fixed | None:
    """The text after its fixes; None where they contradict each other."""
    try:
        return fixed(text, file, judge, unsafe=unsafe)
    except FixConflictError:
        return None


def block_style(candidate: Candidate) -> str:
    """YAML with a key a line, a comment behind each, some texts in quotes, and Windows line ends."""
    lines = yaml.safe_dump(json.loads(json.dumps(record(candidate))), sort_keys=False).splitlines()
    quoted = [BARE_TEXT.sub(r": '\1'", line) if index % 2 else line for index, line in enumerate(lines)]
    return "".join(f"{line}  # note {index}\r\n" for index, line in enumerate(quoted))


def written(candidate: Candidate) -> Iterator[tuple[str, str]]:
    data: Any = json.loads(json.dumps(record(candidate)))
    yield "a.yaml", block_style(candidate)
    yield "a.yaml", yaml.safe_dump(data, default_flow_style=True, width=60)
    yield "a.json", json.dumps(data, indent=2)


@settings(max_examples=15, deadline=None)
@given(candidates(small=False))
def test_no_fix_brings_an_error_that_the_spec_did_not_have(candidate: Candidate):
    for file, text in written(candidate):
        before, after = judge(load_document(parse(text, file))), repaired(text, file)
        assert after is None or errors(after.report) <= errors(before)


@settings(max_examples=15, deadline=None)
@given(candidates())
def test_fixing_what_is_fixed_changes_nothing(candidate: Candidate):
    for file, text in written(candidate):
        for unsafe in (False, True):
            once = repaired(text, file, unsafe=unsafe)
            again = None if once is None else repaired(once.text, file, unsafe=unsafe)
            if once is not None and again is not None:
                assert (again.text, again.applied) == (once.text, ())
                assert again.report == once.report


@settings(max_examples=15, deadline=None)
@given(candidates())
def test_the_rest_of_the_file_stays(candidate: Candidate):
    """Line ends, comments, the order of keys and quotes, but for what goes with an unused suppression."""
    text = block_style(candidate.model_copy(update={"lint": LINT}))
    after = repaired(text, "a.yaml")
    if after is None or UNUSED in {one.code for one in after.applied}:
        return
    assert after.text.count("\r\n") == after.text.count("\n")
    assert NOTE.findall(after.text) == NOTE.findall(text)
    kept = iter(KEY.findall(after.text))
    assert all(key in kept for key in KEY.findall(text))  # a subsequence: new keys stand between them
    assert len(QUOTED.findall(after.text)) >= len(QUOTED.findall(text))


@settings(max_examples=15, deadline=None)
@given(candidates())
def test_the_fixes_of_one_rule_repair_its_findings(candidate: Candidate):
    plain = candidate.model_copy(update={"lint": LINT})
    text = json.dumps(record(plain))
    for code in sorted({one.code for one in fixable(check(plain))} - {UNUSED}):
        chosen = Settings(select=(code,))
        after = fixed(
            text,
            "a.json",
            lambda loaded, chosen=chosen: check(loaded.candidate, chosen, document=loaded.document),
            unsafe=True,
        )
        assert after.applied
        assert not after.left
        assert not fixable(after.report)


@settings(max_examples=50, deadline=None)
@given(candidates())
def test_safe_fixes_keep_the_function(candidate: Candidate):
    for finding in fixable(check(candidate)):
        if finding.fix and finding.fix.applicability == "safe":
            assert fingerprint(edited(candidate, finding.fix.edits)) == fingerprint(candidate)
