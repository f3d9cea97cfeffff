"""Parity: say after each bit whether the number of ones so far is odd; the smallest task that needs state tracking.

Source: Grazzi et al. 2024, "Unlocking State-Tracking in Linear RNNs through Negative Eigenvalues", arXiv 2411.12537
(with a positive real spectrum no depth solves it at finite precision); earlier in Zoology, arXiv 2312.04927.

seq_len independent fair bits. Training asks for the running parity at every position; the test only in the second half
(from seq_len // 2), because the parity of few bits can be learned as a table. A model that knows no state still guesses
0.5; there is no ceiling below 1.

2^seq_len sequences exist, few for short ones: `sample` gives each to one split for ever, so a test sequence is never
seen in training, but for seq_len below about 12 training sees nearly all others and the score says little.
"""

from typing import Literal

import numpy as np
from pydantic import Field

from workers.task import IGNORED, Drawn, Task, TaskParameters, Tokens


class Parameters(TaskParameters):
    """Sizes; the tokens are the two bits."""

    vocab_size: Literal[2] = 2
    seq_len: int = Field(64, ge=2)


def draw(parameters: Parameters, size: int, rng: np.random.Generator) -> Drawn:
    """`size` sequences of fair bits."""
    bits = rng.integers(2, size=(size, parameters.seq_len))
    running = np.cumsum(bits, axis=1) % 2
    answers = np.full_like(bits, IGNORED)
    second_half = slice(parameters.seq_len // 2, None)
    answers[:, second_half] = running[:, second_half]
    return Drawn(bits, answers, training=running)


def oracle(inputs: Tokens, parameters: Parameters) -> Tokens:  # noqa: ARG001
    """The running parity at every position."""
    return np.bitwise_xor.accumulate(inputs, axis=1)


def chance(parameters: Parameters) -> float:  # noqa: ARG001
    """A coin: 0.5."""
    return 0.5


task = Task(
    name="parity",
    title="Say whether the number of ones so far is odd",
    principles=(4, 3),
    reference="arXiv 2411.12537",
    parameters=Parameters(),
    train_size=12_800,
    tiny=Parameters(seq_len=20),
    draw=draw,
    chance=chance,
    oracle=oracle,
)
