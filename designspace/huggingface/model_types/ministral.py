"""ministral: mistral whose `layer_types` leave layers without a window. Source: transformers 5.24, ministral."""

from designspace.huggingface.config import Config
from designspace.huggingface.importer import Importer, Stack
from designspace.huggingface.model_types.mistral import DEFAULTS, WINDOW
from designspace.huggingface.parts import attention, decoder, rope, trunk, typed_windows


def _stack(config: Config) -> Stack:
    hidden, num_layers, heads = trunk(config, DEFAULTS)
    rotation = rope(config, heads["state_dim"], DEFAULTS)
    spans = typed_windows(config, num_layers, [True] * num_layers, default=WINDOW)
    mixers = [attention("softmax_rope", heads, rotation, span) for span in spans]
    return decoder(config, mixers, hidden=hidden, defaults=DEFAULTS)


importer = Importer(_stack, ignores={})
