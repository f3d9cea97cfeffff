"""deepseek_v2: multi-head latent attention, interleaved pairs. Source: arXiv 2405.04434; transformers 5.24.

The score scale holds the square of YaRN's factor at mscale_all_dim (modeling_deepseek_v2, yarn_apply_mscale). The
language parts of deepseek-vl2-tiny and DeepSeek-OCR say `use_mla: false`: plain rotary attention, pairs by halves.
"""

from designspace.huggingface.config import Config
from designspace.huggingface.importer import Importer, Stack
from designspace.huggingface.latent import IGNORES, Latent, equal_layers
from designspace.huggingface.model_types.deepseek import importer as deepseek
from designspace.huggingface.parts import Defaults

DEFAULTS = Defaults(hidden=4096, layers=32, heads=32, inner=11008, vocab=102400, length=2048)
LATENT = Latent()
WIDTHS = ("kv_lora_rank", "q_lora_rank", "qk_nope_head_dim", "qk_rope_head_dim", "v_head_dim")  # 0 or null without MLA


def _stack(config: Config) -> Stack:
    if config.has("use_mla") and not config.flag("use_mla", default=True):
        for key in WIDTHS:
            config.optional(key)
        return deepseek.stack(config)
    return equal_layers(config, DEFAULTS, LATENT, pairing="interleaved")


importer = Importer(
    _stack, ignores={**IGNORES, **dict.fromkeys(("lm_head", "rm_head"), "of the heads that make logits (DeepSeek-VL2)")}
)
