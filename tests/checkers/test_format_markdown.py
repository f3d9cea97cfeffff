"""markdown: a comment that GitHub takes and shows as meant."""

from checkers.formats.markdown import escaped
from checkers.formats.markdown import format as markdown
from tests.checkers.fixed_report import deep, finding, probed, report

GITHUB_LIMIT = 65_536

COMMENT = """\
## sextant lint

2 errors, 1 warning, 0 infos, 1 suppressed in 1 spec.

### `mine` in `specs/a b.yaml`

2 rules pass, 1 not judged; length 2,048, float32.

| | rule | where | what |
|---|---|---|---|
| 🔴 error | CD501 score-scale | `blocks[0].mixer.scaling.base`, line 7 \
| std 8, 100% outside \\[0.5, 2\\]: a &lt; b &amp; c \\| d |
| 🟡 warning | CD101 quadratic-cost | `blocks[0].mixer.readout`, line 3 | first line second, line |
"""


def test_the_comment_counts_and_lists_the_worst_first():
    target = report().target
    expected = COMMENT.replace("length 2,048, float32", f"length {target.seq_len:,}, {target.dtype}")
    assert markdown.render([report()]) == expected


def test_text_is_no_markup_mention_or_reference():
    assert (
        escaped("@team #12 *a* _b_ `c`\n[d](e) <f>") == "&#64;team &#35;12 \\*a\\* \\_b\\_ \\`c\\` \\[d\\](e) &lt;f&gt;"
    )


def test_keys_of_a_message_are_code_and_stay_in_their_cell():
    text = markdown.render([report(finding(message="`a|b*` is not *c* | `d"))])
    assert "| `a\\|b*` is not \\*c\\* \\| \\`d |" in text


def test_a_name_cannot_leave_its_code_span():
    text = markdown.render([report(finding(), name="a`b|c", source=None)])
    assert "### `` a`b\\|c ``\n" in text


def test_a_long_comment_keeps_the_errors_and_counts_the_rest():
    infos = [finding(severity="info", message=f"info x{index} " + "x" * 300) for index in range(400)]
    text = markdown.render([report(*infos, finding(message="the error"))])
    assert len(text) < GITHUB_LIMIT
    assert "the error" in text
    shown = text.count("| 🔵 info |")
    assert 100 < shown < 400
    assert f"\n{400 - shown} more findings do not fit" in text


def test_clean_candidates_are_named_together():
    clean = report().model_copy(update={"findings": ()})
    assert markdown.render([clean, clean]).endswith(
        "\nNothing to report: `mine` in `specs/a b.yaml`, `mine` in `specs/a b.yaml`.\n"
    )


def test_alike_findings_of_a_deep_stack_are_one_row():
    text = markdown.render([deep()])
    (row,) = [line for line in text.splitlines() if line.startswith("| 🔴")]
    assert "8 errors, 0 warnings, 0 infos in 1 spec." in text
    assert "| `blocks[0..14 step 2].mixer.decay` (16 layers), line 7 |" in row
    assert (
        "`blocks[0].mixer.decay`: half-life 3.5 steps, below 1,024<br>`blocks[14].mixer.decay`: half-life 17.5" in row
    )
    assert "and 6 more between these two; `--format concise` shows each |" in row


def test_faults_come_first_and_are_counted():
    text = markdown.render([probed(finding())])
    rows = [line for line in text.splitlines() if line.startswith("| 🔴")]
    assert rows[0].startswith("| 🔴 error | probe-later-tokens | `blocks[0].mixer`, line 2 | an output changes")
    assert ", 1 probe fault in 1 spec." in text
    assert "probe: contradicted, score\\_std = 6.3" in markdown.render([probed()])
