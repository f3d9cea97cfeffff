"""CD804 unscaled-half-precision-scores: float16 products are formed before anything scales or bounds them."""

from checkers import scores
from checkers.finding import Quantity, quantity, setting
from checkers.overflow import MAX_FLOAT16
from checkers.rule import Outcome, Rule, Site, per_mixer
from checkers.severity import Kind
from designspace.mixer import MixerSpec


def judge(site: Site) -> Outcome:
    """Is q . k formed in float16 at its full size?"""
    mixer = site.mixer
    if mixer.execution.dtype.scores != "float16":
        return Outcome("inapplicable", site.at("execution.dtype.scores"), "scores are not kept in float16")
    start = start_rms(mixer)
    if start is not None and start > MAX_FLOAT16:
        return _overflows(site, start)
    if mixer.scaling.where in ("q", "k"):
        return Outcome("pass", site.at("scaling.where"), f"the scale acts on {mixer.scaling.where}, before the product")
    bound = mixer.product_bound
    if bound is not None and bound <= MAX_FLOAT16:
        evidence = {"product_bound": quantity(bound)}
        return Outcome("pass", site.at("features.norm"), f"|q . k| stays below {bound:g}", evidence=evidence)
    starts = f", which starts with rms {start:.3g}" if start is not None else ""
    limit = "nothing bounds q and k" if bound is None else f"it may reach {bound:.3g}"
    return Outcome(
        "fail",
        site.at("scaling.where"),
        f"q . k{starts}, is formed in float16 before the scale acts, and {limit}: the format ends at"
        f" {MAX_FLOAT16:,.0f}.",
        kind=Kind.NUMERICS,
        evidence=_evidence(start),
        assumptions=("the product is rounded to float16, whatever accumulates it",),
        # on q, k or the score the scale is the same function; behind phi it is another
        fix=setting("unsafe" if mixer.scaling.where == "after" else "safe", {site.at("scaling.where"): "q"}),
    )


def start_rms(mixer: MixerSpec) -> float | None:
    """Rms of the product that is formed, at initialisation; None where it is not derived."""
    product = scores.product_moments(mixer)
    scale = mixer.base if mixer.scaling.where in ("q", "k") else 1.0
    return None if product is None else product.rms * scale


def _overflows(site: Site, start: float) -> Outcome:
    return Outcome(
        "fail",
        site.at("execution.dtype.scores"),
        f"q . k starts with rms {start:.3g}, beyond {MAX_FLOAT16:,.0f}, where float16 ends: most scores are infinite.",
        kind=Kind.OVERFLOW,
        evidence=_evidence(start),
        assumptions=("entries of q and k start as declared",),
        fix=setting("safe", {site.at("execution.dtype.scores"): "float32"}),
    )


def _evidence(start: float | None) -> dict[str, Quantity]:
    found = {"largest_float16": quantity(MAX_FLOAT16)}
    return found if start is None else found | {"product_rms": quantity(start)}


rule = Rule(
    code="CD804",
    name="unscaled-half-precision-scores",
    group="numerics",
    precision="high",
    what="`execution.dtype.scores: float16` with the scale applied after the product and no bound on q and k.",
    why="Entries of trained projections grow; q . k then leaves float16 although the scaled score would fit.",
    exceptions=(
        "The scale on q or on k is the same function and safe.",
        "A norm on q and k bounds the product.",
        "bfloat16 has the range of float32: not judged. An error only where the start is beyond float16 already.",
    ),
    fix="Set `scaling.where: q`, or keep scores in float32.",
    references=("github.com/huggingface/transformers, GPT-Neo keeps products in float32",),
    passes=(
        {
            "mixer": {
                "readout": {"kind": "exponential"},
                "scaling": {"where": "q"},
                "execution": {"dtype": {"scores": "float16"}},
            }
        },
    ),
    fails=({"mixer": {"readout": {"kind": "exponential"}, "execution": {"dtype": {"scores": "float16"}}}},),
    kinds=(
        Kind.NUMERICS,
        Kind.OVERFLOW,
    ),
    fields_read=("execution.dtype.scores", "scaling", "features", "heads", "rotation"),
    check=per_mixer(judge),
)
