"""hunyuan_v1_moe: hunyuan_v1_dense with experts. Source: transformers 5.24, modeling_hunyuan_v1_moe."""

from designspace.huggingface.importer import Importer
from designspace.huggingface.model_types.hunyuan_v1_dense import importer as dense

MOE = (
    "capacity_factor group_limited_greedy moe_drop_tokens moe_layer_num_skipped moe_random_routing_dropped_token"
    " moe_topk norm_topk_prob num_shared_expert routed_scaling_factor topk_group use_mixed_mlp_moe"
)
OFF = "kv_lora_rank q_lora_rank qk_nope_head_dim qk_rope_head_dim v_head_dim"
importer = Importer(
    dense.stack,
    ignores={
        **dense.ignores,
        **dict.fromkeys(MOE.split(), "routing of the channel mixer"),
        **dict.fromkeys(OFF.split(), "of latent attention, which use_mla switches off"),
    },
)
