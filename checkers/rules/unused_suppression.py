"""CD902 unused-suppression: a `lint.ignore` entry silences nothing."""

from collections.abc import Iterable

from checkers.finding import Edit, Fix
from checkers.rule import Context, Outcome, Rule
from checkers.severity import Kind


def judge(context: Context) -> Iterable[Outcome]:
    """The suppressions that the other rules left unused."""
    if not context.unused:
        return [Outcome("pass", "lint", "every suppression silences a finding")]
    return [
        Outcome(
            "fail",
            unused.path,
            f"unused suppression: {unused.why}; remove the entry.",
            kind=Kind.UNUSED,
            fix=Fix(applicability="safe", edits=(Edit(action="remove", path=unused.path),)),
        )
        for unused in context.unused
    ]


rule = Rule(
    code="CD902",
    name="unused-suppression",
    group="suspect",
    precision="very-high",
    what="An entry of `lint.ignore` (of the spec, a block or a mixer) that covers no finding, or names no rule.",
    why="A stale suppression hides the next real finding of that rule, and its reason no longer tells the truth.",
    exceptions=("A suppression of a rule that this run leaves out is not judged.",),
    fix="Remove the entry.",
    references=("docs.astral.sh/ruff/rules/unused-noqa",),
    passes=(
        {
            "mixer": {"readout": {"kind": "exponential"}, "normalization": {"kind": "sum"}},
            "lint": {"ignore": [{"rule": "CD101", "reason": "short contexts only"}]},
        },
    ),
    fails=(
        {
            "mixer": {"io": {"output_norm": "head_rms"}},
            "lint": {"ignore": [{"rule": "quadratic-cost", "reason": "short contexts only"}]},
        },
    ),
    kinds=(Kind.UNUSED,),
    fields_read=("lint", "blocks"),
    check=judge,
    stage="report",
    about_mixers=False,
)
