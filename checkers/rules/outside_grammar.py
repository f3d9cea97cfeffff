"""CD906 outside-grammar: a mixer that the tuple cannot express; every other rule answers unknown for it."""

from collections.abc import Iterable
from typing import Any

from checkers.finding import quantity
from checkers.rule import Context, Outcome, Rule
from checkers.severity import Kind

TOP_K: dict[str, Any] = {
    "blocks": [
        {
            "mixer": {
                "outside": "sparse_support",
                "reason": "each query keeps the 2,048 keys that an indexer scores best.",
            }
        }
    ]
}


def judge(context: Context) -> Iterable[Outcome]:
    """One remark for each mixer outside the grammar."""
    found = [
        Outcome(
            "fail",
            path,
            f"outside the grammar ({outside.outside}): {outside.reason}",
            kind=Kind.NOTE,
            evidence={"breaks": quantity(outside.outside)},
        )
        for path, outside in context.candidate.outside()
    ]
    return found or [Outcome("pass", "blocks", "every mixer is a point of the grammar")]


rule = Rule(
    code="CD906",
    name="outside-grammar",
    group="advice",
    precision="very-high",
    what="A mixer is written as `outside`: its coefficients are not of the form phi(q . A...A b k) / eta with signals"
    " that each come from one token.",
    why="No rule about mixers can say anything about such a layer; all of them answer unknown. `nearest` names the"
    " closest mixer that can be judged, as a comparison.",
    exceptions=("Layers inside the grammar are judged as always.",),
    fix="Judge the nearest mixer in a spec of its own, and measure the real one with a probe.",
    references=("arXiv 2510.09389, definition of alpha_ij", "docs/catalogue.md, entries that are not representable"),
    passes=("catalogue:softmax_rope",),
    fails=(TOP_K, "catalogue:lstm"),
    kinds=(Kind.NOTE,),
    fields_read=("blocks",),
    check=judge,
    about_mixers=False,
)
