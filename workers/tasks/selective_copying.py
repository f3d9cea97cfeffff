"""Selective copying: remember the content tokens among blanks and write them down in order at the end.

Source: Poli et al. 2024, arXiv 2403.17844, and the code of mad-lab (after Gu and Dao 2023, arXiv 2312.00752); baseline
vocab_size 16, seq_len 256, 16 tokens to copy.

Copy token vocab_size-1, blank vocab_size-2, the rest content. B = seq_len - 2 * num_copied - 1 blanks fall into the
gaps *before* the content tokens, Multinomial(B; 1/num_copied each), so the last content token stands right before the
copy token. Then num_copied blanks follow, at which the answers are due: the input there is blank, so a model must know
how many answers it has given. Training and test score the same positions, and nothing is shifted.

Decided against mad-lab: it draws the positions of blanks from numpy's global state, so equal seeds give equal answers
with different inputs; here they come from the task's own stream.
"""

from typing import Self

import numpy as np
from pydantic import Field, model_validator

from workers.task import IGNORED, Drawn, Task, TaskParameters, Tokens


class Parameters(TaskParameters):
    """Sizes; seq_len counts content, blanks, the copy token and the answer positions."""

    vocab_size: int = Field(16, ge=3)
    seq_len: int = 256
    num_copied: int = Field(16, ge=1)

    @model_validator(mode="after")
    def _fits(self) -> Self:
        if self.seq_len <= 2 * self.num_copied + 1:
            raise ValueError(
                f"`seq_len` must exceed 2 * num_copied + 1 = {2 * self.num_copied + 1}, got {self.seq_len}; "
                f"lower `num_copied` or raise `seq_len`."
            )
        return self

    @property
    def blank(self) -> int:
        """The blank token."""
        return self.vocab_size - 2

    @property
    def read_len(self) -> int:
        """Positions before the copy token."""
        return self.seq_len - self.num_copied - 1


def draw(parameters: Parameters, size: int, rng: np.random.Generator) -> Drawn:
    """`size` sequences of content among blanks."""
    num_copied, read_len = parameters.num_copied, parameters.read_len
    content = rng.integers(parameters.blank, size=(size, num_copied))
    gaps = rng.multinomial(read_len - num_copied, np.full(num_copied, 1 / num_copied), size=size)
    places = np.cumsum(gaps, axis=1) + np.arange(num_copied)

    inputs = np.full((size, parameters.seq_len), parameters.blank)
    np.put_along_axis(inputs, places, content, axis=1)
    inputs[:, read_len] = parameters.vocab_size - 1
    answers = np.full_like(inputs, IGNORED)
    answers[:, read_len + 1 :] = content
    return Drawn(inputs, answers, training=answers)


def oracle(inputs: Tokens, parameters: Parameters) -> Tokens:
    """The content tokens in order at the last num_copied positions."""
    read = inputs[:, : parameters.read_len]
    content_first = np.argsort(read == parameters.blank, axis=1, kind="stable")[:, : parameters.num_copied]
    predicted = np.full_like(inputs, IGNORED)
    predicted[:, -parameters.num_copied :] = np.take_along_axis(read, content_first, axis=1)
    return predicted


def chance(parameters: Parameters) -> float:
    """A uniform guess among the content tokens: 1/14 at the baseline."""
    return 1 / (parameters.vocab_size - 2)


task = Task(
    name="selective_copying",
    title="Copy the content tokens in order, leaving out the blanks",
    principles=(2, 3, 4, 6),
    reference="arXiv 2403.17844 (MAD)",
    parameters=Parameters(),
    train_size=12_800,
    tiny=Parameters(vocab_size=16, seq_len=48, num_copied=8),
    draw=draw,
    chance=chance,
    oracle=oracle,
)
