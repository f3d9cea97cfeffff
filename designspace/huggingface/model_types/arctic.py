"""arctic: mixtral whose dense channel mixer stands beside the experts. Source: modeling_arctic of Snowflake."""

from designspace.huggingface.importer import Importer
from designspace.huggingface.model_types.mixtral import importer as mixtral

ROUTING = (
    "enable_expert_tensor_parallelism moe_eval_capacity_factor moe_layer_frequency moe_min_capacity moe_token_dropping"
    " moe_train_capacity_factor"
)
importer = Importer(
    mixtral.stack,
    ignores={
        **mixtral.ignores,
        **dict.fromkeys(ROUTING.split(), "routing of the channel mixer"),
        "enc_index": "not read by the model code",
        "parallel_attn_mlp_res": "the dense channel mixer stands beside the experts; does not bear on the tuple",
        "use_residual": "the dense channel mixer stands beside the experts; does not bear on the tuple",
    },
    source="modeling_arctic",
)
