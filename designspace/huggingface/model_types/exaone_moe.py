"""exaone_moe: exaone4 with experts and norms before the sub-layers. Source: transformers 5.24, modeling_exaone_moe."""

from designspace.huggingface.importer import Importer
from designspace.huggingface.model_types.exaone4 import importer as exaone4

importer = Importer(
    exaone4.stack,
    ignores={
        "mlp_layer_types": "routing of the channel mixer",
        "num_shared_experts": "routing of the channel mixer",
    },
)
