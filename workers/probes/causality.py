"""Do outputs change when only later tokens change? 0 for a causal mixer, whatever computes it."""

from collections.abc import Iterator

from designspace.measurement import Measurement
from workers.probe import Probe, Stack, Subject, later_token_effect


def _mixer(subject: Subject) -> Iterator[Measurement]:
    changes = []
    for draw in range(subject.draws):
        x, other = (subject.tokens(subject.small, draw, subject.length, name=name) for name in ("x", "other"))
        changes.append(later_token_effect(subject.mixer(subject.small, draw), x, other))
    yield from subject.largest("later_tokens", changes, length=subject.length)


def _stack(stack: Stack) -> Iterator[Measurement]:
    changes = [
        later_token_effect(stack.model(draw), *stack.tokens(draw, stack.length).unbind(0))
        for draw in range(stack.draws)
    ]
    yield from stack.largest("later_tokens", changes, length=stack.length)


probe = Probe(
    quantities={
        "later_tokens": "largest change of an output when only later tokens are replaced, over the rms of the outputs"
    },
    mixer=_mixer,
    stack=_stack,
)
