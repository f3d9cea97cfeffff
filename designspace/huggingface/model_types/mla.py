"""mla: multi-head latent attention of flash-linear-attention. Source: arXiv 2405.04434; fla-core 0.6.0, layers/mla.py.

Halves are paired, unlike DeepSeek's. `rope_scaling` only changes the scale of the score (mscale_all_dim): the angles
are not stretched.
"""

from designspace.huggingface import fla
from designspace.huggingface.config import Config
from designspace.huggingface.importer import Importer, Stack
from designspace.huggingface.parts import from_catalogue
from designspace.huggingface.rope import yarn_mscale


def _stack(config: Config) -> Stack:
    hidden = fla.hidden_size(config)
    plain = config.integer("qk_nope_head_dim", default=128, least=0)
    rotated = config.integer("qk_rope_head_dim", default=64)
    width = plain + rotated
    if config.has("qk_head_dim") and config.integer("qk_head_dim") != width:
        raise config.error("qk_head_dim", f"`qk_head_dim` must be qk_nope_head_dim + qk_rope_head_dim = {width}.")
    config.optional("qk_head_dim")
    heads = {
        "num_heads": config.integer("num_heads", default=16),
        "state_dim": width,
        "head_dim": config.integer("v_head_dim", default=128),
        "kv_groups": None,
        "latent_dim": config.integer("kv_lora_rank", default=512),
        "shared_key_dim": rotated,
    }
    mixer = from_catalogue(
        "mla",
        heads=heads,
        rotation=fla.rotation(config) | {"fraction": rotated / width, "pairing": "half"},
        scaling={"base": width**-0.5 * _mscale(config) ** 2},
        support=fla.window(config),
    )
    return fla.stack(config, [mixer] * fla.depth(config), hidden=hidden, hybrid=False)


def _mscale(config: Config) -> float:
    """Factor of the score, squared by the caller. transformers 5 saves `rope_scaling` as `rope_parameters`."""
    name, other = (
        ("rope_scaling", "rope_parameters") if config.has("rope_scaling") else ("rope_parameters", "rope_scaling")
    )
    if config.optional(other) not in (None, config.optional(name)):
        raise config.error(other, f"`{other}` and `{name}` are both present; keep one.")
    scaling = config.nested(name)
    outer = config.number("rope_theta", default=fla.THETA)
    if scaling.number("rope_theta", default=outer) != outer:
        raise scaling.error("rope_theta", f"`rope_theta` is {outer:g} outside, which the code follows; let them agree.")
    if scaling.text("rope_type", default="default") == "default":
        return 1.0
    factor = scaling.number("factor")
    scaling.approximate("rope_type", "changes the scale of the score only; the rotary code stretches no angles")
    return yarn_mscale(factor, scaling.number("mscale_all_dim")) if scaling.has("mscale_all_dim") else 1.0


_UNREAD = dict.fromkeys(
    ("beta_fast", "beta_slow", "mscale", "original_max_position_embeddings", "type"), "not read: no angle is stretched"
)
importer = Importer(
    _stack,
    ignores={**fla.IGNORES, **_UNREAD, "q_lora_rank": "rank of the map to q: parameters, not the tuple"},
    source=fla.SOURCE,
)
