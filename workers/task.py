"""What a synthetic task is: a seeded generator of token sequences with known chance level and known perfect answer."""

import zlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, Literal, TypeVar

import numpy as np
import numpy.typing as npt
from pydantic import BaseModel, ConfigDict, Field

from designspace.errors import SpecError
from designspace.units import load_unit, names

TASKS_PACKAGE = "workers.tasks"
IGNORED = -100  # target of a position that is not scored; the default ignore_index of torch's cross entropy

Tokens = npt.NDArray[np.int64]
Split = Literal["train", "validation", "test"]
TrainOn = Literal["next_token", "answers"]

# Every possible input sequence belongs to one split for ever: its hash falls in one of eight buckets.
BUCKETS = 8
BUCKETS_OF: dict[Split, tuple[int, ...]] = {"validation": (0,), "test": (1,), "train": (2, 3, 4, 5, 6, 7)}
SPLIT_ORDER: tuple[Split, ...] = ("train", "validation", "test")

ROWS_PER_DRAW = 8192  # bounds the memory of one round of drawing
EMPTY_ROUNDS = 20  # rounds of drawing without one sequence of the split after which the task counts as too small


class TaskParameters(BaseModel):
    """Sizes every task has; a task file adds its own fields in a final subclass."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    vocab_size: int = Field(ge=2)
    seq_len: int = Field(ge=2)


@dataclass(frozen=True)
class Drawn:
    """Sequences of a task before a split chooses what is scored, each array [size, positions].

    `answers` is the target of validation and test, `training` that of training; they are the same array where the task
    makes no difference.
    """

    inputs: Tokens
    answers: Tokens
    training: Tokens

    def rows(self, keep: npt.NDArray[np.bool_]) -> "Drawn":
        """The sequences where `keep` [size] is true."""
        return Drawn(self.inputs[keep], self.answers[keep], self.training[keep])


@dataclass(frozen=True)
class Batch:
    """`inputs` and `targets`, int64 [size, positions] and aligned: position t is asked for targets[:, t]."""

    inputs: Tokens
    targets: Tokens

    @property
    def scored(self) -> npt.NDArray[np.bool_]:
        """True where a position counts, [size, positions]."""
        return np.not_equal(self.targets, IGNORED)


P = TypeVar("P", bound=TaskParameters)


def learnable(parameters: TaskParameters, train_size: int) -> float:  # noqa: ARG001
    """1.0: the training set, whatever its size, tells all that the test asks."""
    return 1.0


@dataclass(frozen=True)
class Task(Generic[P]):
    """One task: what it probes, how its sequences are drawn, what a guess and a perfect reader score.

    Args:
        name: the file name.
        title: what it asks, in a few words.
        principles: numbers of the design principles (arXiv 2510.09389) on which the task depends most.
        reference: who published it.
        parameters: the published baseline sizes.
        train_size: the published number of training sequences.
        tiny: sizes for `protocol: tiny`, where mixers spread out within seconds.
        draw: (parameters, size, rng) -> `size` sequences, vectorised over them.
        chance: (parameters) -> accuracy of a uniform guess among the possible answers.
        oracle: (inputs, parameters) -> the right token at every scored test position, computed from the inputs alone.
        ceiling: (parameters, train_size) -> expected test accuracy of a perfect learner of `train_size` sequences.
    """

    name: str
    title: str
    principles: tuple[int, ...]
    reference: str
    parameters: P
    train_size: int
    tiny: P
    draw: Callable[[P, int, np.random.Generator], Drawn]
    chance: Callable[[P], float]
    oracle: Callable[[Tokens, P], Tokens]
    ceiling: Callable[[P, int], float] = learnable

    def configure(self, **sizes: int | float | str) -> P:
        """The baseline parameters with `sizes` in place of the fields they name.

        Raises:
            ValueError: an unknown field or sizes that do not fit together (pydantic's ValidationError).
        """
        return type(self.parameters).model_validate({**self.parameters.model_dump(), **sizes})

    def sample(self, parameters: P, split: Split, *, size: int, seed: int) -> Batch:
        """`size` sequences of a split, the same for the same arguments.

        Splits are disjoint for any sizes and any two seeds, because a fixed hash of the input sequence says to which
        split it belongs and others are drawn again. In a large space that changes no statistic; in a tiny one (parity
        of ten bits) it is the only way to keep the test unseen. Within a split sequences are independent draws, so
        a tiny space repeats them.

        Args:
            parameters: sizes; the model reads `parameters.vocab_size` tokens.
            split: `train` has the training target, the others the answers.
            size: number of sequences.
            seed: non-negative; each (task, split, seed) has its own random stream.

        Raises:
            ValueError: the space is so small that no sequence of the split was found.
        """
        drawn = _draw_split(self, parameters, split, size, _stream(self.name, split, seed))
        return Batch(drawn.inputs, drawn.training if split == "train" else drawn.answers)


def load(name: str) -> Task[Any]:
    """The task in the file workers/tasks/`name`.py.

    Raises:
        SpecError: there is no such file.
    """
    if name not in names(TASKS_PACKAGE):
        raise SpecError(f"`task` must be one of {', '.join(names(TASKS_PACKAGE))}, got {name!r}.")
    unit: Task[Any] = load_unit(TASKS_PACKAGE, name, "task", Task)
    return unit


def bucket(inputs: Tokens) -> Tokens:
    """The bucket in 0..7 of each sequence [size]: a fixed multiply-shift hash of its tokens."""
    weights = np.random.default_rng(0).integers(0, 2**64, size=inputs.shape[1] + 1, dtype=np.uint64)
    mixed = (inputs.astype(np.uint64) + np.uint64(1)) @ weights[:-1]
    mixed = (mixed ^ (mixed >> np.uint64(29))) * (weights[-1] | np.uint64(1))
    buckets: Tokens = (mixed >> np.uint64(64 - BUCKETS.bit_length() + 1)).astype(np.int64)
    return buckets


def _stream(name: str, split: Split, seed: int) -> np.random.Generator:
    key = (zlib.crc32(name.encode()), SPLIT_ORDER.index(split))
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=key))


def _draw_split(task: Task[P], parameters: P, split: Split, size: int, rng: np.random.Generator) -> Drawn:
    """`size` sequences whose bucket belongs to `split`, drawn in rounds."""
    buckets = BUCKETS_OF[split]
    parts: list[Drawn] = []
    found = empty = 0
    while found < size:
        wanted = (size - found) * BUCKETS // len(buckets) + BUCKETS
        drawn = task.draw(parameters, min(wanted, ROWS_PER_DRAW), rng)
        part = drawn.rows(np.isin(bucket(drawn.inputs), buckets))
        parts.append(part)
        found += len(part.inputs)
        empty = 0 if len(part.inputs) else empty + 1
        if empty == EMPTY_ROUNDS:
            raise ValueError(
                f"`{task.name}` with {parameters!r} has too few distinct sequences to fill a {split} split; "
                f"raise `seq_len` or `vocab_size`."
            )
    return _first(parts, size)


def _first(parts: list[Drawn], size: int) -> Drawn:
    """The first `size` sequences of the parts, in order."""
    return Drawn(
        np.concatenate([part.inputs for part in parts])[:size],
        np.concatenate([part.answers for part in parts])[:size],
        np.concatenate([part.training for part in parts])[:size],
    )
