"""CD804 unscaled-half-precision-scores: float16 products are formed before anything scales or bounds them."""

from checkers import scores
from checkers.finding import quantity, setting
from checkers.overflow import MAX_FLOAT16
from checkers.rule import Outcome, Rule, Site, per_mixer
from checkers.severity import Kind


def judge(site: Site) -> Outcome:
    """Is q . k formed in float16 at its full size?"""
    mixer = site.mixer
    if mixer.execution.dtype.scores != "float16":
        return Outcome("inapplicable", site.at("execution.dtype.scores"), "scores are not kept in float16")
    if mixer.scaling.where in ("q", "k"):
        return Outcome("pass", site.at("scaling.where"), f"the scale acts on {mixer.scaling.where}, before the product")
    if mixer.product_bound is not None:
        return Outcome("pass", site.at("features.norm"), f"|q . k| stays below {mixer.product_bound:g}")
    product = scores.product_moments(mixer)
    start = f", which starts with rms {product.rms:.3g}" if product else ""
    return Outcome(
        "fail",
        site.at("scaling.where"),
        f"q . k{start}, is formed in float16 before the scale acts, and nothing bounds q and k: the format ends at"
        f" {MAX_FLOAT16:,.0f}.",
        kind=Kind.NUMERICS,
        evidence={"largest_float16": quantity(MAX_FLOAT16)}
        | ({"product_rms": quantity(product.rms)} if product else {}),
        # on q, k or the score the scale is the same function; behind phi it is another
        fix=setting("unsafe" if mixer.scaling.where == "after" else "safe", {site.at("scaling.where"): "q"}),
    )


rule = Rule(
    code="CD804",
    name="unscaled-half-precision-scores",
    group="numerics",
    precision="high",
    what="`execution.dtype.scores: float16` with the scale applied after the product and no bound on q and k.",
    why="Entries of trained projections grow; q . k then leaves float16 although the scaled score would fit.",
    exceptions=("The scale on q or on k is the same function and safe.", "A norm on q and k bounds the product."),
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
    kinds=(Kind.NUMERICS,),
    fields_read=("execution.dtype.scores", "scaling.where", "features.norm"),
    check=per_mixer(judge),
)
