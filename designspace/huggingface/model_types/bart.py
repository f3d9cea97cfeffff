"""bart: encoder-decoder. Both halves are imported: encoder layers read both ways, decoder layers are causal; the
decoder's cross-attention to the encoder is left out. A file that says is_encoder_decoder false is the decoder alone.

Source: arXiv 1910.13461; transformers 5.24, modeling_bart: learned positions (shifted by two), norms after sub-layers.
"""

from designspace.candidate import Block
from designspace.huggingface.bidirectional import IGNORES, both_ways
from designspace.huggingface.config import Config
from designspace.huggingface.importer import Importer, Stack
from designspace.huggingface.parts import Defaults, from_catalogue, layer, mlp, model
from designspace.huggingface.plain import plain

DEFAULTS = Defaults(hidden=1024, layers=12, heads=16, inner=4096, vocab=50265, length=1024)


def _stack(config: Config) -> Stack:
    decoder, hidden, length = _half(config, "decoder")
    layers = decoder
    if config.flag("is_encoder_decoder", default=True):
        config.approximate("is_encoder_decoder", "an encoder-decoder: its cross-attention is left out")
        layers = [*_half(config, "encoder")[0], *decoder]
    return Stack(layers, model(config, hidden, positions="learned", vocab=DEFAULTS.vocab), length)


def _half(config: Config, half: str) -> tuple[list[Block], int, int]:
    """Layers, width and length of the encoder or the decoder; num_hidden_layers and so on are the encoder's."""
    is_encoder = half == "encoder"
    found = plain(
        config,
        DEFAULTS,
        hidden=("d_model", "hidden_size"),
        layers=(f"{half}_layers", *(("num_hidden_layers",) if is_encoder else ())),
        heads=(f"{half}_attention_heads", *(("num_attention_heads",) if is_encoder else ())),
        inner=(f"{half}_ffn_dim",),
    )
    mixer = from_catalogue("softmax_nope", heads=found.heads_of())
    placed = both_ways(mixer) if is_encoder else mixer
    block = layer(placed, mlp(found.hidden, found.inner), norm="layer", placement="post")
    return [block] * found.layers, found.hidden, found.length


importer = Importer(
    _stack,
    ignores=IGNORES
    | {
        "activation_dropout": "training only",
        "add_bias_logits": "outside the mixer",
        "add_final_layer_norm": "of the norms around the sub-layers",
        "classif_dropout": "training only",
        "decoder_layerdrop": "training only",
        "encoder_layerdrop": "training only",
        "extra_pos_embeddings": "not read by the model code",
        "force_bos_token_to_be_generated": "generation and tokens",
        "normalize_before": "not read by the model code: the norms stand after the sub-layers",
        "normalize_embedding": "of the embedding",
        "num_hidden_layers": "the encoder's, which this file leaves out",
        "num_attention_heads": "the encoder's, which this file leaves out",
        "scale_embedding": "scales the embedding of the tokens",
        "static_position_embeddings": "not read by the model code",
    },
)
