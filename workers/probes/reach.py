"""How far back does a gradient reach? |dy_i / dv_j| is |alpha_ij|: its mean against the lag i - j, at the start.

Of the stack: does its last output depend on its first token at all?
"""

from collections.abc import Iterator

import torch
from torch import Tensor

from designspace.measurement import Measurement
from workers.probe import SMALL_VOCABULARY, Probe, Stack, Subject, relative_change

LENGTH = 64
MAX_REPEAT = 8  # layers per block of the stack


def _mixer(subject: Subject) -> Iterator[Measurement]:
    length = subject.at_most(LENGTH)
    if length < 2 or subject.spec.support.mask == "none":
        return
    curves = [_by_lag(subject, draw, length) for draw in range(subject.draws)]
    if not all(one.sum().isfinite() for one in curves):
        return  # coefficients that leave the format have no half
    yield from subject.mean("gradient_half_lag", [_half_lag(one) for one in curves], length=length, unit="tokens")
    ends = [float(one[-1] / one.max()) for one in curves]
    yield from subject.mean("gradient_at_last_lag", ends, length=length)


def _by_lag(subject: Subject, draw: int, length: int) -> Tensor:
    """Mean |alpha| of the last query at each lag [length]."""
    spec = subject.small
    alpha = subject.coefficients(spec, draw, subject.signals(spec, draw, length))
    last = alpha[:, :, -1].abs().nan_to_num()
    return last.reshape(*last.shape[:2], length, spec.erase.rank).sum(-1).mean((0, 1)).flip(0)


def _half_lag(curve: Tensor) -> float:
    """The first lag from which on the gradients hold at most half of their sum."""
    rest = curve.sum() - curve.cumsum(0)
    return float(torch.nonzero(rest <= 0.5 * curve.sum())[0])


def _stack(stack: Stack) -> Iterator[Measurement]:
    if stack.length < 2 or stack.candidate.num_layers > MAX_REPEAT:
        return
    effects = [_first_token_effect(stack, draw) for draw in range(stack.draws)]
    yield from stack.largest("first_token_effect", effects, length=stack.length)


def _first_token_effect(stack: Stack, draw: int) -> float:
    """Largest change of the last output when the first token is another one, over its rms."""
    model, (x, other) = stack.model(draw, max_repeat=MAX_REPEAT), stack.tokens(draw, stack.length).unbind(0)
    changed = x.clone()
    changed[:, 0] = torch.where(other[:, 0] == x[:, 0], (x[:, 0] + 1) % SMALL_VOCABULARY, other[:, 0])
    return relative_change(model(x)[:, -1], model(changed)[:, -1])


probe = Probe(
    quantities={
        "gradient_half_lag": "lag up to which the last query has half of its gradient norms |dy_i / dv_j|",
        "gradient_at_last_lag": "mean |dy_i / dv_j| at the longest lag over its largest",
        "first_token_effect": "largest change of the last output of the stack with its first token, over the rms; 0 is"
        " a stack that does not reach so far",
    },
    mixer=_mixer,
    stack=_stack,
)
