"""CD807 half-precision-residual: a deep pre-norm stack keeps its residual stream in float16."""

from collections.abc import Iterable

from checkers.finding import quantity, setting
from checkers.overflow import MAX_FLOAT16
from checkers.rule import Context, Outcome, Rule
from checkers.severity import Kind

DEEP = 24  # layers from which published models left float16


def judge(context: Context) -> Iterable[Outcome]:
    """Layers that add to a residual stream in float16 without a norm on it."""
    model = context.candidate.model
    if "residual_dtype" not in model.model_fields_set:
        return [Outcome("unknown", "model", "`model.residual_dtype` is not declared")]
    path = "model.residual_dtype"
    if model.residual_dtype != "float16":
        return [Outcome("pass", path, f"the residual stream in {model.residual_dtype} has the range of float32")]
    adding = sum(
        block.repeat
        for block in context.candidate.blocks
        if block.norm.placement == "pre" and (block.skip.weight > 0 or block.channel_mixer.kind != "none")
    )
    evidence = {"adding_layers": quantity(adding, "layers"), "largest_float16": quantity(MAX_FLOAT16)}
    if adding < DEEP:
        return [Outcome("pass", path, f"{adding} layers add to the stream, fewer than {DEEP}", evidence=evidence)]
    return [
        Outcome(
            "fail",
            path,
            f"{adding} pre-norm layers add to a residual stream in float16: nothing divides it, and trained streams of"
            f" this depth pass {MAX_FLOAT16:,.0f}.",
            kind=Kind.NOTE,
            evidence=evidence,
            assumptions=("trained weights; at initialisation the stream grows like the root of the depth",),
            fix=setting("safe", {path: "float32"}),
        )
    ]


rule = Rule(
    code="CD807",
    name="half-precision-residual",
    group="advice",
    precision="medium",
    what="`model.residual_dtype: float16` in a pre-norm stack of 24 layers or more.",
    why="A pre-norm stream is a sum that no norm divides. In trained models of 24 to 32 layers it passed 65,504 and"
    " gave NaN on cards without bfloat16; halving weights and activations every 6 layers kept it inside.",
    exceptions=(
        "It is about the stack: no mixer is at fault. Info.",
        "A post-norm divides the stream; bfloat16 has the range of float32.",
        "Without `model.residual_dtype` the answer is unknown.",
    ),
    fix="Keep the stream in float32 or bfloat16, or halve weights and activations every few layers.",
    references=("github.com/BlinkDL/RWKV-LM, readme, fp16 rescaling",),
    passes=(
        {"model": {"residual_dtype": "bfloat16"}, "blocks": [{"repeat": 32}]},
        {"model": {"residual_dtype": "float16"}, "blocks": [{"repeat": 12}]},
    ),
    fails=({"model": {"residual_dtype": "float16"}, "blocks": [{"repeat": 24}]},),
    kinds=(Kind.NOTE,),
    fields_read=("model.residual_dtype", "blocks"),
    check=judge,
)
