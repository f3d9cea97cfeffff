"""How alike do the tokens become over the depth of the stack? (rank collapse, arXiv 2103.03404, 2410.10609)"""

from collections.abc import Iterator

import torch
from torch import Tensor

from designspace.measurement import Measurement
from workers.model import Layer
from workers.probe import Probe, Stack

LENGTH = 64
MAX_REPEAT = 8  # layers per block
MAX_SHOWN = 16  # layers whose similarity is reported one by one


def _stack(stack: Stack) -> Iterator[Measurement]:
    length = min(LENGTH, stack.candidate.target.seq_len)
    if length < 2:
        return
    streams = [_streams(stack, draw, length) for draw in range(stack.draws)]
    ends = [one[-1] for one in streams]
    yield from stack.mean("distance_to_mean", [_distance(x) for x in ends], length=length)
    yield from stack.mean("similarity", [_similarity(x) for x in ends], length=length)
    for depth in range(1, min(len(streams[0]), MAX_SHOWN) + 1):
        alike = [_similarity(one[depth - 1]) for one in streams]
        yield from stack.mean(similarity_after(depth), alike, length=length)


def _streams(stack: Stack, draw: int, length: int) -> list[Tensor]:
    """The residual stream [batch, seq_len, model_dim] after each layer."""
    model = stack.model(draw, max_repeat=MAX_REPEAT, length=length)
    found: list[Tensor] = []
    for part in model.layers:
        if isinstance(part, Layer):
            part.register_forward_hook(lambda _layer, _inputs, output: found.append(output.double()))
    model(stack.tokens(draw, length)[0])
    return found


def similarity_after(depth: int) -> str:
    """Name of the similarity of tokens after a number of layers."""
    return f"similarity_after_{depth}"


def _distance(x: Tensor) -> float:
    """|X - mean| / |X|, the mean over the tokens of a sequence."""
    return float(torch.linalg.norm(x - x.mean(1, keepdim=True)) / torch.linalg.norm(x))


def _similarity(x: Tensor) -> float:
    """Mean cosine of two different tokens of a sequence."""
    unit = torch.nn.functional.normalize(x, dim=-1)
    count = x.shape[1]
    total = (unit @ unit.mT).sum((1, 2)) - count
    return float((total / (count * (count - 1))).mean())


probe = Probe(
    quantities={
        "distance_to_mean": "|X - mean token| / |X| after the last layer, at most 8 layers per block",
        "similarity": "mean cosine of two tokens after the last layer, at most 8 layers per block",
        **{similarity_after(n): f"mean cosine of two tokens after layer {n}" for n in range(1, MAX_SHOWN + 1)},
    },
    stack=_stack,
)
