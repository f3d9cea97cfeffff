"""qwen3_next: three Gated DeltaNet layers, then one gated softmax layer. Source: transformers 5.24, qwen3_next.

16 q/k heads serve 32 value heads in the linear layers; head_dim belongs to the attention layers only; the output gate
and the q/k norm are in code.
"""

from designspace.candidate import ChannelMixer
from designspace.huggingface.config import Config
from designspace.huggingface.hybrids import DeltaDefaults, gated_delta, schedule
from designspace.huggingface.importer import Importer, Stack, unsupported
from designspace.huggingface.parts import (
    Defaults,
    attention_sizes,
    every,
    from_catalogue,
    gated_mlp,
    layer,
    model,
    rope,
    stated,
)
from designspace.mixer import MixerSpec

DEFAULTS = Defaults(hidden=2048, layers=48, heads=16, kv_heads=2, head_dim=256, inner=5632, vocab=151936, length=32768)
DELTA = DeltaDefaults(key_heads=16, value_heads=32)
INTERVAL = 4
ROTATED = 0.25
IGNORES = {
    "full_attention_interval": "layer_types decides",
    "mamba_ssm_dtype": "execution: format of the state",
    "mtp_num_hidden_layers": "layers of multi-token prediction, not of the model",
    "mtp_use_dedicated_embeddings": "of multi-token prediction",
    "sliding_window": "no window in the model code",
    "max_window_layers": "no window in the model code",
    "use_sliding_window": "no window in the model code",
}


def _stack(config: Config) -> Stack:
    config.note("experts", "the channel mixer stands for one expert of moe_intermediate_size times num_experts_per_tok")
    return delta_stack(config, DEFAULTS, gated_mlp(config, _hidden(config, DEFAULTS), default=DEFAULTS.inner))


def delta_stack(config: Config, defaults: Defaults, channel: ChannelMixer) -> Stack:
    """Gated DeltaNet and gated softmax layers by layer_types, else every `full_attention_interval`-th layer full."""
    hidden = _hidden(config, defaults)
    stated(config, "output_gate_type", "swish", "silu", why="SiLU gates the recurrent layers")
    full, linear = gated_attention(config, hidden, defaults), gated_delta(config, DELTA)
    num_layers = config.depth("num_hidden_layers", default=defaults.layers)
    kinds = schedule(config, num_layers)
    if kinds is None:
        interval = config.integer("full_attention_interval", default=INTERVAL)
        kinds = ["full" if is_full else "linear" for is_full in every(interval, num_layers)]
    layers = [layer(full if kind == "full" else linear, channel) for kind in kinds]
    seq_len = config.integer("max_position_embeddings", default=defaults.length)
    return Stack(layers, model(config, hidden, vocab=defaults.vocab), seq_len)


def gated_attention(config: Config, hidden: int, defaults: Defaults) -> MixerSpec:
    """Softmax attention with q/k norm, partial rotary positions and a sigmoid gate per channel of the output."""
    if not config.flag("attn_output_gate", default=True):
        raise unsupported(config, "attn_output_gate", False)
    config.note("q/k norm, output gate", "in code: weighted RMS per head before the rotation; sigmoid gate")
    heads = attention_sizes(config, hidden, defaults)
    rotation = rope(config, heads["state_dim"], defaults, fraction=ROTATED)
    return from_catalogue("gated_softmax", heads=heads, rotation=rotation)


def _hidden(config: Config, defaults: Defaults) -> int:
    return config.integer("hidden_size", default=defaults.hidden)


importer = Importer(_stack, ignores=IGNORES)
