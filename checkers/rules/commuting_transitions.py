"""CD402 commuting-transitions: the order of the steps does not matter to what is kept."""

from collections.abc import Iterable
from typing import Literal

from checkers.rule import Context, Outcome, Rule, Site
from checkers.severity import Kind
from checkers.spectrum import commutes, control, operations, parity_is_excluded, says_little
from designspace.cost import state_rows

CODE = "CD402"
PARITY = "CD401"
NEED = "state_tracking"

Answer = Literal["pass", "fail", "unknown", "inapplicable"]


def judge(context: Context) -> Iterable[Outcome]:
    """P4 per layer: scalar, diagonal and rotation parts commute; an input-dependent erase does not.

    One remark for the stack. None where CD401 excludes parity for all of it, as its finding says this too; and, unless
    tracking is needed, none where nothing moves (CD301 says A_t = I), none where a branch reads later tokens (CD907),
    nor beside a mixer of another kind, where a negative of one layer is none of the model.
    """
    answers = {site.path: _answer(site) for site in context.sites}
    alike = all(answer == "fail" for answer, _, _ in answers.values())
    told = says_little(context.candidate, context.target) or parity_is_excluded(context.candidate)
    tells = ((alike and context.candidate.is_causal) or NEED in context.target.needs) and not told
    first = next((path for path, (answer, _, _) in answers.items() if answer == "fail"), None)
    return [_outcome(site, *answers[site.path], told_by=_told_by(site, first, tells)) for site in context.sites]


def _told_by(site: Site, first: str | None, tells: bool) -> str | None:
    if not tells:
        return PARITY
    return None if site.path == first else CODE


def _answer(site: Site) -> tuple[Answer, str, str]:
    """The answer of one mixer, the field it hangs on, and the reason."""
    mixer = site.mixer
    if not mixer.is_finite_memory and state_rows(mixer) is None:
        return "inapplicable", "readout", "no linear recurrence: keys are kept, not transformed"
    match commutes(mixer):
        case None:
            return "unknown", "lift", f"not derived for `lift: {mixer.lift.kind}`"
        case False:
            reason = (
                f"the direction of the erase depends on the token, so the steps do not commute ({operations(mixer)});"
                " expressive does not mean learnable"
            )
            return "pass", "erase", reason
        case True:
            reason = (
                f"transitions commute ({operations(mixer)}): in this layer the order of the tokens between two"
                " positions does not change what happens to a key, so no order-sensitive group is tracked."
            )
            turns = not mixer.rotation.is_identity and mixer.decay.is_identity
            return "fail", "rotation" if turns else "decay", reason


def _outcome(site: Site, answer: Answer, field: str, reason: str, told_by: str | None) -> Outcome:
    return Outcome(
        answer,
        site.at(field),
        reason,
        kind=None if told_by else Kind.OPERATIONS,
        evidence=control(site.mixer),
        assumptions=("one layer by itself",),
        told_by=told_by,
    )


rule = Rule(
    code="CD402",
    name="commuting-transitions",
    group="advice",
    precision="high",
    what="A_t is built from scalar or diagonal decays and rotations only: all transitions commute.",
    why="A product of commuting matrices forgets the order of its factors, so one layer cannot follow a permutation"
    " group such as S3.",
    exceptions=(
        "Where CD401 excludes parity for the whole stack its finding says this too: a verdict, no second finding.",
        "One remark for the stack. Beside attention, or a layer whose steps do not commute, it is a verdict without a"
        " finding unless the target needs state tracking: a negative of one layer is none of the model. So it is where"
        " A_t = I in every layer, as CD301 says that.",
        "The statement is per layer: depth, convolutions and readouts between layers can add order.",
        "Static keys erase one direction, and keys of one channel are numbers: such steps commute despite an erase.",
        "Non-commuting is not sufficient: with one reflection per token a layer reaches limited groups only.",
    ),
    fix="Add an erase along a token's key (delta rule), with rank >= 2 and gain to 2 for non-solvable groups.",
    references=("arXiv 2404.08819", "arXiv 2411.12537", "arXiv 2502.10297"),
    passes=("catalogue:gated_deltanet",),
    fails=("catalogue:mamba3_siso", {"mixer": {"rotation": {"source": "constant"}}}),
    kinds=(Kind.OPERATIONS,),
    fields_read=(
        "readout",
        "decay",
        "rotation",
        "erase",
        "lift",
        "shear",
        "features",
        "heads.state_dim",
        "scaling.gate",
        "support",
        "model.positions",
        "target.needs",
        "blocks",
    ),
    check=judge,
)
