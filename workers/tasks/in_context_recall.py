"""In-context recall: keys and values alternate; when a key comes again, say the value that followed it.

Source: Poli et al. 2024, "Mechanistic Design and Scaling of Hybrid Architectures", arXiv 2403.17844, and the code of
mad-lab; baseline vocab_size 16, seq_len 128, many queries.

seq_len / 2 slots of (key, value). Keys are drawn with replacement; each key has one value for the whole sequence, drawn
uniformly with replacement, so two keys may share a value. The key of the last slot is uniform over the distinct keys
presented before. A model reads all but the last token: 127 positions at seq_len 128 (128 with a single query, where a
copy prefix stands before the last key).

Targets: in training the next token at every position; in test the value after a key already seen, nothing else (56 of
127 positions at vocab_size 16, 48.3 at 32, 36.3 at 64, 23.7 at 128). A single query scores the last position only.

Decided against mad-lab: its loaders repeat the same random stream in every data worker, so that training and test rows
coincide; here each split has its own stream and its own share of all sequences. Its generator's own defaults (16 noise
tokens out of 16, which leaves no key) are not kept: the baseline is that of its configuration, no noise.
"""

from typing import Self

import numpy as np
from pydantic import model_validator

from workers.task import Drawn, Task, TaskParameters, Tokens, TrainOn
from workers.tasks import _recall


class Parameters(TaskParameters):
    """Sizes; `multi_query` scores every repeated key, otherwise the last one only.

    `train_on: answers` trains on the target of the test instead of the next token everywhere, most of which no model
    can foresee: in `protocol: tiny` gated DeltaNet reaches 0.90 instead of 0.27, softmax 1.00 instead of 0.95.
    """

    vocab_size: int = 16
    seq_len: int = 128
    multi_query: bool = True
    train_on: TrainOn = "next_token"

    @model_validator(mode="after")
    def _fits(self) -> Self:
        _sizes(self)
        return self


def _sizes(parameters: Parameters) -> _recall.Recall:
    return _recall.Recall(**parameters.model_dump())


def draw(parameters: Parameters, size: int, rng: np.random.Generator) -> Drawn:
    """`size` key-value sequences."""
    return _recall.draw(_sizes(parameters), size, rng)


def oracle(inputs: Tokens, parameters: Parameters) -> Tokens:
    """The value each repeated key had before."""
    return _recall.oracle(inputs, _sizes(parameters))


def chance(parameters: Parameters) -> float:
    """A uniform guess among the values: 0.125 at the baseline."""
    return 1 / _sizes(parameters).num_values


task = Task(
    name="in_context_recall",
    title="Say the value that followed this key before",
    principles=(1, 2, 3, 4),
    reference="arXiv 2403.17844 (MAD)",
    parameters=Parameters(),
    train_size=12_800,
    tiny=Parameters(vocab_size=24, seq_len=48, train_on="answers"),
    draw=draw,
    chance=chance,
    oracle=oracle,
)
