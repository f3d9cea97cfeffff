"""xlstm: mLSTM with exponential input gates, softly capped. Source: arXiv 2503.13427; transformers 5.24, xlstm.

Widths of all keys and of all values are the hidden size times a factor, rounded up to a multiple of 64. The files of
NX-AI say `embedding_dim` and `num_blocks`.
"""

import math

from designspace.candidate import ChannelMixer
from designspace.huggingface.config import Config
from designspace.huggingface.importer import Importer, Stack, unsupported
from designspace.huggingface.parts import from_catalogue, layer, model
from designspace.mixer import MixerSpec

DEFAULT_HIDDEN, DEFAULT_LAYERS, DEFAULT_HEADS, DEFAULT_VOCAB = 4096, 32, 8, 50304
DEFAULT_CAP = 15.0
ROUNDED_TO = 64
TRAINING_LENGTH = 8192
EXECUTION = (
    "autocast_kernel_dtype chunk_size chunkwise_kernel inference_state_dtype max_inference_chunksize mode"
    " norm_reduction_force_float32 return_last_states sequence_kernel step_kernel weight_mode"
)


def _stack(config: Config) -> Stack:
    hidden = config.integer("hidden_size", "embedding_dim", default=DEFAULT_HIDDEN)
    multiple = config.integer("ffn_round_up_to_multiple_of", default=ROUNDED_TO)
    inner = _rounded(config, "ffn_proj_factor", 2.667, hidden, multiple)
    block = layer(_mlstm(config, hidden), ChannelMixer(kind="swiglu", ratio=inner / hidden))
    num_layers = config.depth("num_hidden_layers", "num_blocks", default=DEFAULT_LAYERS)
    config.note("seq_len", f"no key: the training length {TRAINING_LENGTH}")
    return Stack([block] * num_layers, model(config, hidden, vocab=DEFAULT_VOCAB), TRAINING_LENGTH)


def _mlstm(config: Config, hidden: int) -> MixerSpec:
    num_heads = config.integer("num_heads", default=DEFAULT_HEADS)
    keys = _rounded(config, "qk_dim_factor", 0.5, hidden, ROUNDED_TO)
    values = _rounded(config, "v_dim_factor", 1.0, hidden, ROUNDED_TO)
    for name, width in (("qk_dim_factor", keys), ("v_dim_factor", values)):
        if width % num_heads:
            raise config.error(name, f"`{name}` gives a width of {width}, which {num_heads} heads do not divide.")
    if config.flag("add_qk_norm", default=False):
        raise unsupported(config, "add_qk_norm", True)
    cap = config.number("gate_soft_cap", default=DEFAULT_CAP)
    if cap <= 0:
        raise config.error("gate_soft_cap", f"`gate_soft_cap` must be positive, got {cap:g}.")
    config.approximate("gate_soft_cap", "caps the input gate; the forget gate is capped in the code too, not here")
    return from_catalogue(
        "mlstm_exp",
        heads={"num_heads": num_heads, "state_dim": keys // num_heads, "head_dim": values // num_heads},
        scaling={"cap": cap},
        normalization={"eps": config.number("eps", default=1e-6)},
        io={"norm_eps": config.number("norm_eps", default=1e-6)},
    )


def _rounded(config: Config, key: str, default: float, hidden: int, multiple: int) -> int:
    """`hidden` times the factor at `key`, rounded up to a multiple."""
    factor = config.number(key, default=default)
    if not 0 < factor <= hidden:
        raise config.error(key, f"`{key}` must be positive and at most {hidden}, got {factor:g}.")
    return math.ceil(hidden * factor / multiple) * multiple


importer = Importer(
    _stack,
    ignores={
        **dict.fromkeys(EXECUTION.split(), "execution"),
        "add_embedding_dropout": "training only",
        "add_forward_backend_padding": "execution",
        "add_out_norm": "of the norm before the logits",
        "add_post_blocks_norm": "of the norm before the logits",
        "add_post_norm": "not read by the model code",
        "cell_norm_eps": "not read by the model code",
        "embedding_dropout": "training only",
        "force_bos_token_insert": "generation",
        "lm_head_bias": "outside the mixer",
        "logit_soft_cap": "caps the logits of the tokens",
        "logits_soft_cap": "caps the logits of the tokens",
        "head_dim": "derived: width of all values / heads",
        "igate_bias_init_range": "initialisation of weights a checkpoint replaces",
        "mlstm_round_up_to_multiple_of": "not read by the model code, which rounds up to 64",
        "output_logit_soft_cap": "caps the logits of the tokens",
    },
)
