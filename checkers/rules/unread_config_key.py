"""CD905 unread-config-key: a key of the imported config.json that the importer does not know, or follows in part."""

from collections.abc import Iterable
from typing import Any

from checkers.finding import quantity
from checkers.rule import Context, Outcome, Rule
from checkers.severity import Kind

MOST_TOLD = 4  # keys with their reasons in one message
LLAMA: dict[str, Any] = {
    "model_type": "llama",
    "hidden_size": 512,
    "intermediate_size": 1376,
    "num_hidden_layers": 4,
    "num_attention_heads": 8,
    "vocab_size": 32000,
    "max_position_embeddings": 2048,
}


def judge(context: Context) -> Iterable[Outcome]:
    """What the importer says of each key that the candidate does not follow."""
    unread = [
        Outcome(
            "fail",
            key,
            f"the importer does not know `{key}`: the spec judged here may not be this model.",
            kind=Kind.BROKEN,
            evidence={"unread_keys": quantity(len(context.unread), "keys")},
        )
        for key in context.unread
    ]
    passed = Outcome("pass", "target.provenance", "no key of a config.json was left unread")
    return [*unread, *_approximated(context)] or [passed]


def _approximated(context: Context) -> list[Outcome]:
    """One remark for all keys that are followed in part."""
    found = context.candidate.approximated
    if not found:
        return []
    told = "; ".join(f"`{one.key}` is followed in part: {one.reason}" for one in found[:MOST_TOLD])
    more = f"; {len(found) - MOST_TOLD} more under `approximated`" if len(found) > MOST_TOLD else ""
    evidence = {"approximated_keys": quantity(len(found), "keys")}
    return [Outcome("unknown", "approximated[0]", f"{told}{more}.", kind=Kind.NOTE, evidence=evidence)]


rule = Rule(
    code="CD905",
    name="unread-config-key",
    group="proof",
    precision="very-high",
    what="A Hugging Face config.json has a key that the importer neither reads nor knows to be without effect (error),"
    " or one that the grammar expresses in part only (info).",
    why="The key may change the mixer, and then every other finding is about another model.",
    exceptions=(
        "Keys of training, generation, book-keeping and outputs are known to leave the mixer as it is.",
        "A spec file has no unread keys: an unknown key there is refused. What an import left out of one stands in its"
        " `approximated`.",
    ),
    fix="Look at what the key does in the model's code; remove it, or write a spec that says what it means.",
    references=("transformers 5.24, the configuration classes",),
    passes=(LLAMA, "catalogue:softmax_rope"),
    fails=({**LLAMA, "magic": 3},),
    kinds=(Kind.BROKEN, Kind.NOTE),
    fields_read=("target.provenance", "approximated"),
    check=judge,
    about_mixers=False,
)
