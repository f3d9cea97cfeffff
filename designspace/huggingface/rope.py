"""Rotary keys in all their spellings: rope_parameters, rope_theta, rope_scaling, rotary_dim, rotary_pct and others.

Source: transformers 5.24, modeling_rope_utils; older names from the files on the hub.
"""

import math
from typing import Any

from designspace.huggingface.config import Config

SCALES = ("linear", "dynamic", "yarn", "llama3", "longrope", "su", "proportional")
PLAIN = ("default", "mrope")  # mrope: text tokens have one position in all three axes, which is the plain rotation
PARTIAL = "partial_rotary_factor"
ORIGINAL = "original_max_position_embeddings"
AXES = ("mrope_section", "mrope_interleaved", "interleaved")  # which channels belong to which of them
LAYER_KINDS = (
    "full_attention",
    "sliding_attention",
    "chunked_attention",
    "hybrid",
    "hybrid_sliding",
    "main",
    "compress",
)


def rotary(
    config: Config,
    head_dim: int,
    *,
    fraction: float = 1.0,
    theta: float = 10000.0,
    pairing: str = "half",
    length: int | None = None,
    layer_kind: str | None = None,
) -> dict[str, Any]:
    """`rotation` of a mixer from whichever rotary keys are present.

    Args:
        head_dim: channels of a key that `fraction` counts.
        fraction, theta: defaults of the model class.
        length: default of the model class for the longest sequence.
        layer_kind: reads that entry of a `rope_parameters` with one object per kind of layer.
    """
    parameters = _parameters(config, layer_kind)
    partial = _fraction(config, parameters, head_dim, default=fraction)
    angle_base = _base(config, parameters, default=theta, of_kind=layer_kind is not None)
    config.optional(ORIGINAL)  # says nothing where the angles are not scaled
    rotation = {"source": "constant", "theta": angle_base, "fraction": partial, "pairing": pairing}
    return rotation | _scaling(config, parameters, length)


def _base(config: Config, parameters: Config, *, default: float, of_kind: bool) -> float:
    """theta, from the nested object or the file; where both hold one for all layers they must agree."""
    if not parameters.has("rope_theta"):
        return config.number("rope_theta", "rotary_emb_base", default=default)
    theta = parameters.number("rope_theta")
    if not of_kind and config.has("rope_theta") and config.number("rope_theta") != theta:
        given = config.data["rope_theta"]
        raise config.error("rope_theta", f"`rope_theta: {given}` contradicts {theta:g} in the rotary parameters.")
    return theta


def is_scaled(config: Config) -> bool:
    """The file says something about the angles beyond their base."""
    return config.has("rope_parameters") or config.has("rope_scaling")


def nope() -> dict[str, Any]:
    """`rotation` of a mixer without positions."""
    return {"source": "none"}


def yarn_mscale(factor: float, mscale: float = 1.0) -> float:
    """0.1 mscale ln(factor) + 1 for factors above 1 (YaRN, arXiv 2309.00071, equation 22)."""
    return 0.1 * mscale * math.log(factor) + 1.0 if factor > 1 else 1.0


def _parameters(config: Config, layer_kind: str | None) -> Config:
    """The object that holds the rotary parameters of this kind of layer."""
    if not config.has("rope_parameters"):
        config.optional("rope_parameters")
        return config.nested("rope_scaling")
    if config.data.get("rope_scaling") not in (None, config.data["rope_parameters"]):
        raise config.error("rope_scaling", "`rope_scaling` and `rope_parameters` are both present; keep one.")
    config.optional("rope_scaling")
    parameters = config.nested("rope_parameters")
    by_kind = [kind for kind in LAYER_KINDS if kind in parameters.data]
    if not by_kind:
        return parameters
    if layer_kind not in by_kind:
        raise config.error("rope_parameters", f"`rope_parameters` holds {', '.join(by_kind)}, not {layer_kind}.")
    return parameters.nested(layer_kind)


def _fraction(config: Config, parameters: Config, head_dim: int, *, default: float) -> float:
    """The rotating share of the channels. `rotary_dim` says it in channels, the others as a share; all must agree,
    but that the nested partial_rotary_factor overrules the one beside it (transformers 5.24,
    convert_rope_params_to_dict).
    """
    shares: list[tuple[str, float]] = []
    if parameters.has(PARTIAL):
        shares.append((PARTIAL, parameters.number(PARTIAL)))
        if config.has(PARTIAL) and config.number(PARTIAL) != shares[0][1]:
            config.note(
                PARTIAL, f"{shares[0][1]:g} of the rotary parameters overrules {config.number(PARTIAL):g} beside"
            )
    elif config.has(PARTIAL):
        shares.append((PARTIAL, config.number(PARTIAL)))
    if config.has("rotary_pct"):
        shares.append(("rotary_pct", config.number("rotary_pct")))
    if config.has("rotary_dim"):
        shares.append(("rotary_dim", config.integer("rotary_dim") / head_dim))
    if not shares:
        return config.number(PARTIAL, default=default)
    (first, value), *others = shares
    for key, other in others:
        if int(other * head_dim) != int(value * head_dim):
            raise config.error(key, f"`{key}` is {other:g} of the {head_dim} channels, `{first}` {value:g}; keep one.")
    if not 0 <= value <= 1:
        raise config.error(
            first, f"`{first}` asks for {value:g} of {head_dim} channels to rotate, more than there are."
        )
    return value


def _scaling(config: Config, parameters: Config, length: int | None) -> dict[str, Any]:
    """`scaling` and `attention_factor` of the rotation."""
    if all(parameters.data.get(key) in (None, *PLAIN) for key in ("rope_type", "type")):
        for key in ("rope_type", "type", *AXES):
            parameters.optional(key)
        return {}
    kind = parameters.text("rope_type", "type", default="default")
    if kind not in SCALES:
        raise parameters.error("rope_type", f"`rope_type: {kind}` is not known; known: {', '.join((*PLAIN, *SCALES))}.")
    match kind:
        case "linear":
            return {"scaling": {"kind": kind, "factor": parameters.number("factor")}}
        case "proportional":
            return {"scaling": {"kind": kind, "factor": parameters.number("factor", default=1.0)}}
        case "dynamic":
            factor, trained = parameters.number("factor"), _original_length(config, parameters, length)
            return {"scaling": {"kind": kind, "factor": factor, "original_length": trained}}
        case "llama3":
            return {"scaling": _llama3(config, parameters, length)}
        case "yarn":
            return _yarn(config, parameters, length)
        case _:
            return _longrope(config, parameters, length)


def _original_length(config: Config, parameters: Config, length: int | None) -> int:
    """The training length, which may stand inside or outside; both must agree. Without it the longest sequence."""
    given = [where.integer(ORIGINAL, least=2) for where in (parameters, config) if where.has(ORIGINAL)]
    if len(set(given)) > 1:
        raise parameters.error(ORIGINAL, f"`{ORIGINAL}` is {given[0]} here and {given[1]} outside; keep one.")
    return given[0] if given else config.integer("max_position_embeddings", default=length, least=2)


def _llama3(config: Config, parameters: Config, length: int | None) -> dict[str, Any]:
    return {
        "kind": "llama3",
        "factor": parameters.number("factor"),
        "original_length": _original_length(config, parameters, length),
        "low": parameters.number("low_freq_factor"),
        "high": parameters.number("high_freq_factor"),
    }


def _yarn(config: Config, parameters: Config, length: int | None) -> dict[str, Any]:
    factor = parameters.number("factor")
    scaling = {
        "kind": "yarn",
        "factor": factor,
        "original_length": _original_length(config, parameters, length),
        "beta_fast": parameters.number("beta_fast", default=32.0),
        "beta_slow": parameters.number("beta_slow", default=1.0),
        "truncate": parameters.flag("truncate", default=True),
    }
    has_both = parameters.has("mscale") and parameters.has("mscale_all_dim")
    mscale, all_dim = parameters.optional("mscale"), parameters.optional("mscale_all_dim")
    if parameters.has("attention_factor"):
        attention = parameters.number("attention_factor")
    elif has_both and mscale and all_dim:
        ratio = [yarn_mscale(factor, parameters.number(key)) for key in ("mscale", "mscale_all_dim")]
        attention = ratio[0] / ratio[1]
    else:
        attention = yarn_mscale(factor)
    parameters.note("attention_factor", f"cosine and sine are multiplied by {attention:.6g} (YaRN, equation 22)")
    return {"scaling": scaling, "attention_factor": attention}


def _longrope(config: Config, parameters: Config, length: int | None) -> dict[str, Any]:
    trained = _original_length(config, parameters, length)
    stretch = config.integer("max_position_embeddings", default=length) / trained
    factor = parameters.number("factor", default=stretch)
    lists = {
        name: [parameters.finite(key, value) for value in parameters.items(key) or []]
        for name, key in (("short_factors", "short_factor"), ("long_factors", "long_factor"))
    }
    attention = math.sqrt(1.0 + math.log(factor) / math.log(trained)) if factor > 1 else 1.0
    if parameters.has("short_mscale"):
        attention = parameters.number("short_mscale")
        parameters.approximate("long_mscale", "the factor up to the original length, short_mscale, is used")
        parameters.optional("long_mscale")
    if parameters.has("attention_factor"):
        attention = parameters.number("attention_factor")
    scaling = {"kind": "longrope", "factor": factor, "original_length": trained, **lists}
    return {"scaling": scaling, "attention_factor": attention}
