"""Tiny random models of transformers, and what their modules pass on: shared by the scripts that run its layers."""

from collections.abc import Callable
from contextlib import suppress
from typing import Any

import torch
from case import Draw
from torch import Tensor, nn
from transformers import PretrainedConfig, PreTrainedModel

HIDDEN, HEADS, KV_HEADS, WIDTH = 16, 2, 1, 8
TINY = {"vocab_size": 8, "hidden_size": HIDDEN, "intermediate_size": 16, "num_hidden_layers": 1}
ATTENTION = TINY | {"num_attention_heads": HEADS, "num_key_value_heads": KV_HEADS, "head_dim": WIDTH}


def tiny_model(
    draw: Draw,
    kind: Callable[[PretrainedConfig], PreTrainedModel],
    config: PretrainedConfig,
    implementation: str = "eager",
) -> Any:
    """The model in float64 with weights that make scores of order 1; vectors (norm weights) lie in [0.5, 1.5]."""
    config._attn_implementation = implementation
    torch.manual_seed(draw.seed)
    model = kind(config).eval()
    for name, parameter in model.named_parameters():
        if parameter.dim() == 1:
            parameter.copy_(draw.uniform(*parameter.shape, low=0.5, high=1.5))
        elif not name.endswith("A_log"):
            parameter.copy_(draw.normal(*parameter.shape) * parameter[0].numel() ** -0.5)
    return model.double()


class RunEndedError(Exception):
    """The module that ends the run has got its input."""


def caught(draw: Draw, model: Any, parts: dict[str, nn.Module], end: nn.Module) -> dict[str, Tensor]:
    """What the parts returned in a run on random embeddings, and as `y` what entered `end`, where the run stops."""
    found: dict[str, Tensor] = {}

    def keep(name: str) -> Callable[[nn.Module, Any, Tensor], None]:
        def hook(_module: nn.Module, _inputs: Any, output: Tensor) -> None:
            found[name] = output

        return hook

    def stop(_module: nn.Module, inputs: tuple[Tensor, ...]) -> None:
        found["y"] = inputs[0]
        raise RunEndedError

    for name, module in parts.items():
        module.register_forward_hook(keep(name))
    end.register_forward_pre_hook(stop)
    with suppress(RunEndedError):
        model(inputs_embeds=draw.normal(1, draw.seq_len, model.config.hidden_size).double(), use_cache=False)
    return found
