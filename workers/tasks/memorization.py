"""Memorization: learn a fixed map from keys to values by heart; the context does not hold the answer.

Source: Poli et al. 2024, arXiv 2403.17844, and the code of mad-lab; baseline vocab_size 256, seq_len 32, 256 training
sequences.

Insert token vocab_size-1, h = (vocab_size-1) // 2 keys 0..h-1, values h..vocab_size-2. The map shuffles the keys, then
the values with one generator of seed 12345 and pairs them: a bijection of h pairs (127 at vocab_size 256, one value
unused), the same in every split and for every seed. A sequence is seq_len / 2 slots of (key, insert) with keys drawn
with replacement; at the insert position the key's value is due. The mixer must only pass one token on, so the task is a
control: it should not depend on the size of the state.

A small training set does not show all keys, so a perfect learner stops at `ceiling`, the expected share of keys seen:
with 256 sequences 1.00 at vocab_size 256 and 512, .9997 at 1024, .982 at 2048, .865 at 4096, .632 at 8192.

Decided against mad-lab: the sequences of the splits are disjoint, the facts are shared (that is the task). Its
generator can add noise but sizes the map without it; no published setting uses noise, and there is none here.
"""

from functools import cache
from typing import Self

import numpy as np
from pydantic import Field, model_validator

from workers.task import IGNORED, Drawn, Task, TaskParameters, Tokens

MAP_SEED = 12345  # mad-lab's kv_map_seed


class Parameters(TaskParameters):
    """Sizes; `map_seed` fixes the facts to learn."""

    vocab_size: int = Field(256, ge=3)
    seq_len: int = 32
    map_seed: int = Field(MAP_SEED, ge=0)

    @model_validator(mode="after")
    def _fits(self) -> Self:
        if self.seq_len % 2:
            raise ValueError(f"`seq_len` must be even (slots of a key and the insert token), got {self.seq_len}.")
        return self

    @property
    def num_keys(self) -> int:
        """Facts to learn."""
        return (self.vocab_size - 1) // 2


@cache
def value_of(parameters: Parameters) -> Tokens:
    """The map: value_of[key], [num_keys]."""
    rng = np.random.default_rng(parameters.map_seed)
    keys = rng.permutation(parameters.num_keys)
    values = rng.permutation(np.arange(parameters.num_keys, parameters.vocab_size - 1))
    table = np.empty(parameters.num_keys, dtype=np.int64)
    table[keys] = values[: parameters.num_keys]
    table.setflags(write=False)
    return table


def draw(parameters: Parameters, size: int, rng: np.random.Generator) -> Drawn:
    """`size` sequences of keys, each followed by the insert token."""
    keys = rng.integers(parameters.num_keys, size=(size, parameters.seq_len // 2))
    inputs = np.full((size, parameters.seq_len), parameters.vocab_size - 1)
    inputs[:, ::2] = keys
    answers = np.full_like(inputs, IGNORED)
    answers[:, 1::2] = value_of(parameters)[keys]
    return Drawn(inputs, answers, training=answers)


def oracle(inputs: Tokens, parameters: Parameters) -> Tokens:
    """The value of each key by the map, which the sequence itself does not tell."""
    predicted = np.full_like(inputs, IGNORED)
    predicted[:, 1::2] = value_of(parameters)[inputs[:, ::2]]
    return predicted


def chance(parameters: Parameters) -> float:
    """A uniform guess among the values in use: 1/127 at the baseline."""
    return 1 / parameters.num_keys


def ceiling(parameters: Parameters, train_size: int) -> float:
    """Expected share of keys that `train_size` sequences show, 1 - (1 - 1/num_keys)^draws."""
    draws = train_size * parameters.seq_len // 2
    return 1 - (1 - 1 / parameters.num_keys) ** draws


task = Task(
    name="memorization",
    title="Know by heart which value belongs to a key",
    principles=(3, 5, 6),
    reference="arXiv 2403.17844 (MAD)",
    parameters=Parameters(),
    train_size=256,
    tiny=Parameters(vocab_size=1024, seq_len=32),
    draw=draw,
    chance=chance,
    oracle=oracle,
    ceiling=ceiling,
)
