"""docs/rules: the pages are those of the rules as they are, complete, and readable on GitHub."""

import re

import pytest

from checkers import all_rules
from checkers.confirmation import LIMITS
from checkers.explain import FAULTS_PAGE, as_data, cell, prose
from checkers.finding import fault_code
from checkers.pages import INDEX, applicabilities, pages
from tests.references.rules import PATH

PAGES = pages()
REMEDY = "run `python -m tests.references.rules`"
LINK = re.compile(r"\]\(([^)#]+)(?:#([^)]+))?\)")


@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_current(name: str):
    assert (PATH / name).read_text(encoding="utf-8") == PAGES[name], REMEDY


def test_there_is_no_page_of_a_rule_that_is_gone():
    assert {path.name for path in PATH.iterdir()} == set(PAGES), REMEDY


@pytest.mark.parametrize("rule", all_rules(), ids=lambda rule: rule.code)
def test_a_page_has_every_part(rule):
    text = PAGES[f"{rule.code}-{rule.name}.md"]
    titles = re.findall(r"^## (.*)$", text, re.MULTILINE)
    for title in ("What", "Why", "Known exceptions", "How to fix it", "Severity", "Reads", "Sources"):
        assert title in titles
    for part in (rule.what, rule.why, rule.fix, *rule.exceptions, *rule.references):
        assert prose(part) in text
    for row in as_data(rule)["thresholds"]:
        assert f"| `{row['key']}` |" in text
    failing = text.split("## Examples that fail")[1].split("## Examples that pass")[0]
    assert failing.count("\nFail: ") == len(rule.fails)
    assert failing.count("```text\n") == len(rule.fails)
    assert f" {rule.code} {rule.name}  " in failing
    assert text.split("## Examples that pass")[1].count("\nPass: ") == len(rule.passes)


@pytest.mark.parametrize("name", PAGES)
def test_markdown_is_well_formed(name: str):
    text = PAGES[name]
    assert text.count("```") % 2 == 0
    outside = re.sub(r"```.*?```", "", text, flags=re.DOTALL)
    assert outside.count("`") % 2 == 0
    for table in re.findall(r"(?:^\|.*\n)+", outside, re.MULTILINE):
        columns = {len(re.findall(r"(?<!\\)\|", line)) for line in table.splitlines()}
        assert len(columns) == 1, table


@pytest.mark.parametrize("name", PAGES)
def test_links_lead_to_pages_and_headings(name: str):
    for target, heading in LINK.findall(PAGES[name]):
        path = (PATH / target).resolve()
        assert path.is_file(), target
        titles = re.findall(r"^#+ (.*)$", path.read_text(encoding="utf-8"), re.MULTILINE)
        assert not heading or heading in {title.lower().replace(" ", "-") for title in titles}


def test_the_index_names_every_rule_and_the_page_of_faults_every_fault():
    assert all(f"[{rule.code}]({rule.code}-{rule.name}.md) | {rule.name} |" in PAGES[INDEX] for rule in all_rules())
    for quantity, limit in LIMITS.items():
        assert f"| `{fault_code(quantity)}` | {cell(limit.fault)} |" in PAGES[FAULTS_PAGE]


def test_the_documented_fixes_are_those_of_the_examples():
    assert applicabilities("CD902") == ("safe",)
    assert "unsafe" in applicabilities("CD501")


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a < b, 2 * 3 ~ 4, x_i", "a < b, 2 * 3 ~ 4, x_i"),
        ("*a* ~b~ <c> $d$ \\e", "\\*a\\* \\~b\\~ \\<c> \\$d$ \\\\e"),
        ("`*a*` *b*", "`*a*` \\*b\\*"),
    ],
)
def test_prose_shows_what_it_says(text: str, shown: str):
    assert prose(text) == shown
