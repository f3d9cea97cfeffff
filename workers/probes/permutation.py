"""Does the last output change when the tokens before it are permuted? 0 for what carries no position (P3)."""

from collections.abc import Iterator

import torch
from torch import Tensor

from designspace.measurement import Measurement
from workers.probe import Probe, Run, Stack, Subject, relative_change

SHORTEST = 3  # tokens; fewer have nothing to permute


def _mixer(subject: Subject) -> Iterator[Measurement]:
    if subject.length < SHORTEST:
        return
    changes = [
        permutation_effect(
            subject.mixer(subject.small, draw),
            subject.tokens(subject.small, draw, subject.length),
            seed=subject.draw_seed(draw),
        )
        for draw in range(subject.draws)
    ]
    yield from subject.largest("last_output", changes, length=subject.length)


def _stack(stack: Stack) -> Iterator[Measurement]:
    if stack.length < SHORTEST:
        return
    changes = [
        permutation_effect(stack.model(draw), stack.tokens(draw, stack.length)[0], seed=stack.draw_seed(draw))
        for draw in range(stack.draws)
    ]
    yield from stack.largest("last_output", changes, length=stack.length)


def permutation_effect(run: Run, x: Tensor, *, seed: int) -> float:
    """Largest change of the last output when all tokens before it are permuted, over the rms."""
    order = torch.randperm(x.shape[1] - 1, generator=torch.Generator().manual_seed(seed))
    permuted = torch.cat((x[:, order], x[:, -1:]), dim=1)
    return relative_change(run(x)[:, -1:], run(permuted)[:, -1:])


probe = Probe(
    quantities={
        "last_output": "largest change of the last output when the tokens before it are permuted, over its rms"
    },
    mixer=_mixer,
    stack=_stack,
)
