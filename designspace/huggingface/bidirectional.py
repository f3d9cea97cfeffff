"""Encoders: attention that reads the whole sequence, so that no mixer is causal. They are told apart, not rejected.

Source: transformers 5.24, modeling_bert; the masks of masking_utils (a window reads as many keys to either side).
"""

from collections.abc import Sequence

from designspace.candidate import AnyMixer, ChannelMixer
from designspace.huggingface.config import Config
from designspace.huggingface.importer import Stack
from designspace.huggingface.parts import Defaults, from_catalogue, layer, mlp, model
from designspace.huggingface.plain import Plain, plain
from designspace.mixer import MixerSpec
from designspace.outside import Outside

ENCODER = "an encoder: every token reads earlier and later ones, so there is no causal mixer."
IGNORES = {
    "classifier_dropout_prob": "training only",
    "directionality": "not read by the model code",
    "pooler_dropout": "of the pooler, after the last layer",
    "pooler_fc_size": "of the pooler, after the last layer",
    "pooler_hidden_act": "of the pooler, after the last layer",
    "pooler_hidden_size": "of the pooler, after the last layer",
    "pooler_num_attention_heads": "of the pooler, after the last layer",
    "pooler_num_fc_layers": "of the pooler, after the last layer",
    "pooler_size_per_head": "of the pooler, after the last layer",
    "pooler_type": "of the pooler, after the last layer",
    "summary_last_dropout": "training only",
}
POSITION_WORDS = ("absolute", "relative_key", "relative_key_query")


def both_ways(mixer: MixerSpec, *, reason: str = ENCODER) -> Outside:
    """What stands for attention over the whole sequence; `mixer` without the causal mask is the nearest point."""
    data = mixer.model_dump(mode="json")
    data["support"] |= {"mask": "none"}
    return Outside(outside="bidirectional", reason=reason, nearest=MixerSpec.model_validate(data))


def bert_like(config: Config, defaults: Defaults) -> Stack:
    """BERT: learned positions, LayerNorm after each sub-layer; causal where `is_decoder` is true."""
    found = plain(config, defaults)
    _absolute_positions(config)
    mixer = from_catalogue("softmax_nope", heads=found.heads_of())
    placed = mixer if is_decoder(config) else both_ways(mixer)
    return post_norm_stack(config, found, [placed] * found.layers)


def is_decoder(config: Config) -> bool:
    """Whether the file makes the encoder's class a causal decoder."""
    causal = config.flag("is_decoder", default=False)
    if config.flag("add_cross_attention", default=False):
        config.approximate("add_cross_attention", "the cross-attention to an encoder is left out")
    return causal


def _absolute_positions(config: Config) -> None:
    """position_embedding_type: relative terms of the score, which older code knew, are noted as left out."""
    key = "position_embedding_type"
    word = config.text(key, default="absolute")
    if word not in POSITION_WORDS:
        raise config.error(key, f"`{key}` must be one of {', '.join(POSITION_WORDS)}, got {word!r}.")
    if word != "absolute":
        config.approximate(key, "the score's product of q or k with a learned vector per distance is left out")


def post_norm_stack(
    config: Config,
    found: Plain,
    mixers: Sequence[AnyMixer],
    *,
    positions: str = "learned",
    channel: ChannelMixer | None = None,
) -> Stack:
    """One layer for each of `mixers`, LayerNorm after each sub-layer."""
    channel = channel or mlp(found.hidden, found.inner)
    layers = [layer(mixer, channel, norm="layer", placement="post") for mixer in mixers]
    return Stack(layers, model(config, found.hidden, positions=positions, vocab=found.vocab), found.length)
