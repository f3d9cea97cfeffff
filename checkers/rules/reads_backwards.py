"""CD907 reads-backwards: a branch that reads the tokens in another order than they come."""

from collections.abc import Iterable
from typing import Any

from checkers.finding import quantity, setting
from checkers.rule import Context, Outcome, Rule
from checkers.severity import Kind
from designspace.candidate import Parallel

SCANS: dict[str, Any] = {"blocks": [{"mixer": {"parallel": [{}, {}], "orders": ["forward", "backward"]}}]}


def judge(context: Context) -> Iterable[Outcome]:
    """Whether each composition reads from the first token to the last."""
    for index, block in enumerate(context.candidate.blocks):
        match block.mixer:
            case Parallel(is_causal=True):
                yield Outcome("pass", f"blocks[{index}].mixer", "every branch reads forward")
            case Parallel(orders=(*orders,)):
                yield Outcome(
                    "fail",
                    f"blocks[{index}].mixer.orders",
                    f"branches read in the orders {', '.join(orders)}: a token sees later ones, so the layer is"
                    " no causal mixer and cannot predict the next token.",
                    kind=Kind.NOTE,
                    evidence={"orders": quantity(", ".join(orders))},
                    fix=setting("display", {f"blocks[{index}].mixer.orders": None}),
                )
            case _:
                continue


rule = Rule(
    code="CD907",
    name="reads-backwards",
    group="advice",
    precision="very-high",
    what="A branch of `parallel` has an order other than `forward`.",
    why="Such a layer sees the future: right for images and encoders (VMamba), useless for generation.",
    exceptions=("Encoders and image models read both ways on purpose: a remark, not a warning.",),
    fix="Use `orders: null` in a causal model.",
    references=("arXiv 2401.10166, section 4",),
    passes=({"blocks": [{"mixer": {"parallel": [{}, {}]}}]},),
    fails=(SCANS, "catalogue:vmamba"),
    kinds=(Kind.NOTE,),
    fields_read=("blocks",),
    check=judge,
    about_mixers=False,
)
