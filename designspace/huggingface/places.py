"""Where a field of an imported spec stands in its config.json: at the key that it was read from.

A finding names a field of the spec, `blocks[3].mixer.support.window`; the reader has a config.json, where that field is
`sliding_window`, or one word of `layer_types`. A field that no key of the file holds stands where its parent stands, and
at last at `model_type`, which decides what the importer takes from the code of the model.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from designspace import readout as readouts
from designspace.candidate import Block, Candidate, Parallel
from designspace.document import Document, Entry, Node
from designspace.events import KeyPath, Mark, Span, split_path
from designspace.huggingface.importer import TEXT_PARTS, Imported
from designspace.mixer import MixerSpec
from designspace.outside import Outside

Table = Mapping[str, Sequence[str]]  # field -> keys of config files; the first that was read counts


def _table(text: str) -> Table:
    rows = (line.split(":") for line in text.split("\n") if line.strip())
    return {field.strip(): keys.split() for field, keys in rows}


# Lists with one word or number per layer; the item of a layer decides its mixer.
PER_LAYER = ("layer_types", "layers_block_type", "hybrid_override_pattern", "attn_type_list", "attention_layers")

WHOLE = _table(
    """
    target.seq_len: max_position_embeddings n_positions n_ctx max_seq_len seq_length context_length max_sequence_length
    target.dtype: dtype torch_dtype
    model.model_dim: hidden_size n_embd d_model hidden_dim word_embed_proj_dim
    model.vocab_size: vocab_size padded_vocab_size
    model.positions: position_embedding_type max_position_embeddings n_positions
    model.residual_dtype: residual_in_fp32 dtype torch_dtype
    blocks: layer_types layers_block_type hybrid_override_pattern block_types attn_type_list attention_types attn.layers
    """.replace("attn.layers\n", "attn.layers attn.0.layers full_attn_idxs attn_layer_indices attn_layer_period"
    " full_attention_interval sliding_window_pattern linear_attn_config.full_attn_layers num_hidden_layers n_layer"
    " n_layers num_layers\n")
)
