"""codegen: gptj with q, v, k in one projection in another order, which leaves the tuple.

Source: transformers 5.24, modeling_codegen: the same rotation and scale.
"""

from designspace.huggingface.model_types.gptj import importer as importer
