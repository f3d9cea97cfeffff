"""mistral4: latent attention whose queries grow with the log of the position (llama_4_scaling_beta), long YaRN.

Source: transformers 5.24, configuration_mistral4 and modeling_mistral4: factor 1 + beta log(1 + floor(i / original
length)), where Llama 4 has i + 1. A file without rotary keys gets YaRN with factor 128 from 8192.
"""

from typing import Any

from designspace.huggingface.config import Config
from designspace.huggingface.importer import Importer, Stack
from designspace.huggingface.latent import IGNORES, Latent, latent_mixer, latent_stack, pairing
from designspace.huggingface.parts import Defaults
from designspace.scaling import QUERY_SCHEDULE_FLOOR, QUERY_SCHEDULE_SLOPE

DEFAULTS = Defaults(hidden=4096, layers=36, heads=32, inner=12288, vocab=131072, length=1048576)
LATENT = Latent(rank=256, nope=64, query_rank=1024)
ROPE_PARAMETERS = {
    "rope_type": "yarn",
    "rope_theta": 10000.0,
    "factor": 128.0,
    "original_max_position_embeddings": 8192,
    "beta_fast": 32.0,
    "beta_slow": 1.0,
    "mscale_all_dim": 1.0,
    "mscale": 1.0,
    "llama_4_scaling_beta": 0.1,
}


def _stack(config: Config) -> Stack:
    hidden = config.integer("hidden_size", default=DEFAULTS.hidden)
    if not config.has("rope_parameters") and not config.has("rope_scaling"):
        config.note("rope_parameters", "the default of transformers 5.24: YaRN with factor 128 from 8192")
        config.data = config.data | {"rope_parameters": ROPE_PARAMETERS}
    mixer = latent_mixer(
        config,
        hidden,
        DEFAULTS,
        LATENT,
        pairing=pairing(config),
        counted=_counted(config),
        scaling=_query_schedule(config),
    )
    mixers = [mixer] * config.depth("num_hidden_layers", default=DEFAULTS.layers)
    return latent_stack(config, mixers, hidden=hidden, defaults=DEFAULTS)


def _counted(config: Config) -> int:
    """partial_rotary_factor is a share of the whole key here."""
    widths = (("qk_nope_head_dim", LATENT.nope), ("qk_rope_head_dim", LATENT.rope))
    return sum(config.integer(key, default=default) for key, default in widths)


def _query_schedule(config: Config) -> dict[str, Any]:
    """`scaling.query_schedule`; the grammar holds one schedule, that of the class default."""
    key = "llama_4_scaling_beta"
    parameters = config.nested("rope_parameters" if config.has("rope_parameters") else "rope_scaling")
    parameters.optional("max_position_embeddings")
    beta, floor = parameters.number(key, default=0.0), parameters.optional("original_max_position_embeddings")
    if beta == 0:
        return {}
    if (beta, floor) != (QUERY_SCHEDULE_SLOPE, QUERY_SCHEDULE_FLOOR):
        raise parameters.error(
            key,
            f"the grammar holds the schedule with `{key}` {QUERY_SCHEDULE_SLOPE} and original length"
            f" {QUERY_SCHEDULE_FLOOR}, got {beta:g} and {floor}; use these or set `{key}` to 0.",
        )
    parameters.approximate(key, "each step of the growth comes one position earlier here, at i + 1")
    return {"query_schedule": "log"}


importer = Importer(_stack, ignores=IGNORES)
