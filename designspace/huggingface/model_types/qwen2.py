"""qwen2: llama with a bias on q, k, v; a window only if `use_sliding_window`, from layer `max_window_layers` on.

Source: transformers 5.24, modeling_qwen2. `layer_types` says which layers where a file holds it.
"""

from designspace.huggingface.config import Config
from designspace.huggingface.importer import Importer, Stack
from designspace.huggingface.parts import Defaults, attention, decoder, rope, switched_windows, trunk

DEFAULTS = Defaults(hidden=4096, layers=32, heads=32, kv_heads=32, inner=22016, vocab=151936, length=32768)
WINDOW = 4096  # keys
FIRST_WINDOWED = 28  # layer
DUAL_CHUNK = "dual_chunk_attention_config"  # of the files for a million tokens


def _stack(config: Config) -> Stack:
    return qwen_stack(config, "softmax_rope", DEFAULTS)


def qwen_stack(config: Config, mixer_name: str, defaults: Defaults, *, first_windowed: int = FIRST_WINDOWED) -> Stack:
    """Rotary attention whose last layers may have a window."""
    hidden, num_layers, heads = trunk(config, defaults)
    rotation = rope(config, heads["state_dim"], defaults)
    if config.has(DUAL_CHUNK):
        config.optional(DUAL_CHUNK)
        config.approximate(DUAL_CHUNK, "not read by transformers; vLLM bounds the distance of keys beyond a chunk")
    first = config.integer("max_window_layers", default=first_windowed, least=0)
    spans = switched_windows(config, num_layers, [layer >= first for layer in range(num_layers)], default=WINDOW)
    mixers = [attention(mixer_name, heads, rotation, span) for span in spans]
    return decoder(config, mixers, hidden=hidden, defaults=defaults)


importer = Importer(_stack, ignores={})
