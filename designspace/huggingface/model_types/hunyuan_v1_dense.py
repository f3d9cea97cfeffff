"""hunyuan_v1_dense: weighted RMS per head on q and k after the rotation; a fixed NTK factor `alpha` on the base.

Source: transformers 5.24, modeling_hunyuan_v1_dense: theta alpha^(d / (d - 2)) for `dynamic` with alpha.
"""

from typing import Any

from designspace.huggingface.config import Config
from designspace.huggingface.importer import Importer, Stack, unsupported
from designspace.huggingface.parts import Defaults, attention, decoder, rope, sizes

DEFAULTS = Defaults(hidden=4096, layers=32, heads=32, inner=11008, vocab=290943, length=2048)
MAX_ALPHA = 1.0e6
UNSUPPORTED = ("use_cla", "use_mla", "position_embedding_xdrope")  # keys and values across layers, latent, 2-d


def _stack(config: Config) -> Stack:
    for key in UNSUPPORTED:
        if config.flag(key, default=False):
            raise unsupported(config, key, True)
    for key in ("use_qk_norm", "use_rotary_pos_emb"):
        if not config.flag(key, default=True):
            raise unsupported(config, key, False)
    hidden = config.integer("hidden_size", default=DEFAULTS.hidden)
    heads = _heads(config, hidden)
    config.note("q/k norm", "in code: weighted RMS per head after the rotation")
    rotation = _rotation(config, heads["state_dim"])
    mixer = attention("softmax_qknorm", heads, rotation, features={"norm_order": "after_rotation"})
    num_layers = config.depth("num_hidden_layers", default=DEFAULTS.layers)
    return decoder(config, [mixer] * num_layers, hidden=hidden, defaults=DEFAULTS)


def _heads(config: Config, hidden: int) -> dict[str, Any]:
    num_heads = config.integer("num_attention_heads", default=DEFAULTS.heads)
    width = config.integer("head_dim", "attention_head_dim", default=max(hidden // num_heads, 1))
    return sizes(num_heads, config.integer("num_key_value_heads", default=num_heads), width)


def _rotation(config: Config, width: int) -> dict[str, Any]:
    parameters = config.nested("rope_parameters" if config.has("rope_parameters") else "rope_scaling")
    rotation = rope(config, width, DEFAULTS)
    if parameters.text("rope_type", "type", default="default") != "dynamic" or not parameters.has("alpha"):
        return rotation
    if not 1 <= (alpha := parameters.number("alpha")) <= MAX_ALPHA or width <= 2:
        raise parameters.error("alpha", f"`alpha` must lie in [1, {MAX_ALPHA:g}], keys be wider than 2; got {alpha:g}.")
    theta = rotation["theta"] * alpha ** (width / (width - 2))
    config.note("theta", f"in code: rope_theta alpha^(d / (d - 2)) = {theta:.6g}, at every length")
    return rotation | {"theta": theta, "scaling": None}


ROPE = "alpha beta_fast beta_slow mscale mscale_all_dim"
HUB = (
    "add_classification_head class_num dense_list mask_init_id num_media_embeds num_medusa_layers org_vocab_size"
    " pool_type"
)
TOKENS = "eod_token_id im_end_id im_newline_id im_start_id pad_id text_end_id text_start_id"
importer = Importer(
    _stack,
    ignores={
        **{
            f"{name}.{key}": "not read with `dynamic`"
            for name in ("rope_parameters", "rope_scaling")
            for key in ROPE.split()
        },
        **dict.fromkeys(HUB.split(), "of other heads of the model"),
        **dict.fromkeys(TOKENS.split(), "generation and tokens"),
        "cla_share_factor": "use_cla is off",
        "xdrope_section": "position_embedding_xdrope is off",
        "norm_type": "of the norms around the sub-layers",
    },
)
