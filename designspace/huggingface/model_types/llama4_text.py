"""llama4_text: rotary layers that read a chunk of 8192 and layers without positions whose scores grow with the log.

Source: transformers 5.24, modeling_llama4: pairs interleaved; q and k are divided by their RMS after the rotation, in
rotary layers only; in the others query i is multiplied by 1 + 0.1 log(1 + floor((i + 1) / 8192)). In no_rope_layers a 1
means that the layer DOES rotate.
"""

from designspace.huggingface.config import Config
from designspace.huggingface.importer import Importer, Stack
from designspace.huggingface.parts import (
    Defaults,
    attention_sizes,
    decoder,
    from_catalogue,
    gated_mlp,
    layer_types,
    rope,
)
from designspace.huggingface.rope import nope
from designspace.mixer import MixerSpec
from designspace.scaling import QUERY_SCHEDULE_FLOOR, QUERY_SCHEDULE_SLOPE

DEFAULTS = Defaults(
    hidden=5120, layers=48, heads=40, kv_heads=8, head_dim=128, inner=8192, vocab=202048, length=131072, theta=500000.0
)
INTERVAL = 4
CHUNK = 8192
FULL, CHUNKED = "full_attention", "chunked_attention"


def _stack(config: Config) -> Stack:
    hidden = config.integer("hidden_size", default=DEFAULTS.hidden)
    num_layers = config.depth("num_hidden_layers", default=DEFAULTS.layers)
    rotates = _rotating_layers(config, num_layers)
    chunk = _chunk(config)
    types = layer_types(config, num_layers, known=(FULL, CHUNKED))
    kinds = types or [CHUNKED if rotating and chunk else FULL for rotating in rotates]
    mixers = _mixers(config, hidden)
    placed = [
        _within(mixers[rotating], chunk if kind == CHUNKED else None)
        for rotating, kind in zip(rotates, kinds, strict=True)
    ]
    config.note("experts", "the channel mixer stands for one expert of intermediate_size")
    return decoder(
        config, placed, hidden=hidden, defaults=DEFAULTS, channel=gated_mlp(config, hidden, default=DEFAULTS.inner)
    )


def _mixers(config: Config, hidden: int) -> dict[bool, MixerSpec]:
    """The mixer of rotary layers (True) and of the others."""
    heads = attention_sizes(config, hidden, DEFAULTS)
    rotation = rope(config, heads["state_dim"], DEFAULTS, pairing="interleaved")
    normed = {"norm": "rms", "norm_order": "after_rotation", "eps_kind": "mean"}
    features = normed if config.flag("use_qk_norm", default=True) else {}
    return {
        True: from_catalogue("softmax_rope", heads=heads, rotation=rotation, features=features),
        False: from_catalogue(
            "softmax_nope", heads=heads, rotation=nope(), scaling={"query_schedule": _query_schedule(config)}
        ),
    }


def _within(mixer: MixerSpec, chunk: int | None) -> MixerSpec:
    return mixer.model_copy(update={"support": mixer.support.model_copy(update={"chunk": chunk})})


def _chunk(config: Config) -> int | None:
    key = "attention_chunk_size"
    return None if config.is_null(key) else config.integer(key, default=CHUNK)


def _rotating_layers(config: Config, num_layers: int) -> list[bool]:
    """Whether each layer rotates: no_rope_layers, where 1 says yes; an empty list is every layer but each fourth."""
    listed = config.integers("no_rope_layers") or []
    if not listed or config.has("no_rope_layer_interval"):
        interval = config.integer("no_rope_layer_interval", default=INTERVAL)
        by_interval = [int((index + 1) % interval != 0) for index in range(num_layers)]
        if listed and listed != by_interval:
            raise config.error("no_rope_layers", "`no_rope_layers` contradicts `no_rope_layer_interval`; keep one.")
        listed = by_interval
    if len(listed) != num_layers or any(value not in (0, 1) for value in listed):
        raise config.error("no_rope_layers", f"`no_rope_layers` must hold 0 or 1 for each of {num_layers} layers.")
    return [value == 1 for value in listed]


def _query_schedule(config: Config) -> str:
    """How the score grows in layers without positions; the grammar holds one schedule, that of the released models."""
    grows = _switch(config, "attn_temperature_tuning")
    floor = config.number("floor_scale", default=QUERY_SCHEDULE_FLOOR)
    slope = config.number("attn_scale", default=QUERY_SCHEDULE_SLOPE)
    if grows and (floor, slope) != (QUERY_SCHEDULE_FLOOR, QUERY_SCHEDULE_SLOPE):
        raise config.error(
            "floor_scale" if floor != QUERY_SCHEDULE_FLOOR else "attn_scale",
            f"the grammar holds the schedule with floor_scale {QUERY_SCHEDULE_FLOOR} and attn_scale"
            f" {QUERY_SCHEDULE_SLOPE}, got {floor:g} and {slope:g}; use these or set attn_temperature_tuning to false.",
        )
    return "log" if grows else "none"


def _switch(config: Config, key: str) -> bool:
    """true or false; the first files hold a number there, of which 0 is false."""
    if isinstance(config.data.get(key), bool | None):
        return config.flag(key, default=True)
    return config.integer(key, least=0) > 0


importer = Importer(
    _stack,
    ignores={
        "cache_implementation": "execution",
        "for_llm_compressor": "execution",
        "interleave_moe_layer_step": "routing of the channel mixer",
        "intermediate_size_mlp": "of the channel mixer of dense layers",
        "moe_layers": "routing of the channel mixer",
    },
)
