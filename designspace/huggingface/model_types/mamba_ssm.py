"""Files of state-spaces/mamba, which have no model_type: `d_model`, `n_layer` and the arguments of the layers.

Source: mamba_ssm 2.2, models/mixer_seq_simple.py, modules/mamba_simple.py, mamba2.py and mha.py. `ssm_cfg.layer` says
Mamba1 or Mamba2; every size that `ssm_cfg` and `attn_cfg` leave out is the default of the module. Attention at
`attn_layer_idx` is bidirectional unless `attn_cfg.causal` says otherwise. The vocabulary is padded.
"""

from typing import Any

from designspace.candidate import AnyMixer, ChannelMixer
from designspace.huggingface.config import Config
from designspace.huggingface.hybrids import listed
from designspace.huggingface.importer import Importer, Stack, unsupported
from designspace.huggingface.parts import from_catalogue, layer, model, sizes
from designspace.huggingface.selective import (
    DEFAULT_SEQ_LEN,
    STEP,
    channel_heads,
    clamped_step,
    grouped_heads,
    mamba2_mixer,
    mamba_mixer,
    step_range,
)
from designspace.mixer import MixerSpec
from designspace.outside import Outside

DEFAULT_HIDDEN, DEFAULT_LAYERS, DEFAULT_VOCAB = 2560, 64, 50277
VOCAB_MULTIPLE = 8
LAYERS = ("Mamba1", "Mamba2")
IGNORES = {
    "attn_cfg.out_proj_bias": "a bias of the projections leaves the tuple as it is",
    "attn_cfg.qkv_proj_bias": "a bias of the projections leaves the tuple as it is",
    "fused_add_norm": "execution",
    "norm_epsilon": "eps of the norms",
    "tie_embeddings": "outside the mixer; parameters are counted untied",
    **dict.fromkeys(
        ("ssm_cfg.A_init_range", "ssm_cfg.conv_init", "ssm_cfg.dt_init", "ssm_cfg.dt_init_floor", "ssm_cfg.dt_scale"),
        "initialisation of weights a checkpoint replaces",
    ),
    **dict.fromkeys(
        ("ssm_cfg.chunk_size", "ssm_cfg.use_fast_path", "ssm_cfg.use_mem_eff_path", "ssm_cfg.sequence_parallel"),
        "execution",
    ),
    **dict.fromkeys(
        ("ssm_cfg.bias", "ssm_cfg.conv_bias"), "a bias of a projection or of the convolution leaves the tuple as it is"
    ),
    "ssm_cfg.dt_rank": "width of the projection of the step: parameters, not the tuple",
}


def _stack(config: Config) -> Stack:
    hidden = config.integer("d_model", default=DEFAULT_HIDDEN)
    num_layers = config.depth("n_layer", default=DEFAULT_LAYERS)
    recurrence = _recurrence(config.nested("ssm_cfg"), hidden)
    full = listed(config, "attn_layer_idx", num_layers) or set()
    config.optional("attn_cfg")  # without such layers nothing reads what it holds
    attention = _attention(config.nested("attn_cfg"), hidden) if full else None
    inner = config.integer("d_intermediate", default=0, least=0)
    channel = ChannelMixer(kind="swiglu", ratio=inner / hidden) if inner else ChannelMixer(kind="none")
    is_rms = config.flag("rms_norm", default=True)
    layers = [
        layer(attention if index in full else recurrence, channel, norm="rms" if is_rms else "layer")
        for index in range(num_layers)
    ]
    residual = "float32" if config.flag("residual_in_fp32", default=True) else None
    config.note("seq_len", f"no key: the training length {DEFAULT_SEQ_LEN}")
    stack = model(config, hidden, residual=residual, vocab=DEFAULT_VOCAB)
    padded = _padded(stack.vocab_size, config.integer("pad_vocab_size_multiple", default=VOCAB_MULTIPLE))
    config.note("vocab_size", f"the embedding has {padded} rows, a multiple of pad_vocab_size_multiple")
    return Stack(layers, stack.model_copy(update={"vocab_size": padded}), DEFAULT_SEQ_LEN)


def _recurrence(config: Config, hidden: int) -> MixerSpec:
    kind = config.text("layer", default="Mamba1")
    if kind not in LAYERS:
        raise unsupported(config, "layer", kind)
    inner = config.integer("expand", default=2) * hidden
    conv = config.integer("d_conv", default=4)
    step = step_range(config) if config.has("dt_min") or config.has("dt_max") else STEP
    if kind == "Mamba1":
        return mamba_mixer(channel_heads(inner, config.integer("d_state", default=16)), conv=conv, step=step)
    return _mamba2(config, inner, conv, step)


def _mamba2(config: Config, inner: int, conv: int, step: tuple[float, float]) -> MixerSpec:
    width = config.integer("headdim", default=64)
    channels = config.integer("d_ssm", default=inner, because="expand * d_model")
    if channels % width or channels > inner:
        raise config.error("headdim", f"`headdim` must divide the {channels} of {inner} channels, got {width}.")
    if channels < inner:
        config.approximate("d_ssm", f"the other {inner - channels} channels are a gated channel mixer; left out")
    if config.flag("D_has_hdim", default=False):
        config.approximate("D_has_hdim", "one D per channel; the grammar has one per head")
    clamped_step(config, "dt_limit")
    heads = grouped_heads(
        config,
        num_heads=channels // width,
        head_dim=width,
        state_dim=config.integer("d_state", default=128),
        groups=config.integer("ngroups", default=1),
        key="ngroups",
    )
    normed, before = config.flag("rmsnorm", default=True), config.flag("norm_before_gate", default=False)
    return mamba2_mixer(
        heads,
        conv=conv,
        step=step,
        output_norm="group_rms" if normed else "none",
        order="norm_then_gate" if before else "gate_then_norm",
    )


def _attention(config: Config, hidden: int) -> AnyMixer:
    """MHA of mamba_ssm: a convolution of q, k and v if `d_conv`, then the rotation of `rotary_emb_dim` channels."""
    num_heads = config.integer("num_heads")
    width = config.integer("head_dim", default=max(hidden // num_heads, 1))
    heads = sizes(num_heads, config.integer("num_heads_kv", default=num_heads), width)
    scaling = {"base": config.number("softmax_scale")} if config.has("softmax_scale") else {}
    rotated = config.integer("rotary_emb_dim", default=0, least=0)
    if rotated > width:
        raise config.error(
            "rotary_emb_dim", f"`rotary_emb_dim` must be at most the {width} channels of a key, got {rotated}."
        )
    taps = config.integer("d_conv", default=0, least=0)
    io = {"short_conv": {"width": taps, "on": ["q", "k", "v"]}} if taps else {}
    if config.integer("mlp_dim", default=0, least=0):
        config.approximate("mlp_dim", "a gated channel mixer beside the attention; left out")
    mixer = from_catalogue("softmax_nope", heads=heads, scaling=scaling, io=io)
    if rotated:
        rotation = _rotation(config, rotated / width)
        name = "softmax_rope" if rotated == width else "softmax_partial_rope"
        mixer = from_catalogue(name, heads=heads, rotation=rotation, scaling=scaling, io=io)
    if config.flag("causal", default=False):
        return mixer
    return Outside(outside="bidirectional", reason="attn_cfg.causal is false, the default of the module.", nearest=None)


def _rotation(config: Config, fraction: float) -> dict[str, Any]:
    interleaved = config.flag("rotary_emb_interleaved", default=False)
    return {
        "source": "constant",
        "theta": config.number("rotary_emb_base", default=10000.0),
        "fraction": fraction,
        "pairing": "interleaved" if interleaved else "half",
    }


def _padded(vocab: int, multiple: int) -> int:
    return -(-vocab // multiple) * multiple


importer = Importer(_stack, ignores=IGNORES, source="mamba_ssm 2.2")
