"""linear_attn: linear attention with a choice of feature maps. Source: fla-core 0.6.0, layers/linear_attn.py.

The score is divided by the square root of the width after the feature map; the output is always normed per head.
"""

from designspace.huggingface import fla
from designspace.huggingface.config import Config
from designspace.huggingface.importer import Importer, Stack
from designspace.huggingface.parts import from_catalogue
from designspace.mixer import MixerSpec

FEATURE_MAPS = {
    "elementwise_product": "hadamard",
    "elu": "elu+1",
    "relu": "relu",
    "t2r": "relu",  # after a linear map, which the projection of q and k absorbs
    "identity": "identity",
    "hedgehog": "softmax_pm",
    "dpfp": "dpfp",
}
DPFP_ROLLS = 4
SUM_EPS, ROW_EPS = 1.0e-4, 1.0e-10


def _stack(config: Config) -> Stack:
    hidden = fla.hidden_size(config)
    name = config.text("feature_map", default="elementwise_product")
    if name not in FEATURE_MAPS:
        raise config.error("feature_map", f"`feature_map: {name}` is not known; known: {', '.join(FEATURE_MAPS)}.")
    normalizes = config.flag("norm_feature_map", default=False)
    mixer = from_catalogue(
        "linear",
        heads=fla.grouped_keys(config, hidden, expand_k=1.0, expand_v=1.0),
        features={
            "map": FEATURE_MAPS[name],
            "width": DPFP_ROLLS if name == "dpfp" else None,
            "norm": "sum" if _sums(config) else "none",
            "eps": SUM_EPS,
        },
        normalization={"kind": "sum", "eps": ROW_EPS} if normalizes else {},
        io={"output_norm": "head_rms", "norm_eps": fla.norm_eps(config)},
    )
    return fla.stack(config, [_scaled(mixer)] * fla.depth(config), hidden=hidden)


def _scaled(mixer: MixerSpec) -> MixerSpec:
    return mixer.model_copy(update={"scaling": mixer.scaling.model_copy(update={"base": mixer.key_dim**-0.5})})


def _sums(config: Config) -> bool:
    """Queries and keys are divided by the sum of their features; the grammar has this for both or none."""
    norm_q, norm_k = config.flag("norm_q", default=False), config.flag("norm_k", default=False)
    if norm_q != norm_k:
        raise config.error("norm_q", "`norm_q` and `norm_k` differ; the grammar norms both q and k or none.")
    return norm_q


importer = Importer(
    _stack,
    ignores={**fla.IGNORES, "tie_feature_map_qk": "shares weights of the feature map: parameters, not the tuple"},
    source=fla.SOURCE,
)
