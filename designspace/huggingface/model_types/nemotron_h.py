"""nemotron_h: one sub-layer per layer, Mamba-2, attention, experts or a channel mixer. Source: transformers 5.24.

`hybrid_override_pattern` names them with one letter each: M Mamba-2, * attention, E experts, - channel mixer; newer
files have `layers_block_type`. No key rotates although the files hold rotary keys; the inner width of Mamba-2 is
mamba_num_heads * mamba_head_dim, not `expand` times the hidden size; the step is clamped from below at `time_step_min`
whatever `time_step_limit` says.
"""

from designspace.candidate import Block, ChannelMixer
from designspace.huggingface.config import Config
from designspace.huggingface.hybrids import schedule
from designspace.huggingface.importer import Importer, Stack
from designspace.huggingface.parts import Defaults, from_catalogue, layer, mlp, model, sizes
from designspace.huggingface.selective import (
    IGNORES,
    UNROTATED,
    floored_step,
    grouped_heads,
    mamba2_mixer,
    silu_activation,
    step_range,
)
from designspace.mixer import MixerSpec

DEFAULTS = Defaults(hidden=4096, layers=4, heads=32, kv_heads=8, head_dim=128, inner=21504, vocab=131072, length=4096)
DEFAULT_PATTERN = "ME*-"
LETTERS = {"M": "linear", "*": "full", "E": "moe", "-": "mlp"}
WORDS = {
    "linear_attention": "linear",
    "mamba": "linear",
    "full_attention": "full",
    "attention": "full",
    "moe": "moe",
    "mlp": "mlp",
}


def _stack(config: Config) -> Stack:
    hidden = config.integer("hidden_size", default=DEFAULTS.hidden)
    expert = config.integer("moe_intermediate_size", default=7688)
    none = ChannelMixer(kind="none")
    config.note("position", "in code: no rotary embedding")
    config.note("experts", "the channel mixer of an E layer stands for one expert")
    blocks: dict[str, Block] = {
        "linear": layer(_mamba2(config), none),
        "full": layer(_attention(config), none),
        "moe": layer(None, mlp(hidden, expert)),
        "mlp": layer(None, mlp(hidden, config.integer("intermediate_size", default=DEFAULTS.inner))),
    }
    seq_len = config.integer("max_position_embeddings", default=DEFAULTS.length)
    return Stack([blocks[kind] for kind in _kinds(config)], model(config, hidden, vocab=DEFAULTS.vocab), seq_len)


def _attention(config: Config) -> MixerSpec:
    num_heads = config.integer("num_attention_heads", default=DEFAULTS.heads)
    kv_heads = config.integer("num_key_value_heads", default=DEFAULTS.kv_heads)
    width = config.integer("head_dim", "attention_head_dim", default=DEFAULTS.head_dim)
    return from_catalogue("softmax_nope", heads=sizes(num_heads, kv_heads, width))


def _mamba2(config: Config) -> MixerSpec:
    heads = grouped_heads(
        config,
        num_heads=config.integer("mamba_num_heads", default=128),
        head_dim=config.integer("mamba_head_dim", default=64),
        state_dim=config.integer("ssm_state_size", default=128),
        groups=config.integer("n_groups", "mamba_n_groups", default=8),
    )
    silu_activation(config, "mamba_hidden_act")
    step = step_range(config)
    floored_step(config, step[0])
    return mamba2_mixer(heads, conv=config.integer("conv_kernel", "mamba_d_conv", default=4), step=step)


def _kinds(config: Config) -> list[str]:
    pattern = config.text("hybrid_override_pattern", default=DEFAULT_PATTERN)
    if unknown := set(pattern) - set(LETTERS):
        raise config.error(
            "hybrid_override_pattern",
            f"`hybrid_override_pattern` holds {', '.join(sorted(unknown))}; known: {' '.join(LETTERS)}.",
        )
    spelled = [LETTERS[letter] for letter in pattern]
    kinds = schedule(config, None, known=WORDS) or spelled
    if config.has("hybrid_override_pattern") and kinds != spelled:
        raise config.error("hybrid_override_pattern", "`hybrid_override_pattern` contradicts the list of layer types.")
    if config.depth("num_hidden_layers", default=max(len(kinds), 1)) != len(kinds):
        raise config.error("num_hidden_layers", f"`num_hidden_layers` must be {len(kinds)}, as many as are named.")
    return kinds


importer = Importer(
    _stack,
    ignores={
        **IGNORES,
        **UNROTATED,
        "expand": "not read by the model code: mamba_num_heads * mamba_head_dim is the inner width",
        "mamba_expand": "not read by the model code: mamba_num_heads * mamba_head_dim is the inner width",
        "mamba_dt_init_floor": "initialisation of the step",
        "mamba_dt_limit": "not read by the model code, which clamps at time_step_min",
        "moe_latent_size": "of the experts",
        "moe_shared_expert_intermediate_size": "of the experts",
        "moe_shared_expert_overlap": "execution",
        "mtp_hybrid_override_pattern": "layers of multi-token prediction, not of the model",
        "mtp_layers_block_type": "layers of multi-token prediction, not of the model",
        "sliding_window": "not read by the model code",
        "time_step_limit": "not read by the model code, which clamps at time_step_min",
    },
)
