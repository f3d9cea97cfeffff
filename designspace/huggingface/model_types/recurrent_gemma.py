"""recurrent_gemma: RG-LRU layers and rotary attention in a window, repeated in the order of `block_types`.

Source: arXiv 2404.07839; transformers 5.24, modeling_recurrent_gemma. Half of the channels of a key rotate. The channel
mixer has half of `intermediate_size`; `num_attention_heads` is also the number of blocks of the gate maps.
"""

from designspace.candidate import ChannelMixer
from designspace.huggingface.config import Config
from designspace.huggingface.hybrids import schedule
from designspace.huggingface.importer import Importer, Stack
from designspace.huggingface.parts import (
    Defaults,
    attention_sizes,
    from_catalogue,
    layer,
    model,
    rope,
)
from designspace.mixer import MixerSpec

DEFAULTS = Defaults(hidden=2560, layers=26, heads=10, inner=7680, vocab=256000, length=8192)
DEFAULT_WINDOW = 2048
ROTATED = 0.5
CYCLE = ["recurrent", "recurrent", "attention"]
CLIPPED = "in code: the gradient of the square root is clipped at 1,000"
WORDS = {"recurrent": "recurrent", "attention": "attention"}


def _stack(config: Config) -> Stack:
    hidden = config.integer("hidden_size", default=DEFAULTS.hidden)
    inner = config.integer("intermediate_size", default=DEFAULTS.inner)
    config.note("channel mixer", "in code: half of intermediate_size")
    channel = ChannelMixer(kind="swiglu", ratio=max(inner // 2, 1) / hidden)
    attention, recurrence = _attention(config, hidden), _recurrence(config, hidden)
    config.note("seq_len", f"no key: the training length {DEFAULTS.length}")
    layers = [layer(attention if full else recurrence, channel) for full in _is_full(config)]
    return Stack(layers, model(config, hidden, vocab=DEFAULTS.vocab), DEFAULTS.length)


def _attention(config: Config, hidden: int) -> MixerSpec:
    heads = attention_sizes(config, hidden, DEFAULTS)
    return from_catalogue(
        "softmax_window",
        heads=heads,
        rotation=rope(config, heads["state_dim"], DEFAULTS, fraction=ROTATED),
        support={"window": config.integer("attention_window_size", "sliding_window", default=DEFAULT_WINDOW)},
    )


def _recurrence(config: Config, hidden: int) -> MixerSpec:
    channels = config.integer("lru_width", default=hidden)
    taps = config.integer("conv1d_width", default=4)
    config.note("gate maps", f"in code: block-diagonal, one block per attention head, over {channels} channels")
    return from_catalogue(
        "rg_lru",
        heads={"num_heads": channels},
        io={"short_conv": {"width": taps, "on": ["v"]}},
        lint={"ignore": [{"rule": "CD803", "reason": CLIPPED}]},
    )


def _is_full(config: Config) -> list[bool]:
    num_layers = config.depth("num_hidden_layers", default=DEFAULTS.layers)
    key = "_block_types" if config.has("_block_types") and not config.has("block_types") else "block_types"
    cycle = config.items(key) or CYCLE
    for word in cycle:
        if not isinstance(word, str) or word not in WORDS:
            raise config.error(key, f"`{key}` holds {word!r}; known here: {', '.join(WORDS)}.")
    full = [cycle[index % len(cycle)] == "attention" for index in range(num_layers)]
    kinds = schedule(config, num_layers, known={"linear_attention": "linear", "sliding_attention": "full", **WORDS})
    if kinds is not None and [kind in ("full", "attention") for kind in kinds] != full:
        raise config.error("layer_types", "the list of layer types contradicts `block_types`.")
    return full


importer = Importer(
    _stack,
    ignores={
        "_block_types": "block_types is given",
        "embeddings_scale_by_sqrt_dim": "scales the embedding",
        "final_w_init_variance_scale": "initialisation of weights a checkpoint replaces",
        "logits_soft_cap": "caps the logits of the tokens, not the scores",
        "w_init_variance_scale": "initialisation of weights a checkpoint replaces",
    },
)
