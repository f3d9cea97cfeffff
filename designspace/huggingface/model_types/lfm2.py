"""lfm2: gated short convolutions, and rotary softmax layers with a q/k norm.

Source: arXiv 2511.23404; transformers 5.24, modeling_lfm2.

`layer_types` says conv or full_attention; the older files name the attention layers in `full_attn_idxs`. Kernels are
`conv_L_cache` wide. The channel mixer is 2/3 of its key, rounded up, unless `block_auto_adjust_ff_dim` is false.
"""

from designspace.candidate import ChannelMixer
from designspace.huggingface.config import Config
from designspace.huggingface.hybrids import listed, schedule
from designspace.huggingface.importer import Importer, Stack
from designspace.huggingface.parts import Defaults, attention_sizes, decoder, from_catalogue, rope, stated
from designspace.mixer import MixerSpec

DEFAULTS = Defaults(
    hidden=2560, layers=32, heads=32, kv_heads=8, inner=12288, vocab=65536, length=128_000, theta=1_000_000.0
)
TAPS = 3
WORDS = {"conv": "conv", "full_attention": "full"}
_NOT_READ = "not read by the model code"
IGNORES = {
    "block_mlp_init_scale": "initialisation of weights a checkpoint replaces",
    "block_norm_eps": "eps of the norms",
    "block_out_init_scale": "initialisation of weights a checkpoint replaces",
    "block_use_swiglu": _NOT_READ,
    "block_use_xavier_init": "initialisation of weights a checkpoint replaces",
    "conv_bias": "a bias of the convolution leaves the tuple as it is",
    "conv_use_xavier_init": "initialisation of weights a checkpoint replaces",
    "tie_embedding": "outside the mixer; parameters are counted untied",
    "use_pos_enc": "not read by the model code, which always rotates",
}


def _stack(config: Config) -> Stack:
    hidden = width_of_stream(config, DEFAULTS)
    num_layers = config.depth("num_hidden_layers", default=DEFAULTS.layers)
    mixers = {"conv": short_convolution(config, hidden, TAPS), "full": normed_attention(config, hidden, DEFAULTS)}
    kinds = _kinds(config, num_layers)
    channel = _channel(config, hidden)
    return decoder(config, [mixers[kind] for kind in kinds], hidden=hidden, defaults=DEFAULTS, channel=channel)


def width_of_stream(config: Config, defaults: Defaults) -> int:
    """The hidden size under the names that the files repeat it with."""
    return config.integer("hidden_size", "block_dim", "conv_dim", "conv_dim_out", default=defaults.hidden)


def short_convolution(config: Config, hidden: int, taps: int) -> MixerSpec:
    """C conv(B x): a convolution over the last `conv_L_cache` tokens, gated before and after."""
    width = config.integer("conv_L_cache", default=taps)
    return from_catalogue("lfm2_shortconv", heads={"num_heads": hidden}, lift={"width": width})


def normed_attention(config: Config, hidden: int, defaults: Defaults) -> MixerSpec:
    """Rotary grouped-query attention with weighted RMS per head on q and k."""
    if config.has("num_heads") and config.integer("num_heads") != config.integer(
        "num_attention_heads", default=defaults.heads
    ):
        raise config.error("num_heads", "`num_heads` contradicts `num_attention_heads`; they name one thing.")
    heads = attention_sizes(config, hidden, defaults)
    config.note("q/k norm", "in code: weighted RMS per head before the rotation")
    rotation = rope(config, heads["state_dim"], defaults)
    stated(config, "theta", rotation["theta"], why="it is the base of the angles, rope_theta")
    return from_catalogue("softmax_qknorm", heads=heads, rotation=rotation)


def _kinds(config: Config, num_layers: int) -> list[str]:
    full = listed(config, "full_attn_idxs", num_layers)
    kinds = schedule(config, num_layers, known=WORDS)
    if kinds is None:
        return ["full" if full is None or index in full else "conv" for index in range(num_layers)]
    if full is not None and full != {index for index, kind in enumerate(kinds) if kind == "full"}:
        raise config.error("full_attn_idxs", "`full_attn_idxs` contradicts `layer_types`.")
    return kinds


def _channel(config: Config, hidden: int) -> ChannelMixer:
    inner = config.integer("block_ff_dim", "intermediate_size", default=DEFAULTS.inner)
    multiplier = config.number("block_ffn_dim_multiplier", default=1.0)
    multiple = config.integer("block_multiple_of", default=256)
    if config.flag("block_auto_adjust_ff_dim", default=True):
        inner = max(-(-int(multiplier * (2 * inner // 3)) // multiple), 1) * multiple
    return ChannelMixer(kind="swiglu", ratio=inner / hidden)


importer = Importer(_stack, ignores=IGNORES)
