"""bailing_moe: llama with experts, q, k and v from one map (Ling). Source: modeling_bailing_moe of inclusionAI."""

from designspace.huggingface.config import Config
from designspace.huggingface.importer import Importer, Stack
from designspace.huggingface.parts import NO_WINDOW, Defaults, llama_like, one_expert

DEFAULTS = Defaults(hidden=2048, layers=28, heads=16, inner=5632, vocab=126464, length=16384)
IGNORES = {
    **NO_WINDOW,
    "embedding_dropout": "training only",
    "moe_router_enable_expert_bias": "routing of the channel mixer",
    "moe_shared_expert_intermediate_size": "of the channel mixer",
    "mtp_loss_scaling_factor": "training only",
    "multi_gate": "routing of the channel mixer",
    "norm_head": "of the head that makes logits",
    "norm_softmax": "of the head that makes logits",
    "num_shared_experts": "routing of the channel mixer",
    "output_dropout": "training only",
    "router_dtype": "routing of the channel mixer",
    "score_function": "routing of the channel mixer",
    "use_rmsnorm": "of the norms around the sub-layers",
}


def _stack(config: Config) -> Stack:
    return bailing_stack(config, DEFAULTS)


def bailing_stack(config: Config, defaults: Defaults) -> Stack:
    """Rotary attention, maybe on a share of the channels, maybe with a weighted RMS on q and k before the rotation."""
    one_expert(config)
    normed = config.flag("use_qk_norm", default=False)
    return llama_like(config, "softmax_qknorm" if normed else "softmax_rope", defaults)


importer = Importer(_stack, ignores=IGNORES, source="modeling_bailing_moe")
