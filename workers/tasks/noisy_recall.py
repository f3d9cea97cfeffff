"""Noisy in-context recall: recall with slots of irrelevant tokens in between, which a mixer must learn to silence.

Source: Poli et al. 2024, arXiv 2403.17844, and the code of mad-lab; baseline vocab_size 32 of which 16 are noise
tokens, noise_fraction 0.2, seq_len 128, many queries: keys 0..7, values 8..15, noise 16..31.

As `in_context_recall`, but every slot except the last and one protected slot becomes noise with probability
noise_fraction: two independent noise tokens. Noise replaces whole slots, so pairs stay on even positions (the paper's
words "arbitrary positions" do not describe the code). A noise slot is never scored in test; in training every position
asks for the next token, noise too. Scored: 43.5 of 127 positions at noise_fraction 0.2, 7.8 at 0.8.

Decided against mad-lab: the protected slot is uniform over all slots there and here, and the protection is void when it
falls on the last. If every other slot is noise then (probability noise_fraction^(slots-1) / slots), mad-lab crashes;
here the first slot becomes a pair. Streams and splits: see `in_context_recall`.
"""

from typing import Self

import numpy as np
from pydantic import Field, model_validator

from workers.task import Drawn, Task, TaskParameters, Tokens, TrainOn
from workers.tasks import _recall


class Parameters(TaskParameters):
    """Sizes; `noise_vocab_size` of the vocab_size tokens are noise. `train_on` as in `in_context_recall`."""

    vocab_size: int = 32
    seq_len: int = 128
    multi_query: bool = True
    train_on: TrainOn = "next_token"
    noise_vocab_size: int = Field(16, ge=1)
    noise_fraction: float = Field(0.2, ge=0.0, lt=1.0)

    @model_validator(mode="after")
    def _fits(self) -> Self:
        _sizes(self)
        return self


def _sizes(parameters: Parameters) -> _recall.Recall:
    return _recall.Recall(**parameters.model_dump())


def draw(parameters: Parameters, size: int, rng: np.random.Generator) -> Drawn:
    """`size` key-value sequences with noise slots."""
    return _recall.draw(_sizes(parameters), size, rng)


def oracle(inputs: Tokens, parameters: Parameters) -> Tokens:
    """The value each repeated key had before."""
    return _recall.oracle(inputs, _sizes(parameters))


def chance(parameters: Parameters) -> float:
    """A uniform guess among the values: 0.125 at the baseline."""
    return 1 / _sizes(parameters).num_values


task = Task(
    name="noisy_recall",
    title="Say the value that followed this key before, among irrelevant tokens",
    principles=(2, 1, 3, 4, 6),
    reference="arXiv 2403.17844 (MAD)",
    parameters=Parameters(),
    train_size=12_800,
    tiny=Parameters(vocab_size=28, noise_vocab_size=8, noise_fraction=0.4, seq_len=48, train_on="answers"),
    draw=draw,
    chance=chance,
    oracle=oracle,
)
