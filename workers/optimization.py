"""Learning rate and weight decay of a protocol."""

import math

from torch import nn

from workers.protocol import Protocol

# Weights that may decay. Everything else keeps its scale: biases, gains, and what sets a decay rate or a step size,
# which would drift towards its neutral value (Mamba excludes the same, arXiv 2312.00752).
DECAYING = (nn.Linear, nn.Embedding)


def learning_rate(step: int, steps: int, protocol: Protocol) -> float:
    """The rate of step 1..steps: a linear rise to the peak, then a cosine to final_fraction of it at the last step."""
    peak, final = protocol.learning_rate, protocol.learning_rate * protocol.final_fraction
    warmup = round(protocol.warmup_fraction * steps)
    if step <= warmup:
        return peak * step / warmup
    progress = (step - warmup) / (steps - warmup)
    return final + (peak - final) * (1 + math.cos(math.pi * progress)) / 2


def parameter_groups(model: nn.Module, weight_decay: float) -> list[dict[str, object]]:
    """Parameters in two groups for AdamW: matrices of linear maps and embeddings decay, the others do not."""
    decaying = {id(module.weight) for module in model.modules() if isinstance(module, DECAYING)}
    parameters = list(model.parameters())
    return [
        {"params": [p for p in parameters if id(p) in decaying], "weight_decay": weight_decay},
        {"params": [p for p in parameters if id(p) not in decaying], "weight_decay": 0.0},
    ]
