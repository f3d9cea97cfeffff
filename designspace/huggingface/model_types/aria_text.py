"""aria_text: llama with experts. Source: transformers 5.24, modeling_aria."""

from designspace.huggingface.config import Config
from designspace.huggingface.importer import Importer, Stack
from designspace.huggingface.parts import NO_WINDOW, Defaults, llama_like, one_expert

DEFAULTS = Defaults(hidden=4096, layers=32, heads=32, inner=4096, vocab=32000, length=2048)


def _stack(config: Config) -> Stack:
    one_expert(config)
    return llama_like(config, "softmax_rope", DEFAULTS)


importer = Importer(
    _stack,
    ignores={
        **NO_WINDOW,
        "moe_num_experts": "routing of the channel mixer",
        "moe_topk": "routing of the channel mixer",
        "moe_num_shared_experts": "routing of the channel mixer",
        "moe_aux_loss_coeff": "training only",
        "moe_z_loss_coeff": "training only",
    },
)
