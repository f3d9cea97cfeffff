"""t5: encoder-decoder. Both halves are imported: encoder layers read both ways, decoder layers are causal with a
learned bias per distance; scores are not divided by sqrt(d_kv). The cross-attention to the encoder is left out.

Source: arXiv 1910.10683; transformers 5.24, modeling_t5. Distances fall into log-spaced buckets up to
relative_attention_max_distance; here one value per distance. The bias belongs to the first layer and all use it.
"""

from designspace.candidate import ChannelMixer
from designspace.huggingface.bidirectional import IGNORES, both_ways
from designspace.huggingface.config import Config
from designspace.huggingface.importer import Importer, Stack
from designspace.huggingface.parts import from_catalogue, layer, model, sizes

HIDDEN, INNER, LAYERS, HEADS, WIDTH, VOCAB, LENGTH = 512, 2048, 6, 8, 64, 32128, 512
DISTANCES = 128


def _stack(config: Config) -> Stack:
    hidden = config.integer("d_model", "hidden_size", default=HIDDEN)
    num_heads = config.integer("num_heads", "num_attention_heads", default=HEADS)
    heads = sizes(num_heads, num_heads, config.integer("d_kv", default=WIDTH))
    features = {"q_std": heads["state_dim"] ** -0.5}
    encoder = both_ways(from_catalogue("softmax_unscaled", heads=heads, features=features))
    config.note("score scale", "in code: scores are not divided by sqrt(d_kv)")
    decoder = from_catalogue(
        "softmax_relbias",
        heads=heads,
        features=features,
        shear={"width": config.integer("relative_attention_max_distance", default=DISTANCES)},
    )
    config.approximate("relative_attention_num_buckets", "one learned value per distance, 0 beyond the largest")
    config.integer("relative_attention_num_buckets", default=32)
    config.approximate("is_encoder_decoder", "an encoder-decoder: its cross-attention is left out")
    depth = config.depth("num_layers", "num_hidden_layers", default=LAYERS)
    below = config.depth("num_decoder_layers", default=depth)
    channel = _channel(config, hidden)
    layers = [layer(encoder, channel)] * depth + [layer(decoder, channel)] * below
    config.note("seq_len", f"no key bounds it: the training length {LENGTH}")
    length = config.integer("n_positions", default=LENGTH)
    return Stack(layers, model(config, hidden, vocab=VOCAB), length)


def _channel(config: Config, hidden: int) -> ChannelMixer:
    gated = config.text("feed_forward_proj", default="relu").startswith("gated")
    return ChannelMixer(kind="swiglu" if gated else "mlp", ratio=config.integer("d_ff", default=INNER) / hidden)


importer = Importer(
    _stack,
    ignores=IGNORES
    | {
        "dense_act_fn": "of the channel mixer",
        "dropout_rate": "training only",
        "initializer_factor": "training only",
        "is_gated_act": "of the channel mixer, as feed_forward_proj says",
        "scale_decoder_outputs": "scales the logits",
        "tie_encoder_decoder": "outside the mixer",
    },
)
