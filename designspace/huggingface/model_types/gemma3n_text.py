"""gemma3n_text: RMS on q, k and v and no score scale; four sliding layers, then a full one; the last layers share keys.

Source: transformers 5.24, modeling_gemma3n. What AltUp and LAuReL do to the residual stream is outside the mixer.
"""

from designspace.candidate import ChannelMixer
from designspace.huggingface.config import Config
from designspace.huggingface.gemma import FULL, IGNORES, layer_kinds, rotation_of, shared_keys, window
from designspace.huggingface.importer import Importer, Stack
from designspace.huggingface.parts import Defaults, attention_sizes, from_catalogue, layer, model

DEFAULTS = Defaults(hidden=2048, layers=35, heads=8, kv_heads=2, head_dim=256, inner=16384, vocab=262400, length=32768)
INTERVAL = 5
WINDOW = 512
SHARED = 15


def _stack(config: Config) -> Stack:
    hidden = config.integer("hidden_size", default=DEFAULTS.hidden)
    heads = attention_sizes(config, hidden, DEFAULTS)
    num_layers = config.depth("num_hidden_layers", default=DEFAULTS.layers)
    span = window(config, default=WINDOW)
    shared_keys(config, num_layers, default=SHARED)
    kinds = layer_kinds(config, num_layers, interval=INTERVAL)
    by_kind = {
        kind: from_catalogue(
            "softmax_qknorm",
            heads=heads,
            rotation=rotation_of(config, heads["state_dim"], kind, length=DEFAULTS.length),
            scaling={"base": 1.0},
            support={"window": None if kind == FULL else span},
        )
        for kind in sorted(set(kinds))
    }
    config.note("q/k norm", "in code: weighted RMS per head before the rotation, scores not divided")
    config.note("v norm", "in code: unweighted RMS of each value, which the grammar does not hold")
    widths = _inner(config, num_layers)
    layers = [
        layer(by_kind[kind], ChannelMixer(kind="swiglu", ratio=inner / hidden))
        for kind, inner in zip(kinds, widths, strict=True)
    ]
    around = model(config, hidden, vocab=DEFAULTS.vocab)
    return Stack(layers, around, config.integer("max_position_embeddings", default=DEFAULTS.length))


def _inner(config: Config, num_layers: int) -> list[int]:
    """Width of each channel mixer: one number for all or a list."""
    if not isinstance(config.data.get("intermediate_size"), list):
        return [config.integer("intermediate_size", default=DEFAULTS.inner)] * num_layers
    widths = config.integers("intermediate_size", least=1) or []
    if len(widths) != num_layers:
        raise config.error(
            "intermediate_size", f"`intermediate_size` names {len(widths)} layers, the model has {num_layers}."
        )
    return widths


importer = Importer(
    _stack,
    ignores={
        **IGNORES,
        "activation_sparsity_pattern": "of the channel mixer",
        "altup_active_idx": "of the residual stream (AltUp), outside the mixer",
        "altup_coef_clip": "of the residual stream (AltUp), outside the mixer",
        "altup_correct_scale": "of the residual stream (AltUp), outside the mixer",
        "altup_lr_multiplier": "training only",
        "altup_num_inputs": "of the residual stream (AltUp), outside the mixer",
        "hidden_size_per_layer_input": "of the embedding per layer, outside the mixer",
        "laurel_rank": "of the residual stream (LAuReL), outside the mixer",
        "query_pre_attn_scalar": "not read by the model code: scores are not divided",
        "rope_local_base_freq": "no sliding layer, or rope_parameters says it",
        "rope_theta": "no full layer, or rope_parameters says it",
        "vocab_size_per_layer_input": "of the embedding per layer, outside the mixer",
    },
)
